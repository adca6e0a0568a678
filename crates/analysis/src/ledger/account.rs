//! What is known of messages whose traces are no longer kept: enough to go on counting.

use super::numbers::{Edge, Numbers, Run};
use super::writers::{Life, Writer, Written, add};
use hopwatch_model::{Ns, Outcome, PublisherId};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The account of messages whose traces are no longer kept.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Account {
    /// As versions before gateways were told apart wrote it.
    #[serde(default, skip_serializing)]
    writers: Vec<(OldWriter, Sequence)>,
    #[serde(default)]
    numbers: Vec<NumbersOf>,
    #[serde(default)]
    gateways: Vec<GatewayOf>,
    outcomes: Vec<(Outcome, u64)>,
    duplicates: u64,
    #[serde(default)]
    duplicate_ids: u64,
    reordered: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct NumbersOf {
    writer: Writer,
    robots: Vec<(String, Life)>,
    by_gateway: Vec<(String, Numbers)>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct GatewayOf {
    gateway: String,
    seen: u64,
    taken: Option<(Ns, Ns)>,
}

#[derive(Clone, Debug, Deserialize)]
enum OldWriter {
    Dds(PublisherId),
    Header(String),
}

#[derive(Clone, Debug, Deserialize)]
struct Sequence {
    robots: BTreeSet<String>,
    first: i64,
    last: i64,
    gaps: Vec<(i64, i64)>,
}

impl Sequence {
    fn numbers(&self) -> Numbers {
        let mut start = self.first;
        let mut runs = Vec::new();
        let edge = Edge::default();
        for (from, to) in &self.gaps {
            runs.push((start, Run { end: from.saturating_sub(1), first: edge, last: edge }));
            start = to.saturating_add(1);
        }
        runs.push((start, Run { end: self.last, first: edge, last: edge }));
        runs.into_iter().collect()
    }
}

impl Account {
    /// The numbers of the messages, by who numbered them.
    pub(super) fn numbers(&self) -> impl Iterator<Item = (&Writer, &Numbers)> {
        self.numbers
            .iter()
            .flat_map(|of| of.by_gateway.iter().map(move |(_, numbers)| (&of.writer, numbers)))
    }

    /// How many messages it is of, duplicates included.
    pub fn messages(&self) -> u64 {
        self.outcomes.iter().map(|(_, n)| *n).fold(self.duplicates, u64::saturating_add)
    }
}

impl super::LedgerBuilder {
    /// What is known of messages, without their traces.
    pub fn account(&self) -> Account {
        Account {
            writers: Vec::new(),
            numbers: self
                .writers
                .iter()
                .map(|(writer, written)| NumbersOf {
                    writer: writer.clone(),
                    robots: written.robots.clone().into_iter().collect(),
                    by_gateway: written.by_gateway.clone().into_iter().collect(),
                })
                .collect(),
            gateways: self
                .gateways
                .iter()
                .map(|(name, gateway)| GatewayOf {
                    gateway: name.clone(),
                    seen: gateway.seen,
                    taken: gateway.taken,
                })
                .collect(),
            outcomes: self.outcomes.clone().into_iter().collect(),
            duplicates: self.duplicates,
            duplicate_ids: self.duplicate_ids,
            reordered: self.reordered,
        }
    }

    /// Takes an account in.
    pub fn observe_account(&mut self, account: &Account) {
        for (writer, sequence) in &account.writers {
            let writer = match writer {
                OldWriter::Dds(publisher) => Writer::Dds(*publisher),
                OldWriter::Header(robot) => Writer::Header(PublisherId([0; 16]), robot.clone()),
            };
            let written = self.writers.entry(writer).or_default();
            for robot in &sequence.robots {
                written.robots.entry(robot.clone()).or_default();
            }
            written.by_gateway.entry(String::new()).or_default().merge(&sequence.numbers());
        }
        for of in &account.numbers {
            let written: &mut Written = self.writers.entry(of.writer.clone()).or_default();
            for (robot, life) in &of.robots {
                written.robots.entry(robot.clone()).or_default().merge(life);
            }
            for (gateway, numbers) in &of.by_gateway {
                written.by_gateway.entry(gateway.clone()).or_default().merge(numbers);
            }
        }
        let outcomes: BTreeMap<Outcome, u64> = account.outcomes.iter().copied().collect();
        for (outcome, n) in &outcomes {
            add(self.outcomes.entry(*outcome).or_default(), *n);
        }
        for of in &account.gateways {
            let gateway = self.gateways.entry(of.gateway.clone()).or_default();
            add(&mut gateway.seen, of.seen);
            for ns in of.taken.into_iter().flat_map(|(first, last)| [first, last]) {
                gateway.took_at(ns);
            }
        }
        if !account.writers.is_empty() {
            add(&mut self.gateways.entry(String::new()).or_default().seen, account.messages());
        }
        add(&mut self.duplicates, account.duplicates);
        add(&mut self.duplicate_ids, account.duplicate_ids);
        add(&mut self.reordered, account.reordered);
    }
}
