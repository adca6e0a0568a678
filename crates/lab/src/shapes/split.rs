//! The same message with primitive arrays in place of arrays of structures.

use super::shape::{Given, Of, Part, Shape, Text, Times};
use hopwatch_rosmsg::{Constant, ConstantValue, Primitive, Schema, Structure};
use std::collections::BTreeSet;
use std::fmt::Write;

/// A definition that holds the same values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// The type's name within its package.
    pub name: String,
    /// The text of its `.msg` file.
    pub definition: String,
    /// The lengths of its fields that hold as much as the shape.
    pub lengths: Given,
}

/// The split of a shape; none where it has no array of structures.
///
/// Of each array of structures, every field of its elements becomes an array of its own, all in one
/// order. What is itself a sequence in an element becomes one long array, and an array with how many
/// of it each element has.
pub fn split(schema: &Schema, shape: &Shape) -> Option<Split> {
    if shape.counts().arrays.is_empty() && !holds_arrays(&shape.parts) {
        return None;
    }
    let mut writer = Writer {
        lines: String::new(),
        names: BTreeSet::new(),
        lengths: Given::new(),
        schema,
        constants: BTreeSet::new(),
    };
    let name = format!("{}Split", shape.name.name());
    let _infallible = writeln!(
        writer.lines,
        "# {} with primitive arrays: what has one index belongs together.",
        shape.name.name()
    );
    writer.constants_of(schema.root());
    writer.fields(&shape.parts, "");
    Some(Split { name, definition: writer.lines, lengths: writer.lengths })
}

/// Whether there is an array of structures somewhere, whatever its length.
fn holds_arrays(parts: &[Part]) -> bool {
    parts.iter().any(|part| match &part.of {
        Of::Structure(_, inside) => part.times != Times::One || holds_arrays(inside),
        _ => false,
    })
}

struct Writer<'a> {
    lines: String,
    names: BTreeSet<String>,
    lengths: Given,
    schema: &'a Schema,
    constants: BTreeSet<String>,
}

/// In how many elements a field is: of all arrays around it.
#[derive(Clone, Copy)]
struct Around {
    count: u64,
    /// How many at most; none: no bound. And whether there are always so many.
    most: Option<u64>,
    fixed: bool,
}

impl Around {
    fn within(self, times: Times) -> Self {
        let (most, fixed) = match times {
            Times::One => (Some(1), true),
            Times::Fixed(n) => (Some(n), true),
            Times::Sequence(_, bound) => (bound, false),
        };
        Self {
            count: self.count.saturating_mul(times.count()),
            most: self.most.zip(most).and_then(|(a, b)| a.checked_mul(b)),
            fixed: self.fixed && fixed,
        }
    }

    fn brackets(self) -> String {
        match (self.most, self.fixed) {
            (Some(n), true) => format!("[{n}]"),
            (Some(n), false) => format!("[<={n}]"),
            (None, _) => "[]".to_owned(),
        }
    }
}

impl Writer<'_> {
    /// The message's own fields, and those of structures that are no arrays but hold some.
    fn fields(&mut self, parts: &[Part], before: &str) {
        for part in parts {
            let name = format!("{before}{}", part.name);
            match &part.of {
                Of::Structure(_, inside) if part.times == Times::One && holds_arrays(inside) => {
                    self.fields(inside, &format!("{name}_"));
                }
                Of::Structure(of, inside) if part.times == Times::One => {
                    let name = self.put(&of.to_string().replace("/msg/", "/"), &name, "");
                    self.keep(inside, &part.path, &name);
                }
                Of::Structure(of, inside) => {
                    self.constants_named(&of.to_string());
                    let around = Around { count: 1, most: Some(1), fixed: true };
                    self.elements(inside, &format!("{name}_"), around.within(part.times));
                }
                leaf => {
                    let times = match part.times {
                        Times::One => String::new(),
                        Times::Fixed(n) => format!("[{n}]"),
                        Times::Sequence(_, None) => "[]".to_owned(),
                        Times::Sequence(_, Some(bound)) => format!("[<={bound}]"),
                    };
                    let name = self.put(&format!("{}{times}", leaf_type(leaf)), &name, "");
                    self.length_of(part, &name);
                }
            }
        }
    }

    /// The lengths of what is kept as it is.
    fn keep(&mut self, parts: &[Part], old: &str, new: &str) {
        for part in parts {
            let path = format!("{new}{}", part.path.strip_prefix(old).unwrap_or(&part.path));
            self.length_of(part, &path);
            if let Of::Structure(_, inside) = &part.of {
                self.keep(inside, &part.path, &path);
            }
        }
    }

    fn length_of(&mut self, part: &Part, path: &str) {
        if let Times::Sequence(n, _) = part.times {
            self.lengths.insert(path.to_owned(), n);
        }
        if let Of::Text(Text { length, .. }) | Of::WideText(Text { length, .. }) = part.of {
            let path = if part.times == Times::One { path.to_owned() } else { format!("{path}[]") };
            self.lengths.insert(path, length);
        }
    }

    /// The fields of an array's elements, each as an array.
    fn elements(&mut self, parts: &[Part], before: &str, around: Around) {
        for part in parts {
            let name = format!("{before}{}", part.name);
            let mut within = around.within(part.times);
            let mut why = String::new();
            match part.times {
                Times::One => {}
                Times::Fixed(n) => why = format!("  # {n} for each"),
                Times::Sequence(..) => {
                    let count = format!("{name}_count");
                    let count = self.put(&format!("uint32{}", around.brackets()), &count, "");
                    self.length(&count, around);
                    why = format!("  # one after the other, as many as {count} says");
                    within.fixed = false;
                }
            }
            match &part.of {
                Of::Structure(of, inside) => {
                    self.constants_named(&of.to_string());
                    self.elements(inside, &format!("{name}_"), within);
                }
                leaf => {
                    let kind = format!("{}{}", leaf_type(leaf), within.brackets());
                    let name = self.put(&kind, &name, &why);
                    self.length(&name, within);
                    if let Of::Text(text) | Of::WideText(text) = leaf {
                        self.lengths.insert(format!("{name}[]"), text.length);
                    }
                }
            }
        }
    }

    fn length(&mut self, name: &str, around: Around) {
        if !around.fixed {
            self.lengths.insert(name.to_owned(), around.count);
        }
    }

    /// Writes a field, by a name that is free.
    fn put(&mut self, kind: &str, wanted: &str, comment: &str) -> String {
        let mut name = wanted.to_owned();
        let mut number = 2;
        while !self.names.insert(name.clone()) {
            name = format!("{wanted}_{number}");
            number += 1;
        }
        let _infallible = writeln!(self.lines, "{kind} {name}{comment}");
        name
    }

    fn constants_named(&mut self, of: &str) {
        let all = self.schema.structures();
        if let Some(structure) = all.iter().find(|one| one.name.to_string() == of) {
            self.constants_of(structure);
        }
    }

    fn constants_of(&mut self, structure: &Structure) {
        for constant in &structure.constants {
            // Of two with one name the first is kept: types rarely share them.
            if self.constants.insert(constant.name.clone()) {
                let _infallible = writeln!(self.lines, "{}", constant_line(constant));
            }
        }
    }
}

fn constant_line(constant: &Constant) -> String {
    let value = match &constant.value {
        ConstantValue::Bool(value) => value.to_string(),
        ConstantValue::Integer(value) => value.to_string(),
        ConstantValue::Float(value) => format!("{value:?}"),
        ConstantValue::Text(value) => format!("{value:?}"),
    };
    format!("{} {}={value}", constant.type_text, constant.name)
}

fn leaf_type(of: &Of) -> String {
    match of {
        Of::Number(primitive, _) => number_type(*primitive).to_owned(),
        Of::Text(text) => bounded("string", text.bound),
        Of::WideText(text) => bounded("wstring", text.bound),
        Of::Structure(name, _) => name.to_string(),
    }
}

fn bounded(name: &str, bound: Option<u64>) -> String {
    bound.map_or_else(|| name.to_owned(), |bound| format!("{name}<={bound}"))
}

pub(super) fn number_type(primitive: Primitive) -> &'static str {
    Primitive::NAMES.into_iter().find(|(_, of)| *of == primitive).map_or("byte", |(name, _)| name)
}
