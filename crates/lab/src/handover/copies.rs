//! How many copies of a message were made, by where its bytes lay.
//!
//! Two buffers at one address are one buffer only while both are in use: a block that was freed is given
//! out again. So decoys of the same size are taken in between, in runs of their own, for they cost time.

use super::{Buffer, Condition, Look, Run};
use serde::Serialize;
use std::collections::BTreeSet;

/// How many copies are due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Due {
    /// So many.
    Exactly(usize),
    /// So many, and more that no address tells of.
    AtLeast(usize),
}

impl Due {
    /// In words.
    pub fn words(self) -> String {
        match self {
            Self::Exactly(n) => n.to_string(),
            Self::AtLeast(n) => format!("{n} or more"),
        }
    }
}

/// What addresses say of a condition.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CopyFigures {
    /// The condition.
    pub condition: Condition,
    /// Its name.
    pub name: String,
    /// Messages that all consumers had, in all runs.
    pub messages: usize,
    /// Those of them that some consumer had at the producer's own place.
    pub matching: usize,
    /// The fewest and the most copies of a message.
    pub copies: Option<(usize, usize)>,
    /// How many are due.
    pub due: Due,
    /// Whether each message had as many as are due; none where freed blocks may have come back, and of
    /// no messages.
    pub by_rule: Option<bool>,
}

impl CopyFigures {
    /// Of a condition's runs; none when it is not one for addresses.
    pub(super) fn of(condition: Condition, runs: &[&Run]) -> Option<Self> {
        let Look::Addresses { decoys } = condition.look else { return None };
        let all: Vec<(usize, bool)> = runs.iter().flat_map(|run| of_run(run)).collect();
        let copies = all.iter().map(|(copies, _)| *copies);
        let due = condition.due();
        let fits = |copies: usize| match due {
            Due::Exactly(n) => copies == n,
            Due::AtLeast(n) => copies >= n,
        };
        Some(Self {
            condition,
            name: condition.name(),
            messages: all.len(),
            matching: all.iter().filter(|(_, matches)| *matches).count(),
            copies: copies.clone().min().zip(copies.clone().max()),
            due,
            by_rule: (decoys && !all.is_empty()).then(|| copies.clone().all(fits)),
        })
    }
}

/// Of each message that all consumers had: how many buffers there were beside the producer's, and whether
/// a consumer had the producer's.
fn of_run(run: &Run) -> Vec<(usize, bool)> {
    let one_process = run.condition.is_in_process();
    run.gave
        .buffers
        .iter()
        .filter_map(|given| {
            let own = place(given, 0);
            let taken: Option<BTreeSet<_>> = run
                .took
                .iter()
                .zip(1..)
                .map(|(took, process)| {
                    let taken = took.buffers.iter().find(|one| one.number == given.number)?;
                    Some(place(taken, if one_process { 0 } else { process }))
                })
                .collect();
            let taken = taken.filter(|all| !all.is_empty())?;
            let matches = taken.contains(&own);
            Some((taken.len() - usize::from(matches), matches))
        })
        .collect()
}

/// What tells a buffer from all others: an address says something within its process only, a place in a
/// file everywhere.
fn place(buffer: &Buffer, process: usize) -> (String, u64) {
    let of = if buffer.file.is_empty() { process.to_string() } else { buffer.file.clone() };
    (of, buffer.at)
}
