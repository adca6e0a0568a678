//! A type with a length for everything that has one: what its size and its cost follow from.

use hopwatch_rosmsg::{Count, Element, Field, Primitive, Schema, SchemaError, TypeName};
use std::collections::BTreeMap;
use thiserror::Error;

/// Elements of a sequence of which nothing is said.
pub const ASSUMED_ELEMENTS: u64 = 100;
/// Characters of a text of which nothing is said.
pub const ASSUMED_CHARACTERS: u64 = 10;
/// What a length word of CDR can say.
const MOST: u64 = u32::MAX as u64;
/// Types with more fields, nested ones counted each time, are no messages.
const MOST_FIELDS: usize = 10_000;

/// A type with lengths.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// Its name.
    pub name: TypeName,
    /// Its fields.
    pub parts: Vec<Part>,
    /// Everything that has a length, in the order of the definition.
    pub lengths: Vec<Length>,
    /// Fields that hold values, those of nested structures included.
    pub leaves: usize,
}

/// A field.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// From the message to it, without indices: `detections.stamp.sec`.
    pub path: String,
    /// How many it holds.
    pub times: Times,
    /// Of what.
    pub of: Of,
}

/// How many elements a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// It is no array.
    One,
    /// An array of fixed length.
    Fixed(u64),
    /// A sequence, with its bound if it has one.
    Sequence(u64, Option<u64>),
}

/// What a field or each of its elements is.
#[derive(Clone, Debug, PartialEq)]
pub enum Of {
    /// A number, with its place among all leaves.
    Number(Primitive, usize),
    /// A text of so many bytes.
    Text(Text),
    /// A wide text of so many code units.
    WideText(Text),
    /// A structure.
    Structure(TypeName, Vec<Part>),
}

/// A text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text {
    /// How long it is, without its terminator.
    pub length: u64,
    /// How long it may be.
    pub bound: Option<u64>,
    /// Its place among all leaves.
    pub leaf: usize,
}

/// The length of a sequence or a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Length {
    /// Whose: a field's path; of the texts in an array `names[]`.
    pub path: String,
    /// How long.
    pub length: u64,
    /// Nothing was said of it.
    pub assumed: bool,
    /// It is a text's.
    pub of_text: bool,
    /// How long it may be.
    pub bound: Option<u64>,
}

/// Why a type can't be looked at with these lengths.
#[derive(Debug, Error)]
pub enum ShapeError {
    /// The type or one that it holds.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// No such field has a length.
    #[error("{of} has no sequence or text {path:?}; it has {has}")]
    NoSuchField {
        /// The type.
        of: TypeName,
        /// What was said.
        path: String,
        /// What has a length.
        has: String,
    },
    /// Several fields end like this.
    #[error("{path:?} may be any of {which} in {of}: write the whole path")]
    Ambiguous {
        /// The type.
        of: TypeName,
        /// What was said.
        path: String,
        /// What it may be.
        which: String,
    },
    /// A length of what has a fixed one.
    #[error("{path:?} of {of} always has {length} elements: leave its length away")]
    FixedLength {
        /// The type.
        of: TypeName,
        /// The field.
        path: String,
        /// Its length.
        length: u64,
    },
    /// It has a length already.
    #[error("{path:?} of {of} was given two lengths")]
    Twice {
        /// The type.
        of: TypeName,
        /// The field.
        path: String,
    },
    /// Longer than it may be.
    #[error("{path:?} of {of} may be at most {bound} long, not {length}")]
    Bound {
        /// The type.
        of: TypeName,
        /// The field.
        path: String,
        /// What was said.
        length: u64,
        /// What it may be.
        bound: u64,
    },
    /// The message has no size that CDR could hold.
    #[error("a {of} of these lengths has more than 4 GiB, which no message can have: {lengths}")]
    TooLarge {
        /// The type.
        of: TypeName,
        /// The lengths.
        lengths: String,
    },
    /// Too many fields.
    #[error("{of} has more than {MOST_FIELDS} fields, nested ones counted each time")]
    TooManyFields {
        /// The type.
        of: TypeName,
    },
}

/// What was said of lengths: of each path how long.
pub type Given = BTreeMap<String, u64>;

impl Shape {
    /// A type with these lengths. A path may be the end of one (`frame_id` for `header.frame_id`)
    /// where only one field ends like it. Of what nothing is said, [`ASSUMED_ELEMENTS`] and
    /// [`ASSUMED_CHARACTERS`] are assumed.
    ///
    /// # Errors
    /// When a path names nothing that has a length, or a length can't be.
    pub fn new(schema: &Schema, given: &Given) -> Result<Self, ShapeError> {
        let of = schema.name().clone();
        let named = Named::find(schema)?.resolve(&of, given)?;
        let mut builder = Builder { schema, named, lengths: Vec::new(), leaves: 0 };
        let parts = builder.parts(schema.structures().len() - 1, "")?;
        let shape = Self { name: of, parts, lengths: builder.lengths, leaves: builder.leaves };
        if shape.size().is_none_or(|size| size.serialized > MOST) {
            let lengths = shape.lengths.iter().map(|l| format!("{}={}", l.path, l.length));
            let lengths = lengths.collect::<Vec<_>>().join(", ");
            return Err(ShapeError::TooLarge { of: shape.name, lengths });
        }
        Ok(shape)
    }

    /// The lengths by their whole paths, as [`Shape::new`] takes them.
    pub fn given(&self) -> Given {
        self.lengths.iter().map(|length| (length.path.clone(), length.length)).collect()
    }

    /// The sequences that are as long as the longest one: N in a formula. None: it has none.
    pub fn varying(&self) -> Option<(u64, Vec<&str>)> {
        let sequences = || self.lengths.iter().filter(|length| !length.of_text);
        let longest = sequences().map(|length| length.length).max()?;
        let all = sequences().filter(|length| length.length == longest);
        Some((longest, all.map(|length| length.path.as_str()).collect()))
    }
}

impl Times {
    /// How many.
    pub fn count(self) -> u64 {
        match self {
            Self::One => 1,
            Self::Fixed(n) | Self::Sequence(n, _) => n,
        }
    }
}

/// What has a length in a type.
struct Named {
    variable: Vec<(String, Option<u64>)>,
    fixed: Vec<(String, u64)>,
    given: Given,
}

impl Named {
    fn find(schema: &Schema) -> Result<Self, ShapeError> {
        let mut all = Self { variable: Vec::new(), fixed: Vec::new(), given: Given::new() };
        let mut fields = 0;
        all.walk(schema, schema.structures().len() - 1, "", &mut fields)?;
        Ok(all)
    }

    fn walk(
        &mut self,
        schema: &Schema,
        at: usize,
        before: &str,
        fields: &mut usize,
    ) -> Result<(), ShapeError> {
        for field in &schema.structures()[at].fields {
            *fields += 1;
            if *fields > MOST_FIELDS {
                return Err(ShapeError::TooManyFields { of: schema.name().clone() });
            }
            let path = format!("{before}{}", field.name);
            match field.count {
                Count::Sequence { bound } => self.variable.push((path.clone(), wide(bound))),
                Count::Fixed(n) => self.fixed.push((path.clone(), wide(Some(n)).unwrap_or(MOST))),
                Count::One => {}
            }
            match field.element {
                Element::Structure(at) => self.walk(schema, at, &format!("{path}."), fields)?,
                Element::Text { bound } | Element::WideText { bound } => {
                    self.variable.push((text_path(&path, field), wide(bound)));
                }
                Element::Primitive(_) => {}
            }
        }
        Ok(())
    }

    fn resolve(mut self, of: &TypeName, given: &Given) -> Result<Self, ShapeError> {
        for (said, length) in given {
            let ends = |path: &str| {
                path == said || path.strip_suffix(said).is_some_and(|before| before.ends_with('.'))
            };
            let fits: Vec<&(String, Option<u64>)> =
                self.variable.iter().filter(|(path, _)| ends(path)).collect();
            let exact = fits.iter().find(|(path, _)| path == said).copied();
            let (path, bound) = match (exact, fits.as_slice()) {
                (Some(exact), _) => exact.clone(),
                (None, [one]) => (*one).clone(),
                (None, []) => return Err(self.nothing(of, said, ends)),
                (None, several) => {
                    let which = several.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>();
                    return Err(ShapeError::Ambiguous {
                        of: of.clone(),
                        path: said.clone(),
                        which: which.join(", "),
                    });
                }
            };
            if let Some(bound) = bound.filter(|bound| length > bound) {
                let (of, length) = (of.clone(), *length);
                return Err(ShapeError::Bound { of, path, length, bound });
            }
            if *length > MOST {
                let lengths = format!("{path}={length}");
                return Err(ShapeError::TooLarge { of: of.clone(), lengths });
            }
            if self.given.insert(path.clone(), *length).is_some() {
                return Err(ShapeError::Twice { of: of.clone(), path });
            }
        }
        Ok(self)
    }

    fn nothing(&self, of: &TypeName, said: &str, ends: impl Fn(&str) -> bool) -> ShapeError {
        if let Some((path, length)) = self.fixed.iter().find(|(path, _)| ends(path)) {
            return ShapeError::FixedLength { of: of.clone(), path: path.clone(), length: *length };
        }
        let has = self.variable.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>();
        let has = if has.is_empty() { "none at all".to_owned() } else { has.join(", ") };
        ShapeError::NoSuchField { of: of.clone(), path: said.to_owned(), has }
    }
}

struct Builder<'a> {
    schema: &'a Schema,
    named: Named,
    lengths: Vec<Length>,
    leaves: usize,
}

impl Builder<'_> {
    fn parts(&mut self, at: usize, before: &str) -> Result<Vec<Part>, ShapeError> {
        let schema = self.schema;
        let fields = &schema.structures()[at].fields;
        fields.iter().map(|field| self.part(field, before)).collect()
    }

    fn part(&mut self, field: &Field, before: &str) -> Result<Part, ShapeError> {
        let path = format!("{before}{}", field.name);
        let times = match field.count {
            Count::One => Times::One,
            Count::Fixed(n) => Times::Fixed(wide(Some(n)).unwrap_or(MOST)),
            Count::Sequence { bound } => {
                let bound = wide(bound);
                Times::Sequence(self.length(&path, bound, false), bound)
            }
        };
        let of = match field.element {
            Element::Primitive(primitive) => Of::Number(primitive, self.leaf()),
            Element::Text { bound } => Of::Text(self.text(&path, field, wide(bound))),
            Element::WideText { bound } => Of::WideText(self.text(&path, field, wide(bound))),
            Element::Structure(at) => {
                let name = self.schema.structures()[at].name.clone();
                Of::Structure(name, self.parts(at, &format!("{path}."))?)
            }
        };
        Ok(Part { name: field.name.clone(), path, times, of })
    }

    fn leaf(&mut self) -> usize {
        self.leaves += 1;
        self.leaves - 1
    }

    fn text(&mut self, path: &str, field: &Field, bound: Option<u64>) -> Text {
        let length = self.length(&text_path(path, field), bound, true);
        Text { length, bound, leaf: self.leaf() }
    }

    fn length(&mut self, path: &str, bound: Option<u64>, of_text: bool) -> u64 {
        let given = self.named.given.get(path).copied();
        let assumed = if of_text { ASSUMED_CHARACTERS } else { ASSUMED_ELEMENTS };
        let length = given.unwrap_or_else(|| bound.map_or(assumed, |bound| bound.min(assumed)));
        let assumed = given.is_none();
        self.lengths.push(Length { path: path.to_owned(), length, assumed, of_text, bound });
        length
    }
}

/// The path that a text's length goes by.
fn text_path(path: &str, field: &Field) -> String {
    if field.count == Count::One { path.to_owned() } else { format!("{path}[]") }
}

fn wide(n: Option<usize>) -> Option<u64> {
    n.map(|n| u64::try_from(n).unwrap_or(u64::MAX))
}
