//! The values that messages of a study hold, in every language the same, and their bytes.
//!
//! A value depends on its leaf's number c among all leaves and on its index i in the innermost array
//! that it is in: x = (i + 1) · 0x9E3779B97F4A7C15 + (c + 1) · 0xD1B54A32D192ED03 mod 2⁶⁴, of which
//! numbers take the upper bits. So an array of structures and its split hold the same numbers.

use super::shape::{Of, Part, Shape, Text, Times};
use hopwatch_rosmsg::Primitive;
use hopwatch_rosmsg::cdr::{CdrError, Reader};

const BY_INDEX: u64 = 0x9E37_79B9_7F4A_7C15;
const BY_LEAF: u64 = 0xD1B5_4A32_D192_ED03;

/// x of a leaf at an index.
pub fn value(leaf: usize, index: u64) -> u64 {
    let leaf = u64::try_from(leaf).unwrap_or(u64::MAX);
    let by_index = index.wrapping_add(1).wrapping_mul(BY_INDEX);
    by_index.wrapping_add(leaf.wrapping_add(1).wrapping_mul(BY_LEAF))
}

/// x as a `uint32`.
pub fn u32_of(x: u64) -> u32 {
    u32::from_le_bytes(top(x))
}

/// x as an `int32`.
pub fn i32_of(x: u64) -> i32 {
    i32::from_le_bytes(top(x))
}

/// x as a `float64`.
pub fn f64_of(x: u64) -> f64 {
    // 21 and 32 bits: both exact, and so is their sum.
    f64::from(u32_of(x) >> 11) * 4_294_967_296.0 + f64::from(u32_of(x << 21))
}

/// x as a `float32`.
pub fn f32_of(x: u64) -> f32 {
    // 24 bits, eight at a time: all sums are exact.
    let [low, middle, high] = top::<3>(x);
    (f32::from(high) * 256.0 + f32::from(middle)) * 256.0 + f32::from(low)
}

/// A text of this length.
pub fn text_of(x: u64, length: u64) -> Vec<u8> {
    let begin = u64::from(u32_of(x));
    (0..length).map(|k| u8::try_from((begin + k) % 26).map_or(b'a', |of| b'a' + of)).collect()
}

/// The upper N bytes, the lowest of them first.
fn top<const N: usize>(x: u64) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&x.to_le_bytes()[8 - N..]);
    bytes
}

/// x of all leaves at all of their indices: what messages are built from.
#[derive(Clone, Debug)]
pub struct Columns(Vec<Vec<u64>>);

impl Columns {
    /// Those of a shape.
    pub fn of(shape: &Shape) -> Self {
        let mut columns = vec![Vec::new(); shape.leaves];
        fill(&shape.parts, 1, &mut columns);
        Self(columns)
    }

    /// One leaf's.
    pub fn leaf(&self, leaf: usize) -> &[u64] {
        self.0.get(leaf).map_or(&[], Vec::as_slice)
    }

    /// A leaf's values in one place of a part: the one at the index, or of several the first `count`.
    fn of_part(&self, leaf: usize, part: &Part, index: usize, count: usize) -> &[u64] {
        let column = self.leaf(leaf);
        if part.times == Times::One { column.get(index..=index) } else { column.get(..count) }
            .unwrap_or(&[])
    }
}

fn fill(parts: &[Part], around: u64, columns: &mut [Vec<u64>]) {
    for part in parts {
        let count = if part.times == Times::One { around } else { part.times.count() };
        match &part.of {
            Of::Structure(_, inside) => fill(inside, count, columns),
            Of::Number(_, leaf) | Of::Text(Text { leaf, .. }) | Of::WideText(Text { leaf, .. }) => {
                if let Some(column) = columns.get_mut(*leaf) {
                    *column = (0..count).map(|index| value(*leaf, index)).collect();
                }
            }
        }
    }
}

/// The message's bytes: little-endian XCDR version 1 with its header, padding filled with `padding`.
pub fn encode(shape: &Shape, columns: &Columns, padding: u8) -> Vec<u8> {
    let room = shape.size().and_then(|size| usize::try_from(size.needed).ok()).unwrap_or(0);
    let mut out = Vec::with_capacity(room);
    out.extend_from_slice(&[0, 1, 0, 0]);
    let mut writer = Writer { out, padding, columns };
    writer.structure(&shape.parts, 0);
    writer.out
}

struct Writer<'a> {
    out: Vec<u8>,
    padding: u8,
    columns: &'a Columns,
}

impl Writer<'_> {
    fn structure(&mut self, parts: &[Part], index: usize) {
        if parts.is_empty() {
            self.out.push(0);
        }
        for part in parts {
            self.field(part, index);
        }
    }

    fn align(&mut self, to: usize) {
        let at = self.out.len() - 4;
        self.out.resize(4 + at.next_multiple_of(to), self.padding);
    }

    fn length(&mut self, length: u64) {
        self.align(4);
        // A shape has no length that doesn't fit.
        self.out.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
    }

    fn field(&mut self, part: &Part, index: usize) {
        let count = usize::try_from(part.times.count()).unwrap_or(0);
        if let Times::Sequence(length, _) = part.times {
            self.length(length);
        }
        let columns = self.columns;
        let of_leaf = |leaf| columns.of_part(leaf, part, index, count);
        match &part.of {
            Of::Structure(_, parts) if part.times == Times::One => self.structure(parts, index),
            Of::Structure(_, parts) => {
                for index in 0..count {
                    self.structure(parts, index);
                }
            }
            Of::Number(primitive, leaf) => {
                let all = of_leaf(*leaf);
                if !all.is_empty() {
                    self.align(primitive.size());
                }
                self.numbers(*primitive, all);
            }
            Of::Text(text) => {
                for x in of_leaf(text.leaf) {
                    self.length(text.length + 1);
                    self.out.extend_from_slice(&text_of(*x, text.length));
                    self.out.push(0);
                }
            }
            Of::WideText(text) => {
                for x in of_leaf(text.leaf) {
                    self.length(text.length);
                    for unit in text_of(*x, text.length) {
                        self.out.extend_from_slice(&u32::from(unit).to_le_bytes());
                    }
                }
            }
        }
    }

    fn numbers(&mut self, primitive: Primitive, all: &[u64]) {
        let out = &mut self.out;
        match primitive {
            Primitive::Bool => out.extend(all.iter().map(|x| u8::from(x >> 63 == 1))),
            Primitive::Float32 => {
                out.extend(all.iter().flat_map(|x| f32_of(*x).to_le_bytes()));
            }
            Primitive::Float64 => {
                out.extend(all.iter().flat_map(|x| f64_of(*x).to_le_bytes()));
            }
            whole => {
                let skipped = 8 - whole.size();
                for x in all {
                    out.extend_from_slice(&x.to_le_bytes()[skipped..]);
                }
            }
        }
    }
}

/// How bytes that a language made differ from those that are due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Compared {
    /// How many there are.
    pub bytes: u64,
    /// How many of them, padding apart, aren't what is due.
    pub different: u64,
    /// The first one.
    pub first: Option<u64>,
}

/// Compares serialized bytes with those that the shape's values have. Padding may hold whatever
/// (Fast CDR leaves there what was), and so may what follows the last field.
pub fn compare(shape: &Shape, columns: &Columns, got: &[u8]) -> Compared {
    let (due, other) = (encode(shape, columns, 0x00), encode(shape, columns, 0xff));
    let is_padding = |at: usize| due.get(at) != other.get(at);
    let (mut different, mut first) = (0, None);
    // Two bytes of options: XCDR 1 has none.
    for at in (0..due.len()).filter(|at| !(2..4).contains(at) && !is_padding(*at)) {
        if due.get(at) != got.get(at) {
            different += 1;
            first = first.or(u64::try_from(at).ok());
        }
    }
    Compared { bytes: u64::try_from(got.len()).unwrap_or(u64::MAX), different, first }
}

/// Reads every value of a message where it lies, and tells whether all are those of the shape: what a
/// consumer of raw bytes does in place of deserializing them.
///
/// # Errors
/// When the bytes are no message of the type.
pub fn holds(shape: &Shape, columns: &Columns, bytes: &[u8]) -> Result<bool, CdrError> {
    let mut looker = Looker { reader: Reader::new(bytes)?, columns, same: true };
    looker.structure(&shape.parts, 0)?;
    Ok(looker.same)
}

struct Looker<'a> {
    reader: Reader<'a>,
    columns: &'a Columns,
    same: bool,
}

impl Looker<'_> {
    fn structure(&mut self, parts: &[Part], index: usize) -> Result<(), CdrError> {
        if parts.is_empty() {
            self.reader.u8()?;
        }
        parts.iter().try_for_each(|part| self.field(part, index))
    }

    fn field(&mut self, part: &Part, index: usize) -> Result<(), CdrError> {
        let mut count = usize::try_from(part.times.count()).unwrap_or(0);
        if let Times::Sequence(..) = part.times {
            let told = self.reader.sequence(1)?;
            self.same &= told == count;
            count = count.min(told);
        }
        let columns = self.columns;
        let of_leaf = |leaf| columns.of_part(leaf, part, index, count);
        match &part.of {
            Of::Structure(_, parts) if part.times == Times::One => self.structure(parts, index)?,
            Of::Structure(_, parts) => {
                for index in 0..count {
                    self.structure(parts, index)?;
                }
            }
            Of::Number(primitive, leaf) => self.numbers(*primitive, of_leaf(*leaf))?,
            Of::Text(text) => {
                for x in of_leaf(text.leaf) {
                    self.same &= self.reader.string()? == text_of(*x, text.length);
                }
            }
            Of::WideText(text) => {
                for x in of_leaf(text.leaf) {
                    let (read, _) = self.reader.wide_string()?;
                    self.same &= read.as_bytes() == text_of(*x, text.length);
                }
            }
        }
        Ok(())
    }

    fn numbers(&mut self, primitive: Primitive, all: &[u64]) -> Result<(), CdrError> {
        let size = primitive.size();
        let bytes = self.reader.elements(all.len(), size)?;
        self.same &= match primitive {
            Primitive::Bool => bytes.iter().zip(all).all(|(b, x)| u64::from(*b) == x >> 63),
            Primitive::Float32 => {
                let each = bytes.chunks_exact(4).zip(all);
                each.map(|(b, x)| b == f32_of(*x).to_le_bytes()).fold(true, |a, b| a & b)
            }
            Primitive::Float64 => {
                let each = bytes.chunks_exact(8).zip(all);
                each.map(|(b, x)| b == f64_of(*x).to_le_bytes()).fold(true, |a, b| a & b)
            }
            whole => {
                let skipped = 8 - whole.size();
                let each = bytes.chunks_exact(size).zip(all);
                each.map(|(b, x)| *b == x.to_le_bytes()[skipped..]).fold(true, |a, b| a & b)
            }
        };
        Ok(())
    }
}
