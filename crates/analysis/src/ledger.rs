//! The ledger, put together from four independent sources: the robots' census, DDS' numbering
//! of each writer's messages, the gateway's outcomes and the gateway's counters.

use hopwatch_model::{
    Census, Failure, GatewayCounters, Ledger, Outcome, PublishedSource, PublisherId, REORDERED,
    Stage, Trace,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Takes in what becomes known of one lane, in any order, and gives the account at any moment.
#[derive(Clone, Debug, Default)]
pub struct LedgerBuilder {
    writers: BTreeMap<Writer, Sequence>,
    census: BTreeMap<(String, String), Census>,
    outcomes: BTreeMap<Outcome, u64>,
    counters: Option<GatewayCounters>,
    duplicates: u64,
    reordered: u64,
}

/// The account of messages whose traces are no longer kept: enough to go on counting.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Account {
    writers: Vec<(Writer, Sequence)>,
    outcomes: Vec<(Outcome, u64)>,
    duplicates: u64,
    reordered: u64,
}

impl Account {
    /// How many messages it is of, duplicates included.
    pub fn messages(&self) -> u64 {
        self.outcomes.iter().map(|(_, n)| n).sum::<u64>() + self.duplicates
    }
}

/// What numbers the messages: a DDS writer, or where the middleware doesn't number, a robot.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Writer {
    Dds(PublisherId),
    Header(String),
}

/// The numbers seen of one writer.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Sequence {
    robots: BTreeSet<String>,
    first: i64,
    last: i64,
    /// Numbers between first and last that are still missing, as disjoint ranges by their start.
    #[serde(with = "pairs")]
    gaps: BTreeMap<i64, i64>,
}

/// A map as a list of pairs: JSON has text keys only.
mod pairs {
    use serde::{Deserialize, Deserializer, Serializer};
    use std::collections::BTreeMap;

    pub(super) fn serialize<S: Serializer>(
        map: &BTreeMap<i64, i64>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(map)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<i64, i64>, D::Error> {
        Ok(Vec::<(i64, i64)>::deserialize(deserializer)?.into_iter().collect())
    }
}

impl Sequence {
    fn new(number: i64) -> Self {
        Self { robots: BTreeSet::new(), first: number, last: number, gaps: BTreeMap::new() }
    }

    /// False when the number was seen before.
    fn observe(&mut self, number: i64) -> bool {
        if number > self.last {
            if number > self.last + 1 {
                self.gaps.insert(self.last + 1, number - 1);
            }
            self.last = number;
            return true;
        }
        if number < self.first {
            if number < self.first - 1 {
                self.gaps.insert(number + 1, self.first - 1);
            }
            self.first = number;
            return true;
        }
        let gap = self.gaps.range(..=number).next_back().map(|(from, to)| (*from, *to));
        match gap {
            Some((from, to)) if number <= to => {
                self.gaps.remove(&from);
                if from < number {
                    self.gaps.insert(from, number - 1);
                }
                if number < to {
                    self.gaps.insert(number + 1, to);
                }
                true
            }
            _ => false,
        }
    }

    fn missing(&self) -> u64 {
        self.gaps.iter().map(|(from, to)| count(to - from + 1)).sum()
    }
}

fn count(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}

impl LedgerBuilder {
    /// Nothing known yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A message that the gateway took, with its outcome. False for one that was taken before:
    /// it is counted as a duplicate and has no part in the figures.
    pub fn observe_trace(&mut self, trace: &Trace) -> bool {
        let (writer, number) = match trace.publication_sequence {
            Some(n) => (Writer::Dds(trace.publisher), i64::try_from(n).unwrap_or(i64::MAX - 1)),
            // Header sequences begin at 0, writers' numbers at 1.
            None => (Writer::Header(trace.robot_id.clone()), i64::from(trace.sequence) + 1),
        };
        let mut fresh = true;
        let sequence = self
            .writers
            .entry(writer)
            .and_modify(|sequence| fresh = sequence.observe(number))
            .or_insert_with(|| Sequence::new(number));
        if trace.outcome != Outcome::Undecodable && !sequence.robots.contains(&trace.robot_id) {
            sequence.robots.insert(trace.robot_id.clone());
        }
        if fresh {
            *self.outcomes.entry(trace.outcome).or_default() += 1;
            self.reordered += u64::from(trace.oddities.contains(&REORDERED));
        } else {
            self.duplicates += 1;
        }
        fresh
    }

    /// What is known of messages, without their traces.
    pub fn account(&self) -> Account {
        Account {
            writers: self.writers.clone().into_iter().collect(),
            outcomes: self.outcomes.clone().into_iter().collect(),
            duplicates: self.duplicates,
            reordered: self.reordered,
        }
    }

    /// Goes on from an account; nothing must have been observed yet.
    pub fn observe_account(&mut self, account: &Account) {
        self.writers.extend(account.writers.iter().cloned());
        self.outcomes.extend(account.outcomes.iter().copied());
        self.duplicates += account.duplicates;
        self.reordered += account.reordered;
    }

    /// A robot's own count; the largest of an instance stands.
    pub fn observe_census(&mut self, census: &Census) {
        let key = (census.robot_id.clone(), census.instance.clone());
        let known = self.census.entry(key).or_insert_with(|| census.clone());
        if (census.published, census.last) >= (known.published, known.last) {
            *known = census.clone();
        }
    }

    /// The gateway's counters; the latest stand.
    pub fn observe_counters(&mut self, counters: &GatewayCounters) {
        if self.counters.as_ref().is_none_or(|known| {
            (counters.taken, counters.finished, counters.last)
                >= (known.taken, known.finished, known.last)
        }) {
            self.counters = Some(counters.clone());
        }
    }

    /// The robots' own counts, the latest of each instance.
    pub fn census(&self) -> impl Iterator<Item = &Census> {
        self.census.values()
    }

    /// The gateway's counters, the latest.
    pub fn counters(&self) -> Option<&GatewayCounters> {
        self.counters.as_ref()
    }

    /// Whether nothing can follow: every robot with a census has said so, and the gateway has
    /// finished what it took.
    pub fn is_over(&self) -> bool {
        !self.census.is_empty()
            && self.census.values().all(|census| census.last)
            && self.counters.as_ref().is_some_and(|c| c.queued + c.working == 0)
            && self.seen() == self.counters.as_ref().map_or(0, |c| c.taken)
    }

    /// Messages of which an outcome is known, duplicates included.
    fn seen(&self) -> u64 {
        self.outcomes.values().sum::<u64>() + self.duplicates
    }

    /// The account. With `ended`, what is still unaccounted for was lost in ROS, and the gateway
    /// must have told its last counters; otherwise it is in flight.
    pub fn ledger(&self, ended: bool) -> Ledger {
        self.ledger_of(ended, ended)
    }

    /// The account while the gateway runs: as of an ended run once nothing can follow.
    pub fn ledger_now(&self) -> Ledger {
        self.ledger_of(self.is_over(), false)
    }

    fn ledger_of(&self, ended: bool, stopped: bool) -> Ledger {
        let mut notes = Vec::new();
        let mut writers = self.writers(&mut notes);
        let known: u64 = self.outcomes.values().sum();
        let held = self.counters.as_ref().map_or(0, |c| c.queued + c.working);
        if !ended {
            // A hole in the outcomes may be a message that is still worked on: as long as
            // messages are on their way, only the tap knows what was really missed.
            let missed = self.counters.as_ref().map_or(0, |c| c.missed);
            writers.gaps = writers.gaps.min(missed);
        }
        let named = writers.before + writers.gaps + known;
        // What robots without a census published is known by what was taken of them; the
        // gateway holds some of it still.
        if writers.source != PublishedSource::Census && !ended {
            writers.published = writers.published.max(named + held);
        }
        let rest = writers.published.saturating_sub(named);
        let mut reconciles = writers.published >= named;
        if !reconciles {
            notes.push(format!(
                "{} messages are accounted for, but only {} were published",
                named, writers.published
            ));
        }
        let in_flight = if ended { rest.min(held) } else { rest };
        if ended {
            reconciles &= self.check_counters(stopped, &mut notes);
        }
        let failed = |stage| {
            let of_stage = |(outcome, n): (&Outcome, &u64)| match outcome {
                Outcome::ServiceFailed(s, failure) if *s == stage => Some((*failure, *n)),
                _ => None,
            };
            self.outcomes.iter().filter_map(of_stage).collect::<BTreeMap<Failure, u64>>()
        };
        let of = |outcome| self.outcomes.get(&outcome).copied().unwrap_or(0);
        Ledger {
            published: writers.published,
            published_source: writers.source,
            lost_before_discovery: writers.before,
            lost_in_ros: writers.gaps + (rest - in_flight),
            queue_dropped: of(Outcome::QueueDropped),
            undecodable: of(Outcome::Undecodable),
            ai_failed: failed(Stage::Ai),
            web_failed: failed(Stage::Web),
            abandoned: of(Outcome::Abandoned),
            delivered: of(Outcome::Delivered),
            in_flight,
            duplicates: self.duplicates,
            reordered: self.reordered,
            reconciles,
            notes,
        }
    }

    /// The gateway's own counters against the outcomes that arrived. Of a gateway that has
    /// stopped, they must be its last ones.
    fn check_counters(&self, stopped: bool, notes: &mut Vec<String>) -> bool {
        let Some(c) = &self.counters else {
            if stopped && self.seen() > 0 {
                notes.push("the gateway's counters never arrived".to_owned());
            }
            return !stopped || self.seen() == 0;
        };
        let told = self.seen() + c.queued + c.working;
        if c.records_dropped > 0 {
            notes.push(format!(
                "the gateway could not deliver {} of its records to the collector",
                c.records_dropped
            ));
        }
        if stopped && !c.last {
            notes.push(
                "the gateway's last counters did not arrive: that it told of every message can't \
                 be checked"
                    .to_owned(),
            );
            return false;
        }
        if c.taken == told {
            return true;
        }
        notes.push(format!(
            "the gateway took {} messages, but the outcome of {} is known",
            c.taken,
            self.seen()
        ));
        false
    }

    fn writers(&self, notes: &mut Vec<String>) -> Totals {
        let mut all = Totals::default();
        let mut sources = BTreeSet::new();
        let mut counted: BTreeMap<&str, u64> = BTreeMap::new();
        for census in self.census.values() {
            *counted.entry(&census.robot_id).or_default() += census.published;
            if census.failed > 0 {
                notes.push(format!(
                    "{} could not publish {} messages: publish() refused them",
                    census.robot_id, census.failed
                ));
            }
        }
        // A writer's messages are its robot's; a writer of several robots (or none that could be
        // decoded) is no robot's of the census.
        let mut by_robot: BTreeMap<&str, Vec<&Sequence>> = BTreeMap::new();
        let mut foreign = Vec::new();
        for (writer, sequence) in &self.writers {
            all.gaps += sequence.missing();
            match sequence.robots.iter().next() {
                Some(robot) if sequence.robots.len() == 1 && counted.contains_key(&**robot) => {
                    by_robot.entry(robot).or_default().push(sequence);
                }
                _ => foreign.push((writer, sequence)),
            }
        }
        for (robot, published) in counted {
            sources.insert(PublishedSource::Census);
            let sequences = by_robot.remove(robot).unwrap_or_default();
            all.before += sequences.iter().map(|s| count(s.first - 1)).sum::<u64>();
            // The census comes a little behind the messages themselves.
            all.published += published.max(sequences.iter().map(|s| count(s.last)).sum());
        }
        for (writer, sequence) in foreign {
            sources.insert(match writer {
                Writer::Dds(_) => PublishedSource::PublicationSequence,
                Writer::Header(_) => PublishedSource::HeaderSequence,
            });
            all.published += count(sequence.last - sequence.first + 1);
            let robots: Vec<&str> = sequence.robots.iter().map(String::as_str).collect();
            let name = if robots.is_empty() { "a writer".to_owned() } else { robots.join(", ") };
            if matches!(writer, Writer::Dds(_)) && sequence.first > 1 {
                notes.push(format!(
                    "{name} had published {} messages before the first one was taken: not counted",
                    sequence.first - 1
                ));
            }
            notes.push(format!(
                "{name} sends no census: what it published after the last message taken can't be \
                 known"
            ));
        }
        all.source = sources.last().copied().unwrap_or(PublishedSource::Nothing);
        all
    }
}

struct Totals {
    published: u64,
    source: PublishedSource,
    before: u64,
    gaps: u64,
}

impl Default for Totals {
    fn default() -> Self {
        Self { published: 0, source: PublishedSource::Nothing, before: 0, gaps: 0 }
    }
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
