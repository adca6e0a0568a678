//! Reads the text of a `.msg` definition, by the rules of `rosidl_adapter` (docs.ros.org,
//! "Interfaces"): one field or constant a line, `#` begins a comment wherever it stands.
//!
//! More lenient in two things that ROS refuses: lines may be indented, and a type may be written
//! with its `msg` (`std_msgs/msg/Header`). Defaults are passed over: they aren't in the bytes.

use crate::definition::{Constant, Count, Primitive};
use crate::parse_constant::constant_value;
use crate::type_name::is_lower_name;
use crate::{TypeName, TypeNameError};
use thiserror::Error;

/// A definition, its types not yet looked up.
#[derive(Debug, PartialEq)]
pub(crate) struct Parsed {
    pub(crate) fields: Vec<ParsedField>,
    pub(crate) constants: Vec<Constant>,
}

/// One field, its type not yet looked up.
#[derive(Debug, PartialEq)]
pub(crate) struct ParsedField {
    pub(crate) name: String,
    pub(crate) element: ParsedElement,
    pub(crate) count: Count,
    /// Counts from 1.
    pub(crate) line: usize,
}

#[derive(Debug, PartialEq)]
pub(crate) enum ParsedElement {
    Primitive(Primitive),
    Text { bound: Option<usize> },
    WideText { bound: Option<usize> },
    Named(TypeName),
}

/// What is wrong with a line of a definition.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LineProblem {
    /// `---`
    #[error("this is a service or an action, not a message; give the .msg file of a topic's type")]
    Separator,
    /// A type alone.
    #[error("a field needs a name behind its type")]
    NoName,
    /// A type that there isn't.
    #[error("there is no type {0:?}{hint}", hint = hint(.0))]
    NoSuchType(String),
    /// A type's name that breaks the rules.
    #[error(transparent)]
    TypeName(#[from] TypeNameError),
    /// An array's or string's bound.
    #[error("{0:?} is no size; write a whole number above 0")]
    Size(String),
    /// A `]` without its `[`.
    #[error("{0:?} ends with ] but has no [")]
    Bracket(String),
    /// A field's name that breaks the rules.
    #[error(
        "{0:?} is no field name: those begin with a lower-case letter, and hold such letters, \
         digits and single underscores"
    )]
    FieldName(String),
    /// A constant's name that breaks the rules.
    #[error(
        "{0:?} is no constant's name: those begin with a capital letter, and hold capital letters, \
         digits and single underscores"
    )]
    ConstantName(String),
    /// A constant of a type that can't be one.
    #[error("{0:?} is no type of constants; those are primitive or string, without a bound")]
    ConstantType(String),
    /// A value that isn't of the constant's type.
    #[error("{value:?} is no {of}{hint}")]
    ConstantValue {
        /// The type.
        of: String,
        /// What was written.
        value: String,
        /// What would do.
        hint: &'static str,
    },
    /// Two fields, or two constants, of one name.
    #[error("{0:?} is there twice; rename one")]
    Twice(String),
}

/// What was probably meant by a type that there isn't.
fn hint(name: &str) -> &'static str {
    match name {
        "time" => "; write builtin_interfaces/Time",
        "duration" => "; write builtin_interfaces/Duration",
        "octet" => "; write byte",
        "boolean" => "; write bool",
        "float" => "; write float32",
        "double" => "; write float64",
        "int" | "long" | "short" => "; write int32, or int8, int16, int64",
        "unsigned" | "uint" => "; write uint32, or uint8, uint16, uint64",
        "wchar" => "; write uint16",
        _ => {
            "; primitive types are bool, byte, char, int8 to uint64, float32, float64, string and \
              wstring, others begin with a capital letter"
        }
    }
}

/// Reads a definition; an error tells the line (from 1), its text, and what is wrong with it.
pub(crate) fn parse(of: &TypeName, text: &str) -> Result<Parsed, (usize, String, LineProblem)> {
    let mut parsed = Parsed { fields: Vec::new(), constants: Vec::new() };
    for (at, whole) in text.lines().enumerate() {
        // Everywhere, within a quoted constant too: rosidl does the same.
        let line = whole.split('#').next().unwrap_or_default().trim();
        if !line.is_empty() {
            let number = at + 1;
            parse_line(of, line, number, &mut parsed)
                .map_err(|problem| (number, line.chars().take(120).collect(), problem))?;
        }
    }
    Ok(parsed)
}

fn parse_line(
    of: &TypeName,
    line: &str,
    number: usize,
    parsed: &mut Parsed,
) -> Result<(), LineProblem> {
    if line == "---" {
        return Err(LineProblem::Separator);
    }
    let (type_text, rest) = line.split_once([' ', '\t']).ok_or(LineProblem::NoName)?;
    let rest = rest.trim_start();
    if let Some((name, value)) = rest.split_once('=') {
        let constant = constant(type_text, name.trim_end(), value.trim_start())?;
        if parsed.constants.iter().any(|known| known.name == constant.name) {
            return Err(LineProblem::Twice(constant.name));
        }
        parsed.constants.push(constant);
        return Ok(());
    }
    let name = rest.split([' ', '\t']).next().unwrap_or_default();
    if !is_lower_name(name) {
        return Err(LineProblem::FieldName(name.to_owned()));
    }
    if parsed.fields.iter().any(|known| known.name == name) {
        return Err(LineProblem::Twice(name.to_owned()));
    }
    let (element_text, count) = count(type_text)?;
    let element = element(of, element_text)?;
    parsed.fields.push(ParsedField { name: name.to_owned(), element, count, line: number });
    Ok(())
}

/// Takes the brackets off.
fn count(type_text: &str) -> Result<(&str, Count), LineProblem> {
    let Some(open) = type_text.strip_suffix(']') else {
        return Ok((type_text, Count::One));
    };
    let Some((element, inside)) = open.rsplit_once('[') else {
        return Err(LineProblem::Bracket(type_text.to_owned()));
    };
    let count = match (inside, inside.strip_prefix("<=")) {
        ("", _) => Count::Sequence { bound: None },
        (_, Some(bound)) => Count::Sequence { bound: Some(size(bound)?) },
        (fixed, None) => Count::Fixed(size(fixed)?),
    };
    Ok((element, count))
}

fn size(text: &str) -> Result<usize, LineProblem> {
    match text.trim().parse() {
        Ok(size) if size > 0 => Ok(size),
        _ => Err(LineProblem::Size(text.to_owned())),
    }
}

fn element(of: &TypeName, text: &str) -> Result<ParsedElement, LineProblem> {
    if let Some((_, primitive)) = Primitive::NAMES.into_iter().find(|(name, _)| *name == text) {
        return Ok(ParsedElement::Primitive(primitive));
    }
    let (name, bound) = match text.split_once("<=") {
        Some((name, bound)) => (name, Some(size(bound)?)),
        None => (text, None),
    };
    match name {
        "string" => return Ok(ParsedElement::Text { bound }),
        "wstring" => return Ok(ParsedElement::WideText { bound }),
        _ => {}
    }
    if text.contains('/') {
        return Ok(ParsedElement::Named(text.parse()?));
    }
    if !text.starts_with(|first: char| first.is_ascii_uppercase()) {
        return Err(LineProblem::NoSuchType(text.to_owned()));
    }
    Ok(ParsedElement::Named(TypeName::new(of.package(), text)?))
}

fn constant(type_text: &str, name: &str, value: &str) -> Result<Constant, LineProblem> {
    let capital = name.starts_with(|first: char| first.is_ascii_uppercase())
        && name.bytes().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == b'_')
        && !name.ends_with('_')
        && !name.contains("__");
    if !capital {
        return Err(LineProblem::ConstantName(name.to_owned()));
    }
    let value = constant_value(type_text, value)?;
    Ok(Constant { name: name.to_owned(), type_text: type_text.to_owned(), value })
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
