//! How many bytes a message has once it is serialized, and how that follows from a length.
//!
//! XCDR version 1 (OMG DDS-XTypes 7.4.1): four bytes of encapsulation header, alignment counted from
//! behind it. What is predicted is what `rmw_serialize` of `rmw_fastrtps_cpp` says, by the rules of
//! its generated size functions: those align for an empty sequence of numbers, too, and give a wide
//! text room for a terminator. The bytes that are needed may be fewer then; they are told beside it.

use super::shape::{Given, Of, Part, Shape, Text, Times};
use hopwatch_rosmsg::Schema;
use hopwatch_rosmsg::flat::{self, Flat};
use serde::Serialize;
use std::collections::BTreeMap;

/// Bytes of the encapsulation header.
const HEADER: u64 = 4;

/// How large a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Size {
    /// What `rmw_serialize` says, the header included.
    pub serialized: u64,
    /// What its fields need, the header included: what leaves by DDS, which pads it to a multiple
    /// of four.
    pub needed: u64,
}

impl Shape {
    /// Its size; none when it can't be counted.
    pub fn size(&self) -> Option<Size> {
        let of = |rules| {
            let bytes = structure(&self.parts, rules)?[0];
            u64::try_from(bytes).ok()?.checked_add(HEADER)
        };
        Some(Size { serialized: of(Rules::Reserved)?, needed: of(Rules::Needed)? })
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Rules {
    Reserved,
    Needed,
}

fn structure(parts: &[Part], rules: Rules) -> Option<Flat> {
    if parts.is_empty() {
        // structure_needs_at_least_one_member
        return flat::primitives(1, 1);
    }
    parts.iter().try_fold([0; 8], |before, part| flat::behind(&before, &field(part, rules)?))
}

fn field(part: &Part, rules: Rules) -> Option<Flat> {
    let count = usize::try_from(part.times.count()).ok()?;
    let elements = match &part.of {
        Of::Number(primitive, _) if count == 0 && rules == Rules::Reserved => {
            // Its padding alone.
            flat::primitives(primitive.size(), 1)?.map(|bytes| bytes - primitive.size())
        }
        Of::Number(primitive, _) => flat::primitives(primitive.size(), count)?,
        Of::Text(of) => flat::repeated(&text(of, 1, 1)?, count)?,
        Of::WideText(of) => {
            let terminator = usize::from(rules == Rules::Reserved);
            flat::repeated(&text(of, 4, terminator)?, count)?
        }
        Of::Structure(_, parts) => flat::repeated(&structure(parts, rules)?, count)?,
    };
    match part.times {
        Times::Sequence(..) => flat::behind(&flat::primitives(4, 1)?, &elements),
        Times::One | Times::Fixed(_) => Some(elements),
    }
}

fn text(of: &Text, unit: usize, terminator: usize) -> Option<Flat> {
    let units = usize::try_from(of.length).ok()?.checked_add(terminator)?;
    flat::behind(&flat::primitives(4, 1)?, &flat::primitives(1, units.checked_mul(unit)?)?)
}

/// The size as it follows from N, the length of the longest sequences.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Formula {
    /// The formula: "16N+8".
    pub text: String,
    /// The sequences that N is the length of.
    pub of: Vec<String>,
    /// How many values of N it was tried at; it held at all of them.
    pub tried: usize,
}

/// The formula for `shape` with its longest sequences of length N and all else as it is; none where
/// it has no sequence, or no simple formula holds at all N that are tried.
pub fn formula(schema: &Schema, shape: &Shape) -> Option<Formula> {
    let (longest, of) = shape.varying()?;
    let of: Vec<String> = of.into_iter().map(str::to_owned).collect();
    let bound = |path: &String| shape.lengths.iter().find(|l| l.path == *path)?.bound;
    let most = of.iter().filter_map(bound).min().unwrap_or(u64::MAX);
    let mut tried: Vec<u64> =
        (0..=40).chain([100, 1000, 10_000]).chain(longest..longest + 9).collect();
    tried.retain(|n| *n <= most);
    tried.sort_unstable();
    tried.dedup();
    let mut given: Given = shape.given();
    let mut sizes: BTreeMap<u64, u64> = BTreeMap::new();
    for n in tried {
        for path in &of {
            given.insert(path.clone(), n);
        }
        // What is too large beyond the longest one is no size.
        if let Some(size) = Shape::new(schema, &given).ok().and_then(|shape| shape.size()) {
            sizes.insert(n, size.serialized);
        }
    }
    let text = [1, 2, 4, 8].into_iter().find_map(|period| fit(&sizes, period))?;
    Some(Formula { text, of, tried: sizes.len() })
}

/// A line through the sizes at each residue of N, all of one slope.
fn fit(sizes: &BTreeMap<u64, u64>, period: u64) -> Option<String> {
    [0, 1].into_iter().find_map(|least| {
        let (one, other) = (*sizes.get(&least)?, *sizes.get(&(least + period))?);
        let rise = other.checked_sub(one)?;
        if rise == 0 || !rise.is_multiple_of(period) {
            return None;
        }
        let slope = rise / period;
        let rest = |n: u64| Some(i128::from(*sizes.get(&n)?) - i128::from(slope) * i128::from(n));
        let rests: Vec<i128> = (least..least + period).filter_map(rest).collect();
        if u64::try_from(rests.len()) != Ok(period) {
            return None;
        }
        let of = |n: u64| usize::try_from((n - least) % period).ok().and_then(|at| rests.get(at));
        if !sizes.keys().filter(|n| **n >= least).all(|n| rest(*n).as_ref() == of(*n)) {
            return None;
        }
        let slope = if slope == 1 { String::new() } else { slope.to_string() };
        let mut text = match rests.as_slice() {
            [rest] => format!("{slope}N{rest:+}"),
            rests => {
                let by_residue = (0..period).filter_map(|residue| {
                    let n = if residue < least { residue + period } else { residue };
                    rests.get(usize::try_from(n - least).ok()?)
                });
                let all = by_residue.map(|rest| format!("{rest:+}")).collect::<Vec<_>>();
                format!("{slope}N{{{}}} for N mod {period} = 0, 1, …", all.join(", "))
            }
        };
        if least > 0 {
            text += " (N > 0)";
        }
        Some(text)
    })
}
