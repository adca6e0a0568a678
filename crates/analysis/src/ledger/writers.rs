//! Who published what: writers and their numbers, robots and their starts.
//!
//! A writer is matched to the start of a robot (its census instance) whose schedule its first
//! message fits best. Instances and writers that belong together make a **group**: usually one of
//! each; several writers of one robot, or one writer for several robots, are one group as well. The
//! messages of a group are counted once, by its instances or by its writers' numbers, whichever
//! knows of more.

use super::numbers::{HIGHEST, Numbers};
use hopwatch_model::census::{SEQUENCE_PERIOD, sequence_ahead};
use hopwatch_model::{Census, ClockId, Hop, Ns, PublisherId, Trace};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What numbers the messages: a DDS writer, or where the middleware doesn't number, a robot's
/// header for each of its writers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum Writer {
    Dds(PublisherId),
    Header(PublisherId, String),
}

impl Writer {
    fn publisher(&self) -> PublisherId {
        match self {
            Self::Dds(publisher) | Self::Header(publisher, _) => *publisher,
        }
    }

    /// The writer of a message, and the number that it gave it.
    pub(super) fn of(trace: &Trace) -> (Self, Option<i64>) {
        match trace.publication_sequence {
            Some(n) => {
                (Self::Dds(trace.publisher), Some(i64::try_from(n).unwrap_or(HIGHEST).min(HIGHEST)))
            }
            None => (Self::Header(trace.publisher, trace.robot_id.clone()), None),
        }
    }
}

/// What is known of a writer's messages.
#[derive(Clone, Debug, Default)]
pub(super) struct Written {
    /// The robots that it speaks for.
    pub(super) robots: BTreeMap<String, Life>,
    /// The numbers whose outcome is known, by the gateway that told it.
    pub(super) by_gateway: BTreeMap<String, Numbers>,
    /// Numbers of messages that are no part of what is counted.
    pub(super) elsewhere: Numbers,
}

impl Written {
    /// The number of a message that only its header numbers; headers begin at 0, writers at 1.
    /// A sequence that began anew goes on after the last one known.
    pub(super) fn header_number(&self, sequence: i32) -> i64 {
        let plain = i64::from(sequence) + 1;
        self.last().map_or(plain, |last| last + sequence_ahead(plain, last))
    }

    pub(super) fn contains(&self, number: i64) -> bool {
        let known = |numbers: &Numbers| numbers.contains(number);
        self.by_gateway.values().any(known) || known(&self.elsewhere)
    }

    pub(super) fn first(&self) -> Option<i64> {
        self.by_gateway.values().filter_map(Numbers::first).min()
    }

    pub(super) fn last(&self) -> Option<i64> {
        self.by_gateway.values().filter_map(Numbers::last).max()
    }

    /// From the first number known to the last, gaps included.
    pub(super) fn span(&self) -> u64 {
        self.first().zip(self.last()).map_or(0, |(first, last)| self.counted(first, last))
    }

    /// How many messages that count have these numbers, both ends included.
    pub(super) fn counted(&self, from: i64, to: i64) -> u64 {
        count(to - from + 1) - self.elsewhere.between(from, to)
    }
}

/// When a robot was heard of through one writer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Life {
    first: Option<Mark>,
    last_ns: Option<Ns>,
}

/// The first message of a life.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Mark {
    ns: Ns,
    sequence: i32,
    published: Option<(String, Ns)>,
}

impl Life {
    pub(super) fn observe(&mut self, trace: &Trace) {
        let stamp = |hop| trace.stamps.get(hop);
        let Some(written) = stamp(Hop::Written).or_else(|| stamp(Hop::Taken)) else { return };
        if self.first.as_ref().is_none_or(|first| written.ns <= first.ns) {
            let published = stamp(Hop::Published).map(|s| (s.clock.to_string(), s.ns));
            self.merge(&Self {
                first: Some(Mark { ns: written.ns, sequence: trace.sequence, published }),
                last_ns: None,
            });
        }
        self.last_ns = self.last_ns.max(Some(written.ns));
    }

    pub(super) fn merge(&mut self, other: &Self) {
        let first = [self.first.take(), other.first.clone()];
        self.first = first.into_iter().flatten().min();
        self.last_ns = self.last_ns.max(other.last_ns);
    }

    /// From the first message to the last.
    fn span(&self) -> Option<(Ns, Ns)> {
        let first = self.first.as_ref()?.ns;
        Some((first, self.last_ns.unwrap_or(first)))
    }
}

/// Instances and writers that belong together.
pub(super) struct Group<'a> {
    /// None of a foreign robot, which sends no census.
    pub(super) instances: Vec<&'a Census>,
    pub(super) writers: Vec<(&'a Writer, &'a Written)>,
}

impl Group<'_> {
    /// How many messages are known to have been published.
    pub(super) fn published(&self) -> u64 {
        // The census comes a little behind the messages themselves.
        self.counted().max(self.reached())
    }

    fn counted(&self) -> u64 {
        total(self.instances.iter().map(|census| census.published))
    }

    /// By the writers' numbers: all up to the last one known.
    fn reached(&self) -> u64 {
        total(self.writers.iter().flat_map(|(writer, w)| [self.before(writer, w), w.span()]))
    }

    /// Published after the last message known of each writer.
    pub(super) fn rest(&self) -> u64 {
        self.published() - self.reached()
    }

    /// Published before the first message known of a writer. Of a foreign robot, nobody knows
    /// whether they were.
    pub(super) fn before(&self, writer: &Writer, written: &Written) -> u64 {
        let (Some(first), Some(census)) = (written.first(), self.instances.first()) else {
            return 0;
        };
        match writer {
            Writer::Dds(_) => count(first - 1),
            Writer::Header(..) => {
                let sequence = first - 1 - i64::from(census.first_sequence);
                // The robot's word on where it began can't make it publish more than it did.
                let room = self.counted().saturating_sub(written.span());
                count(sequence.rem_euclid(SEQUENCE_PERIOD)).min(room)
            }
        }
    }

    /// Whether more may have been published than is known.
    pub(super) fn is_open(&self) -> bool {
        !self.instances.iter().all(|census| census.last) || !self.uncounted().is_empty()
    }

    /// Robots without a census.
    pub(super) fn uncounted(&self) -> Vec<&str> {
        let robots = self.writers.iter().flat_map(|(_, w)| w.robots.keys().map(String::as_str));
        let counted = |robot: &&str| !self.instances.iter().any(|c| c.robot_id == *robot);
        let mut robots: Vec<&str> = robots.filter(counted).collect();
        robots.sort_unstable();
        robots.dedup();
        if self.instances.is_empty() && robots.is_empty() { vec!["a writer"] } else { robots }
    }
}

/// One start of a robot, and when it was heard of.
struct Start<'a> {
    /// Its name in a sentence.
    name: String,
    counted: bool,
    robot: &'a str,
    heard: Option<(Ns, Ns)>,
}

/// All that is known of who published what.
pub(super) struct Robots<'a> {
    pub(super) groups: Vec<Group<'a>>,
    starts: Vec<Start<'a>>,
}

impl<'a> Robots<'a> {
    pub(super) fn of(
        writers: &'a BTreeMap<Writer, Written>,
        census: impl Iterator<Item = &'a Census>,
    ) -> Self {
        let instances: Vec<&Census> = census.collect();
        let mut starts: Vec<Start<'_>> = instances
            .iter()
            .map(|c| Start {
                name: format!("instance {}", c.instance),
                counted: true,
                robot: &c.robot_id,
                heard: None,
            })
            .collect();
        // The group of each instance; groups are joined by writers that speak for several.
        let mut group_of: Vec<usize> = (0..instances.len()).collect();
        let mut belongs: Vec<Option<usize>> = Vec::new();
        // How many writers each instance was heard through.
        let mut heard = vec![0_u32; instances.len()];
        for (writer, written) in writers {
            let mut matched = Vec::new();
            for (robot, life) in &written.robots {
                let earlier =
                    |other: &Written| other.robots.get(robot).is_some_and(|l| l.first < life.first);
                let nth = || writers.values().filter(|other| earlier(other)).count();
                let instance = instance_of(&instances, robot, life, nth);
                let start = if let Some(at) = instance {
                    matched.push(at);
                    &mut starts[at]
                } else {
                    starts.push(Start {
                        name: format!("writer {}", writer.publisher()),
                        counted: false,
                        robot,
                        heard: None,
                    });
                    let last = starts.len() - 1;
                    &mut starts[last]
                };
                start.heard = match (start.heard, life.span()) {
                    (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
                    (known, new) => known.or(new),
                };
            }
            let joined: Vec<usize> = matched.iter().map(|at| group_of[*at]).collect();
            let into = joined.iter().min().copied();
            if let Some(into) = into {
                group_of.iter_mut().filter(|g| joined.contains(g)).for_each(|g| *g = into);
            }
            belongs.push(matched.first().copied());
            for at in matched {
                heard[at] += 1;
            }
        }
        // Starts so close that a writer may have been matched to the wrong one: together they are
        // right.
        for (at, _) in heard.iter().enumerate().filter(|(_, writers)| **writers > 1) {
            for (other, _) in heard.iter().enumerate().filter(|(_, writers)| **writers == 0) {
                if instances[at].robot_id == instances[other].robot_id {
                    let (from, into) = (group_of[other], group_of[at]);
                    group_of.iter_mut().filter(|g| **g == from).for_each(|g| *g = into);
                }
            }
        }
        let mut groups: BTreeMap<usize, Group<'_>> = BTreeMap::new();
        let empty = || Group { instances: Vec::new(), writers: Vec::new() };
        for (at, census) in instances.iter().enumerate() {
            groups.entry(group_of[at]).or_insert_with(empty).instances.push(census);
        }
        let mut foreign = Vec::new();
        for (writer, belongs) in writers.iter().zip(belongs) {
            match belongs {
                Some(at) => {
                    groups.entry(group_of[at]).or_insert_with(empty).writers.push(writer);
                }
                None => foreign.push(Group { instances: Vec::new(), writers: vec![writer] }),
            }
        }
        Self { groups: groups.into_values().chain(foreign).collect(), starts }
    }

    /// How often a robot started after an earlier start had ended; with what is to be said.
    pub(super) fn restarts(&self, notes: &mut Vec<String>) -> u64 {
        let mut by_robot: BTreeMap<&str, Vec<(Ns, Ns, &Start<'_>)>> = BTreeMap::new();
        for start in &self.starts {
            if let Some((begun, ended)) = start.heard {
                by_robot.entry(start.robot).or_default().push((begun, ended, start));
            }
        }
        let mut all = 0;
        for (robot, mut lives) in by_robot {
            lives.sort_by_key(|(begun, ended, start)| (*begun, *ended, start.name.clone()));
            let mut restarts = 0_u64;
            let mut longest = 0;
            for at in 1..lives.len() {
                if lives[longest].1 < lives[at].0 {
                    restarts += 1;
                } else {
                    notes.push(at_once(robot, lives[longest].2, lives[at].2));
                }
                if lives[at].1 > lives[longest].1 {
                    longest = at;
                }
            }
            if restarts > 0 {
                let times =
                    if restarts == 1 { "once".to_owned() } else { format!("{restarts} times") };
                notes.push(format!("{robot} restarted {times}: each start counts by itself"));
            }
            all += restarts;
        }
        all
    }
}

fn at_once(robot: &str, one: &Start<'_>, other: &Start<'_>) -> String {
    let (a, b) = (&one.name, &other.name);
    if one.counted && other.counted {
        format!(
            "two robots call themselves {robot} at the same time, {a} and {b}: each is counted by \
             itself; give each an id of its own"
        )
    } else {
        format!(
            "{robot} is heard from {a} and {b} at the same time: two robots with one id, or one \
             robot with two publishers"
        )
    }
}

/// The instance of `robot` that a life through a writer belongs to: the one whose schedule its
/// first message fits best, or where clocks differ, the one that began as the `nth`.
fn instance_of(
    instances: &[&Census],
    robot: &str,
    life: &Life,
    nth: impl Fn() -> usize,
) -> Option<usize> {
    let of_robot = instances.iter().enumerate().filter(|(_, c)| c.robot_id == robot);
    let mut candidates: Vec<(usize, &Census)> = of_robot.map(|(at, c)| (at, *c)).collect();
    if candidates.len() < 2 {
        return candidates.first().map(|(at, _)| *at);
    }
    let late = |census: &Census| {
        let first = life.first.as_ref()?;
        let (clock, published) = first.published.as_ref()?;
        if census.clock != ClockId::new(clock.as_str()) {
            return None;
        }
        let due = census.intended_ns(first.sequence, *published)?;
        Some(published.abs_diff(due))
    };
    let fits = candidates.iter().filter_map(|(at, census)| Some((late(census)?, *at)));
    if let Some((_, best)) = fits.min() {
        return Some(best);
    }
    candidates.sort_by_key(|(_, census)| (census.schedule_start_ns, &census.instance));
    candidates.get(nth()).or(candidates.last()).map(|(at, _)| *at)
}

/// A sum, or the largest number there is: records may say anything.
pub(super) fn total(counts: impl IntoIterator<Item = u64>) -> u64 {
    counts.into_iter().fold(0, u64::saturating_add)
}

/// Adds, up to the largest number there is: records may say anything.
pub(super) fn add(sum: &mut u64, more: u64) {
    *sum = sum.saturating_add(more);
}

pub(super) fn count(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}
