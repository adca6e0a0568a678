//! Which numbers of a writer are known, as runs without gaps.

use hopwatch_model::Ns;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

/// No writer counts as far as this. Beyond it, differences would not fit.
pub(super) const HIGHEST: i64 = 1 << 60;

/// What is remembered of a message at the edge of a run: evidence of how its neighbour was lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Edge {
    /// Its written stamp.
    pub(super) written: Option<Ns>,
    /// How long it waited in the reader's history: taken − received.
    pub(super) waited: Option<Ns>,
}

/// Numbers that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// The last of them.
    pub(super) end: i64,
    pub(super) first: Edge,
    pub(super) last: Edge,
}

/// Numbers that are known, as disjoint runs by their start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Numbers(BTreeMap<i64, Run>);

impl Numbers {
    pub(super) fn contains(&self, number: i64) -> bool {
        self.0.range(..=number).next_back().is_some_and(|(_, run)| run.end >= number)
    }

    /// Takes a number in that isn't known yet.
    pub(super) fn insert(&mut self, number: i64, edge: Edge) {
        let after = self.0.remove(&(number + 1));
        let (end, last) = after.map_or((number, edge), |run| (run.end, run.last));
        match self.0.range_mut(..number).next_back() {
            Some((_, run)) if run.end == number - 1 => (run.end, run.last) = (end, last),
            _ => drop(self.0.insert(number, Run { end, first: edge, last })),
        }
    }

    /// Takes in all that `other` knows.
    pub(super) fn merge(&mut self, other: &Self) {
        let mut all: Vec<(i64, Run)> = self.runs().chain(other.runs()).collect();
        all.sort_by_key(|(start, run)| (*start, run.end));
        self.0.clear();
        for (start, run) in all {
            match self.0.last_entry() {
                Some(mut known) if known.get().end >= start - 1 => {
                    if known.get().end < run.end {
                        let known = known.get_mut();
                        (known.end, known.last) = (run.end, run.last);
                    }
                }
                _ => drop(self.0.insert(start, run)),
            }
        }
    }

    pub(super) fn first(&self) -> Option<i64> {
        self.0.keys().next().copied()
    }

    pub(super) fn last(&self) -> Option<i64> {
        self.0.values().next_back().map(|run| run.end)
    }

    /// How many lie between two numbers, both of them included.
    pub(super) fn between(&self, from: i64, to: i64) -> u64 {
        if from > to {
            return 0;
        }
        let before = self.0.range(..from).next_back();
        let runs = before.into_iter().chain(self.0.range(from..=to));
        let within = runs.map(|(start, run)| run.end.min(to) - (*start).max(from) + 1);
        within.map(|n| u64::try_from(n).unwrap_or(0)).sum()
    }

    /// The runs in order, by their start.
    pub(super) fn runs(&self) -> impl Iterator<Item = (i64, Run)> {
        self.0.iter().map(|(start, run)| (*start, *run))
    }
}

/// (start, end, first, last): JSON has text keys only.
impl Serialize for Numbers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.runs().map(|(start, r)| (start, r.end, r.first, r.last)))
    }
}

impl<'de> Deserialize<'de> for Numbers {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let runs = Vec::<(i64, i64, Edge, Edge)>::deserialize(from)?;
        Ok(runs
            .into_iter()
            .map(|(start, end, first, last)| (start, Run { end, first, last }))
            .collect())
    }
}

impl FromIterator<(i64, Run)> for Numbers {
    /// Runs that are turned round, or of numbers that nobody counts to, hold nothing.
    fn from_iter<I: IntoIterator<Item = (i64, Run)>>(runs: I) -> Self {
        let mut numbers = Self::default();
        let holds = |(start, run): &(i64, Run)| {
            *start >= -HIGHEST && run.end <= HIGHEST && run.end >= *start
        };
        numbers.merge(&Self(runs.into_iter().filter(holds).collect()));
        numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn edge(number: i64) -> Edge {
        Edge { written: Some(number), waited: None }
    }

    proptest! {
        /// Whatever the order, the runs hold what was put in, and remember their own edges.
        #[test]
        fn runs_hold_what_was_put_in(
            put in prop::collection::vec(-40i64..40, 0..80),
            split in any::<prop::sample::Index>(),
        ) {
            let mut parts = [Numbers::default(), Numbers::default()];
            let at = split.index(put.len() + 1);
            for (i, number) in put.iter().enumerate() {
                let part = &mut parts[usize::from(i >= at)];
                if !part.contains(*number) {
                    part.insert(*number, edge(*number));
                }
            }
            let [mut all, rest] = parts;
            all.merge(&rest);
            let expected: BTreeSet<i64> = put.into_iter().collect();
            let held: Vec<i64> = all.runs().flat_map(|(start, run)| start..=run.end).collect();
            for (from, to) in [(-40, 40), (-7, 9), (3, 3), (5, 4)] {
                let within = expected.iter().filter(|n| (from..=to).contains(*n)).count();
                prop_assert_eq!(all.between(from, to), u64::try_from(within).unwrap());
            }
            prop_assert_eq!(held, expected.into_iter().collect::<Vec<_>>());
            let mut before = None;
            for (start, run) in all.runs() {
                prop_assert_eq!((run.first, run.last), (edge(start), edge(run.end)));
                prop_assert!(before.is_none_or(|end| end + 1 < start));
                before = Some(run.end);
            }
            let text = serde_json::to_string(&all).unwrap();
            prop_assert_eq!(serde_json::from_str::<Numbers>(&text).unwrap(), all);
        }
    }
}
