//! A type and everything it holds.

use crate::definition::{Count, Element, Field, Structure};
use crate::flat::{self, Flat};
use crate::parse::{self, LineProblem, ParsedElement};
use crate::{FieldPath, JsonOptions, Oddities, PathError, TypeName, cdr};
use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;
use thiserror::Error;

/// How deep messages may be nested; those of ROS reach 6.
const MOST_DEPTH: usize = 64;

/// A message type and everything it holds, resolved; cheap to clone.
#[derive(Clone, Debug)]
pub struct Schema {
    /// What is held comes before what holds it: the type itself is the last.
    structures: Arc<Vec<Structure>>,
}

/// Why a type can't be used.
#[derive(Debug, Error)]
pub enum SchemaError {
    /// There is no definition of it, or it can't be read.
    #[error("failed to get the definition of {of}{wanted}", wanted = wanted(.by.as_ref()))]
    Source {
        /// The type.
        of: TypeName,
        /// The type and the line that it is needed for, unless it is the type itself.
        by: Option<(TypeName, usize)>,
        /// Why.
        source: Box<dyn Error + Send + Sync>,
    },
    /// A line of a definition makes no sense.
    #[error("failed to read the definition of {of}, line {line} ({text:?}): {problem}")]
    Line {
        /// The type.
        of: TypeName,
        /// The line, from 1.
        line: usize,
        /// Its text, without comment.
        text: String,
        /// What is wrong.
        problem: Box<LineProblem>,
    },
    /// A type holds itself.
    #[error("{of} holds itself (line {line}, by way of {way}); CDR has no end for that")]
    Recursive {
        /// The type.
        of: TypeName,
        /// The line in the definition of the type that closes the circle.
        line: usize,
        /// The types from the first to the last.
        way: String,
    },
    /// Types are nested too deep.
    #[error("{of} is nested more than {MOST_DEPTH} deep; that is no message of ROS")]
    Deep {
        /// The type.
        of: TypeName,
    },
}

fn wanted(by: Option<&(TypeName, usize)>) -> String {
    by.map(|(name, line)| format!(", which {name} holds (line {line})")).unwrap_or_default()
}

impl Schema {
    /// Reads the definition of `name` and of all that it holds.
    ///
    /// `source` gives the text of a type's `.msg` file
    /// ([`TypeName::definition_path`]); it is asked once for each type.
    pub fn load<E: Into<Box<dyn Error + Send + Sync>>>(
        name: &TypeName,
        mut source: impl FnMut(&TypeName) -> Result<String, E>,
    ) -> Result<Self, SchemaError> {
        let mut loader = Loader {
            source: &mut |of: &TypeName| source(of).map_err(Into::into),
            places: HashMap::new(),
            way: Vec::new(),
            structures: Vec::new(),
        };
        loader.load(name, None)?;
        Ok(Self { structures: Arc::new(loader.structures) })
    }

    /// The type's name.
    pub fn name(&self) -> &TypeName {
        &self.root().name
    }

    /// The type itself.
    pub fn root(&self) -> &Structure {
        &self.structures[self.structures.len() - 1]
    }

    /// All types in it, each once, what is held before what holds it; the last is the type itself.
    pub fn structures(&self) -> &[Structure] {
        &self.structures
    }

    /// Finds a field: `header.stamp`, `pose.pose.position.x`, `points[0].z`. Do it once, and read
    /// it from each message.
    pub fn path(&self, path: &str) -> Result<FieldPath, PathError> {
        FieldPath::new(self, path)
    }

    /// Appends the message as JSON, and tells what was odd about it; after an error `out` is as it
    /// was before.
    ///
    /// Fields are in the order of the definition. An empty message is `{}`.
    ///
    /// | in the message | in JSON |
    /// |---|---|
    /// | integers, `byte`, `char` | numbers, exact; readers with doubles lose digits beyond 2^53 |
    /// | `float32`, `float64` | the shortest number that reads back as the same |
    /// | NaN, +∞, −∞ | `"NaN"`, `"Infinity"`, `"-Infinity"` ([`NotFinite`](crate::Oddity::NotFinite)) |
    /// | `string`, `wstring` | text; what is no UTF-8 or UTF-16 becomes U+FFFD |
    /// | arrays and sequences | arrays |
    ///
    /// [`JsonOptions`] changes what large integers and byte arrays become.
    pub fn to_json(
        &self,
        message: &[u8],
        out: &mut Vec<u8>,
        options: JsonOptions,
    ) -> Result<Oddities, cdr::CdrError> {
        crate::json::write(self, message, out, options)
    }
}

/// A source whose errors are of one type.
type Source<'a> = dyn FnMut(&TypeName) -> Result<String, Box<dyn Error + Send + Sync>> + 'a;

struct Loader<'a> {
    source: &'a mut Source<'a>,
    places: HashMap<TypeName, usize>,
    /// The types whose fields are being resolved.
    way: Vec<TypeName>,
    structures: Vec<Structure>,
}

impl Loader<'_> {
    fn load(
        &mut self,
        of: &TypeName,
        by: Option<(&TypeName, usize)>,
    ) -> Result<usize, SchemaError> {
        if let Some(place) = self.places.get(of) {
            return Ok(*place);
        }
        if let (Some(from), Some((_, line))) = (self.way.iter().position(|on| on == of), by) {
            let way = self.way[from..].iter().chain([of]).map(ToString::to_string);
            let way = way.collect::<Vec<_>>().join(" → ");
            return Err(SchemaError::Recursive { of: of.clone(), line, way });
        }
        if self.way.len() >= MOST_DEPTH {
            return Err(SchemaError::Deep { of: self.way[0].clone() });
        }
        let text = (self.source)(of).map_err(|source| SchemaError::Source {
            of: of.clone(),
            by: by.map(|(name, line)| (name.clone(), line)),
            source,
        })?;
        let parsed = parse::parse(of, &text).map_err(|(line, text, problem)| {
            SchemaError::Line { of: of.clone(), line, text, problem: Box::new(problem) }
        })?;
        self.way.push(of.clone());
        let mut fields = Vec::with_capacity(parsed.fields.len());
        for field in parsed.fields {
            let element = match field.element {
                ParsedElement::Primitive(primitive) => Element::Primitive(primitive),
                ParsedElement::Text { bound } => Element::Text { bound },
                ParsedElement::WideText { bound } => Element::WideText { bound },
                ParsedElement::Named(name) => {
                    Element::Structure(self.load(&name, Some((of, field.line)))?)
                }
            };
            let key = format!("\"{}\":", field.name);
            fields.push(Field { name: field.name, element, count: field.count, key });
        }
        self.way.pop();
        let depth = 1 + fields.iter().map(|field| self.depth(field)).max().unwrap_or(0);
        if depth > MOST_DEPTH {
            return Err(SchemaError::Deep { of: of.clone() });
        }
        let place = self.structures.len();
        self.structures.push(Structure {
            name: of.clone(),
            least_bytes: least_bytes(&self.structures, &fields),
            flat: flat_of(&self.structures, &fields),
            depth,
            fields,
            constants: parsed.constants,
        });
        self.places.insert(of.clone(), place);
        Ok(place)
    }

    fn depth(&self, field: &Field) -> usize {
        match field.element {
            Element::Structure(at) => self.structures[at].depth,
            _ => 0,
        }
    }
}

/// The fewest bytes of one element.
pub(crate) fn least_element_bytes(structures: &[Structure], element: Element) -> usize {
    match element {
        Element::Primitive(primitive) => primitive.size(),
        Element::Text { .. } | Element::WideText { .. } => 4,
        Element::Structure(at) => structures[at].least_bytes,
    }
}

fn least_bytes(structures: &[Structure], fields: &[Field]) -> usize {
    let of = |field: &Field| match field.count {
        Count::One => least_element_bytes(structures, field.element),
        Count::Fixed(n) => n.saturating_mul(least_element_bytes(structures, field.element)),
        Count::Sequence { .. } => 4,
    };
    fields.iter().map(of).fold(0, usize::saturating_add).max(1)
}

fn flat_of(structures: &[Structure], fields: &[Field]) -> Option<Flat> {
    if fields.is_empty() {
        return flat::primitives(1, 1);
    }
    fields.iter().try_fold([0; 8], |before, field| {
        let count = match field.count {
            Count::One => 1,
            Count::Fixed(count) => count,
            Count::Sequence { .. } => return None,
        };
        let this = match field.element {
            Element::Primitive(primitive) => flat::primitives(primitive.size(), count)?,
            Element::Structure(at) => flat::repeated(&structures[at].flat?, count)?,
            Element::Text { .. } | Element::WideText { .. } => return None,
        };
        flat::behind(&before, &this)
    })
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
