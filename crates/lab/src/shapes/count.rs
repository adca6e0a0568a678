//! What a message is made of: structures in arrays, texts, and the bytes of its fields.

use super::shape::{Of, Part, Shape};
use serde::Serialize;

/// What a message holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Non-primitive elements: over all arrays of structures, length × structures in one element,
    /// the element itself counted. Each is an object of its own in Python.
    pub elements: u64,
    /// The arrays that they are in.
    pub arrays: Vec<Costly>,
    /// Texts, which are objects of their own, too, but no structures.
    pub texts: u64,
    /// Bytes of all fields as they are declared: without padding, lengths and terminators.
    pub declared_bytes: u64,
}

/// An array of structures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Costly {
    /// The field.
    pub path: String,
    /// What its elements are.
    pub of: String,
    /// How many elements it has.
    pub length: u64,
    /// How many structures one element is, itself counted.
    pub structures: u64,
    /// Their product.
    pub elements: u64,
}

impl Shape {
    /// Its counts. A shape has no more elements than bytes, so they can be counted.
    pub fn counts(&self) -> Counts {
        let mut arrays = Vec::new();
        find(&self.parts, &mut arrays);
        Counts {
            elements: arrays.iter().map(|array| array.elements).sum(),
            arrays,
            texts: sum(&self.parts, &|of| u64::from(matches!(of, Of::Text(_) | Of::WideText(_)))),
            declared_bytes: sum(&self.parts, &|of| match of {
                Of::Number(primitive, _) => u64::try_from(primitive.size()).unwrap_or(0),
                Of::Text(text) => text.length,
                // UTF-16 code units.
                Of::WideText(text) => text.length.saturating_mul(2),
                Of::Structure(..) => 0,
            }),
        }
    }
}

/// The outermost arrays of structures.
fn find(parts: &[Part], arrays: &mut Vec<Costly>) {
    for part in parts {
        let Of::Structure(name, inside) = &part.of else { continue };
        if part.times == super::shape::Times::One {
            find(inside, arrays);
            continue;
        }
        let structures = structures(inside);
        let length = part.times.count();
        arrays.push(Costly {
            path: part.path.clone(),
            of: name.to_string(),
            length,
            structures,
            elements: length.saturating_mul(structures),
        });
    }
}

/// How many structures one with these fields is.
fn structures(parts: &[Part]) -> u64 {
    parts.iter().fold(1, |sum: u64, part| match &part.of {
        Of::Structure(_, inside) => {
            sum.saturating_add(part.times.count().saturating_mul(structures(inside)))
        }
        _ => sum,
    })
}

/// The sum of something over all leaves.
fn sum(parts: &[Part], of_leaf: &impl Fn(&Of) -> u64) -> u64 {
    parts.iter().fold(0, |all: u64, part| {
        let one = match &part.of {
            Of::Structure(_, inside) => sum(inside, of_leaf),
            leaf => of_leaf(leaf),
        };
        all.saturating_add(part.times.count().saturating_mul(one))
    })
}
