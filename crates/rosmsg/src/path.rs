//! One field of a message, by its path.

use crate::cdr::{CdrError, Reader};
use crate::definition::{Count, Element, Field, Primitive, Structure};
use crate::schema::least_element_bytes;
use crate::{Schema, TypeName, flat};
use std::borrow::Cow;
use std::fmt;
use thiserror::Error;

/// Where a field is in messages of one type. Made by [`Schema::path`].
#[derive(Clone)]
pub struct FieldPath {
    schema: Schema,
    text: String,
    steps: Vec<Step>,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    /// Of the schema's structures.
    structure: usize,
    field: usize,
    index: Option<usize>,
}

/// What a field holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// `bool`: any byte but 0 is true.
    Bool(bool),
    /// Signed integers.
    Int(i64),
    /// Unsigned integers, `byte` and `char`.
    UInt(u64),
    /// `float32` and `float64`; NaN and infinities included.
    Float(f64),
    /// `string` and `wstring`; what is no UTF-8 or UTF-16 became U+FFFD.
    Text(Cow<'a, str>),
    /// `builtin_interfaces/Time` or `Duration`.
    Time {
        /// Whole seconds.
        sec: i32,
        /// Nanoseconds; 10⁹ and more are possible, but no time.
        nanosec: u32,
    },
    /// Another message, or a whole array.
    Other,
}

impl Value<'_> {
    /// A whole number, if it is one and fits.
    pub fn integer(&self) -> Option<i64> {
        match *self {
            Self::Int(value) => Some(value),
            Self::UInt(value) => i64::try_from(value).ok(),
            _ => None,
        }
    }

    /// A time in ns; `None` for what isn't one, and when the nanoseconds are 10⁹ or more.
    pub fn time_ns(&self) -> Option<i64> {
        match *self {
            Self::Time { sec, nanosec } if nanosec < 1_000_000_000 => {
                Some(i64::from(sec) * 1_000_000_000 + i64::from(nanosec))
            }
            _ => None,
        }
    }
}

/// A path that leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PathError {
    /// It isn't written as paths are.
    #[error("{0:?} is no path; one is written like header.stamp or points[0].z")]
    Form(String),
    /// The type has no such field.
    #[error("{of} has no field {field:?}; it has {fields}", fields = list(.fields))]
    NoField {
        /// The type.
        of: TypeName,
        /// What was looked for.
        field: String,
        /// The fields that there are.
        fields: Vec<String>,
    },
    /// Something with no fields has none.
    #[error("{field:?} of {of} is no message, so {rest:?} isn't in it")]
    NoMessage {
        /// The type.
        of: TypeName,
        /// Its field.
        field: String,
        /// The rest of the path.
        rest: String,
    },
    /// An array's element must be named.
    #[error("{field:?} of {of} is an array; name an element, as in {field}[0].{rest}")]
    Array {
        /// The type.
        of: TypeName,
        /// Its field.
        field: String,
        /// The rest of the path.
        rest: String,
    },
    /// It is no array.
    #[error("{field:?} of {of} is no array; leave the brackets out")]
    NoArray {
        /// The type.
        of: TypeName,
        /// Its field.
        field: String,
    },
    /// An array of fixed size has no such element.
    #[error("{field:?} of {of} has {size} elements, from 0; there is no {index}")]
    Beyond {
        /// The type.
        of: TypeName,
        /// Its field.
        field: String,
        /// How many it has.
        size: usize,
        /// Which one was looked for.
        index: usize,
    },
}

fn list(fields: &[String]) -> String {
    if fields.is_empty() { "none".to_owned() } else { fields.join(", ") }
}

impl FieldPath {
    pub(crate) fn new(schema: &Schema, text: &str) -> Result<Self, PathError> {
        let structures = schema.structures();
        let mut steps = Vec::new();
        let mut inside = Some(structures.len() - 1);
        let mut before = String::new();
        let mut rest = Some(text);
        while let Some(path) = rest {
            let (part, behind) = match path.split_once('.') {
                Some((part, behind)) => (part, Some(behind)),
                None => (path, None),
            };
            let (name, index) = part_of(part).ok_or_else(|| PathError::Form(text.to_owned()))?;
            let Some(structure) = inside else {
                let last: &Step = &steps[steps.len() - 1];
                let of = structures[last.structure].name.clone();
                return Err(PathError::NoMessage { of, field: before, rest: path.to_owned() });
            };
            let (field, element) = step(&structures[structure], name, index, behind)?;
            steps.push(Step { structure, field, index });
            inside = match element {
                Element::Structure(at) => Some(at),
                _ => None,
            };
            name.clone_into(&mut before);
            rest = behind;
        }
        Ok(Self { schema: schema.clone(), text: text.to_owned(), steps })
    }

    /// The type whose messages it is in.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Whether it ends at an element of an array, `points[0]`, and not at a whole field.
    pub fn names_element(&self) -> bool {
        self.steps.last().is_some_and(|last| last.index.is_some())
    }

    /// Whether it ends at `builtin_interfaces/Time` or `Duration`, or at arrays of them.
    pub fn is_time(&self) -> bool {
        let structures = self.schema.structures();
        matches!(self.field().element, Element::Structure(at) if structures[at].name.is_time())
    }

    /// The field that it ends at.
    pub fn field(&self) -> &Field {
        let last = self.steps[self.steps.len() - 1];
        &self.schema.structures()[last.structure].fields[last.field]
    }

    /// Reads the field from the CDR of a message, up to it and no further: what lies before is
    /// skipped, arrays of primitives without a look at their elements, and what lies behind isn't
    /// looked at.
    pub fn read<'m>(&self, message: &'m [u8]) -> Result<Value<'m>, CdrError> {
        let structures = self.schema.structures();
        let mut reader = Reader::new(message)?;
        let mut found = Value::Other;
        for (at, step) in self.steps.iter().enumerate() {
            let fields = &structures[step.structure].fields;
            for before in &fields[..step.field] {
                skip_field(structures, before, &mut reader)?;
            }
            let field = &fields[step.field];
            if let Some(index) = step.index {
                let length = length(structures, field, &mut reader)?;
                if index >= length {
                    return Err(CdrError::NoElement { index, length });
                }
                skip_elements(structures, field.element, index, &mut reader)?;
            }
            let last = at + 1 == self.steps.len();
            if last && (step.index.is_some() || field.count == Count::One) {
                found = value(structures, field.element, &mut reader)?;
            }
        }
        Ok(found)
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.schema.name(), self.text)
    }
}

/// A name, and the index behind it in brackets.
fn part_of(part: &str) -> Option<(&str, Option<usize>)> {
    let (name, index) = match part.strip_suffix(']') {
        Some(open) => {
            let (name, index) = open.split_once('[')?;
            let digits = !index.is_empty() && index.bytes().all(|c| c.is_ascii_digit());
            (name, Some(digits.then(|| index.parse().ok())??))
        }
        None => (part, None),
    };
    (!name.is_empty()).then_some((name, index))
}

fn step(
    structure: &Structure,
    name: &str,
    index: Option<usize>,
    behind: Option<&str>,
) -> Result<(usize, Element), PathError> {
    let of = || structure.name.clone();
    let Some((place, field)) = structure.field(name) else {
        let fields = structure.fields.iter().map(|field| field.name.clone()).collect();
        return Err(PathError::NoField { of: of(), field: name.to_owned(), fields });
    };
    let field_name = || name.to_owned();
    match (field.count, index, behind) {
        (Count::One, Some(_), _) => {
            return Err(PathError::NoArray { of: of(), field: field_name() });
        }
        (Count::Fixed(_) | Count::Sequence { .. }, None, Some(rest)) => {
            let rest = rest.to_owned();
            return Err(PathError::Array { of: of(), field: field_name(), rest });
        }
        (Count::Fixed(size), Some(index), _) if index >= size => {
            return Err(PathError::Beyond { of: of(), field: field_name(), size, index });
        }
        _ => {}
    }
    Ok((place, field.element))
}

/// Reads how many elements a field has.
pub(crate) fn length(
    structures: &[Structure],
    field: &Field,
    reader: &mut Reader<'_>,
) -> Result<usize, CdrError> {
    match field.count {
        Count::One => Ok(1),
        Count::Fixed(length) => Ok(length),
        Count::Sequence { .. } => reader.sequence(least_element_bytes(structures, field.element)),
    }
}

fn skip_field(
    structures: &[Structure],
    field: &Field,
    reader: &mut Reader<'_>,
) -> Result<(), CdrError> {
    let length = length(structures, field, reader)?;
    skip_elements(structures, field.element, length, reader)
}

/// Skips elements; each that must be looked at takes bytes, so this ends with the message.
fn skip_elements(
    structures: &[Structure],
    element: Element,
    count: usize,
    reader: &mut Reader<'_>,
) -> Result<(), CdrError> {
    match element {
        Element::Primitive(primitive) => {
            reader.elements(count, primitive.size())?;
        }
        Element::Text { .. } => {
            for _ in 0..count {
                reader.lenient_string()?;
            }
        }
        Element::WideText { .. } => {
            for _ in 0..count {
                reader.wide_units()?;
            }
        }
        Element::Structure(at) => {
            let structure = &structures[at];
            if let Some(one) = &structure.flat {
                let bytes = flat::bytes_of(one, count, reader.position());
                reader.bytes(bytes.unwrap_or(usize::MAX))?;
                return Ok(());
            }
            for _ in 0..count {
                for field in &structure.fields {
                    skip_field(structures, field, reader)?;
                }
            }
        }
    }
    Ok(())
}

fn value<'m>(
    structures: &[Structure],
    element: Element,
    reader: &mut Reader<'m>,
) -> Result<Value<'m>, CdrError> {
    Ok(match element {
        Element::Primitive(primitive) => match primitive {
            Primitive::Bool => Value::Bool(reader.bool()?),
            Primitive::Byte | Primitive::Char | Primitive::Uint8 => {
                Value::UInt(reader.u8()?.into())
            }
            Primitive::Uint16 => Value::UInt(reader.u16()?.into()),
            Primitive::Uint32 => Value::UInt(reader.u32()?.into()),
            Primitive::Uint64 => Value::UInt(reader.u64()?),
            Primitive::Int8 => Value::Int(reader.i8()?.into()),
            Primitive::Int16 => Value::Int(reader.i16()?.into()),
            Primitive::Int32 => Value::Int(reader.i32()?.into()),
            Primitive::Int64 => Value::Int(reader.i64()?),
            Primitive::Float32 => Value::Float(reader.f32()?.into()),
            Primitive::Float64 => Value::Float(reader.f64()?),
        },
        Element::Text { .. } => Value::Text(String::from_utf8_lossy(reader.lenient_string()?.0)),
        Element::WideText { .. } => Value::Text(Cow::Owned(reader.wide_string()?.0)),
        Element::Structure(at) if structures[at].name.is_time() => {
            Value::Time { sec: reader.i32()?, nanosec: reader.u32()? }
        }
        Element::Structure(_) => Value::Other,
    })
}

#[cfg(test)]
#[path = "path_tests.rs"]
mod tests;
