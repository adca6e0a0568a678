//! What remains of each message of a lane in memory: enough for the figures of a long time.

use hopwatch_analysis::Decomposition;
use hopwatch_model::{Class, Hop, Ns, Outcome, Trace, TraceId};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Samples are kept, copied and forgotten in pieces of so many.
const PIECE: usize = 4096;
/// A robot whose name has no place in the table any more.
const OTHER: u16 = u16::MAX;
/// A clock is placed anew only when it is off by more: what is shown must not shake.
const SHAKE: Ns = 50_000_000;
const MS: Ns = 1_000_000;

/// One message that was taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sample {
    pub(crate) id: TraceId,
    /// When its record came, in ns since the collector's start. It grows from one to the next.
    pub(crate) arrived: Ns,
    taken: Ns,
    clock: u16,
    robot: u16,
    pub(crate) outcome: Outcome,
    /// Of one that went the whole way.
    pub(crate) times: Option<Times>,
}

/// Where its time went, in ns: one clock measured each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Times {
    pub(crate) ai: Ns,
    pub(crate) transport: Ns,
    pub(crate) overhead: Ns,
    pub(crate) total: Ns,
}

impl Times {
    pub(crate) fn of(parts: &Decomposition) -> Option<Self> {
        Some(Self {
            ai: parts.class_ns(Class::Ai),
            transport: parts.class_ns(Class::Transport),
            overhead: parts.class_ns(Class::Overhead),
            total: parts.pipeline_ns?,
        })
    }
}

/// Where the gateways' clocks lie on the collector's.
///
/// A record comes some time after the take: how long is at least nothing, so the shortest one seen
/// is taken for nothing. It is for the axis of a chart, which it may shift by the gateway's own
/// collecting of records; no figure is made of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Axis {
    names: HashMap<String, u16>,
    ahead: Vec<Ns>,
}

impl Axis {
    fn observe(&mut self, clock: &str, taken: Ns, arrived: Ns) -> u16 {
        let ahead = arrived.saturating_sub(taken);
        if let Some(index) = self.names.get(clock) {
            let known = &mut self.ahead[usize::from(*index)];
            if ahead < known.saturating_sub(SHAKE) {
                *known = ahead;
            }
            return *index;
        }
        // More clocks than that are no gateways'.
        let index = u16::try_from(self.ahead.len().min(usize::from(OTHER) - 1)).unwrap_or(0);
        if usize::from(index) == self.ahead.len() {
            self.ahead.push(ahead);
            self.names.insert(clock.to_owned(), index);
        }
        index
    }

    /// When a message was taken, in ms since the collector's start; before it: negative.
    pub(crate) fn at_ms(&self, trace: &Trace) -> i64 {
        let Some(taken) = trace.stamps.get(Hop::Taken) else { return 0 };
        let ahead = self.names.get(taken.clock.as_str()).map(|i| self.ahead[usize::from(*i)]);
        taken.ns.saturating_add(ahead.unwrap_or(0)).div_euclid(MS)
    }

    /// The same of a sample.
    pub(crate) fn of(&self, sample: &Sample) -> i64 {
        self.ns(sample).div_euclid(MS)
    }

    /// The same in ns.
    pub(crate) fn ns(&self, sample: &Sample) -> Ns {
        let ahead = self.ahead.get(usize::from(sample.clock)).copied().unwrap_or(0);
        sample.taken.saturating_add(ahead)
    }
}

/// The samples of a lane, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    full: VecDeque<Arc<Vec<Sample>>>,
    open: Vec<Sample>,
    robots: Arc<Robots>,
}

/// The robots of a lane by number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Robots {
    names: Vec<String>,
    numbers: HashMap<String, u16>,
}

impl Robots {
    /// The robot of a sample.
    pub(crate) fn name(&self, sample: &Sample) -> &str {
        self.names.get(usize::from(sample.robot)).map_or("", String::as_str)
    }

    /// The messages of one robot, or of all.
    pub(crate) fn whose(&self, robot: Option<&str>) -> Whose {
        match robot.map(|name| self.numbers.get(name)) {
            None => Whose::Anyone,
            Some(Some(number)) => Whose::One(*number),
            Some(None) => Whose::Nobody,
        }
    }
}

/// Messages of which robot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    Anyone,
    One(u16),
    /// A robot that this lane doesn't know.
    Nobody,
}

impl Whose {
    pub(crate) fn is(self, sample: &Sample) -> bool {
        match self {
            Self::Anyone => true,
            Self::One(number) => sample.robot == number,
            Self::Nobody => false,
        }
    }
}

impl Samples {
    pub(crate) fn len(&self) -> usize {
        self.full.len() * PIECE + self.open.len()
    }

    /// Takes a message in that came at `arrived`, in ns since the collector's start.
    pub(crate) fn push(
        &mut self,
        trace: &Trace,
        times: Option<Times>,
        arrived: Ns,
        axis: &mut Axis,
    ) {
        let Some(taken) = trace.stamps.get(Hop::Taken) else { return };
        let clock = axis.observe(taken.clock.as_str(), taken.ns, arrived);
        let robot = self.robot(&trace.robot_id);
        let (id, outcome) = (trace.id, trace.outcome);
        self.open.push(Sample { id, arrived, taken: taken.ns, clock, robot, outcome, times });
        if self.open.len() == PIECE {
            self.full
                .push_back(Arc::new(std::mem::replace(&mut self.open, Vec::with_capacity(PIECE))));
        }
    }

    fn robot(&mut self, name: &str) -> u16 {
        if let Some(number) = self.robots.numbers.get(name) {
            return *number;
        }
        let Some(number) = u16::try_from(self.robots.names.len()).ok().filter(|n| *n < OTHER)
        else {
            return OTHER;
        };
        let robots = Arc::make_mut(&mut self.robots);
        robots.names.push(name.to_owned());
        robots.numbers.insert(name.to_owned(), number);
        number
    }

    /// Forgets the oldest piece; false when there is none but the newest.
    pub(crate) fn forget(&mut self) -> bool {
        self.full.pop_front().is_some()
    }

    /// What came since `arrived`, and perhaps a little before: without copying the pieces.
    pub(crate) fn since(&self, arrived: Ns) -> View {
        let newer = |piece: &&Arc<Vec<Sample>>| piece.last().is_some_and(|s| s.arrived >= arrived);
        let mut full: Vec<_> = self.full.iter().rev().take_while(newer).map(Arc::clone).collect();
        full.reverse();
        View { full, open: self.open.clone(), robots: Arc::clone(&self.robots) }
    }
}

/// Samples at one moment.
#[derive(Debug, Default)]
pub(crate) struct View {
    full: Vec<Arc<Vec<Sample>>>,
    open: Vec<Sample>,
    pub(crate) robots: Arc<Robots>,
}

impl View {
    /// Oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Sample> {
        self.full.iter().flat_map(|piece| piece.iter()).chain(&self.open)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::told::{Told, What};
    use hopwatch_model::ClockId;

    /// The message of the fixture, taken at `taken` on the gateway's clock.
    pub(crate) fn trace(number: u64, taken: Ns, robot: &str) -> Trace {
        let text = include_str!("../../../crates/wire/fixtures/records-v1.ndjson");
        let trace = text.lines().find_map(|line| match Told::read(line).unwrap().what {
            What::Trace(trace) => Some(*trace),
            _ => None,
        });
        let mut trace = trace.unwrap();
        trace.id = TraceId(u128::from(number).to_be_bytes());
        trace.robot_id = robot.to_owned();
        trace.stamps.set(Hop::Taken, &ClockId::new("gateway"), taken);
        trace
    }

    const S: Ns = 1_000_000_000;

    #[test]
    fn a_take_lies_where_the_quickest_record_says() {
        let (mut axis, mut samples) = (Axis::default(), Samples::default());
        // The gateway's clock is 100 s ahead; records come 0.3 s late, but for one.
        for (number, late) in [(0, 300), (1, 200), (2, 1_500), (3, 300)] {
            let taken = (100 + number) * S;
            let arrived = number * S + late * MS;
            let number = u64::try_from(number).unwrap();
            samples.push(&trace(number, taken, "r"), None, arrived, &mut axis);
        }
        let view = samples.since(Ns::MIN);
        let at: Vec<i64> = view.iter().map(|sample| axis.of(sample)).collect();
        assert_eq!(at, [200, 1_200, 2_200, 3_200]);
        assert_eq!(axis.at_ms(&trace(9, 90 * S, "r")), -9_800, "before the start");
    }

    #[test]
    fn the_oldest_pieces_are_forgotten_and_views_stay() {
        let (mut axis, mut samples) = (Axis::default(), Samples::default());
        let all = 2 * PIECE + 10;
        for number in 0..all {
            let at = Ns::try_from(number).unwrap() * MS;
            let robot = ["a", "b"][number % 2];
            samples.push(&trace(number as u64, at, robot), None, at, &mut axis);
        }
        let view = samples.since(Ns::MIN);
        assert_eq!((samples.len(), view.iter().count()), (all, all));
        assert!(samples.forget() && samples.forget() && !samples.forget());
        assert_eq!((samples.len(), view.iter().count()), (10, all));
        let count = |robot| {
            let whose = view.robots.whose(robot);
            view.iter().filter(|sample| whose.is(sample)).count()
        };
        assert_eq!((count(Some("b")), count(None), count(Some("c"))), (all / 2, all, 0));
        assert_eq!(view.robots.name(view.iter().next().unwrap()), "a");
        let arrived: Vec<Ns> = view.iter().map(|sample| sample.arrived).collect();
        assert!(arrived.is_sorted());
    }
}
