//! What remains of each message of a lane in memory: enough for the figures of a long time.

use hopwatch_analysis::Decomposition;
use hopwatch_model::{Class, ClockId, Hop, Ns, Outcome, Stamp, Trace, TraceId};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Samples are kept, copied and forgotten in pieces of so many.
const PIECE: usize = 4096;
/// A robot whose name has no place in the table any more.
const OTHER: u16 = u16::MAX;
/// A clock is placed anew only when it is off by more: what is shown must not shake.
const SHAKE: Ns = 50_000_000;
/// The shortest way of a record is looked for during so long: clocks drift apart.
const STRETCH: Ns = 300_000_000_000;
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

/// Where the gateways' clocks lie on the collector's: which messages are of a window, and where they
/// stand in a chart. No duration is made of it.
///
/// The collector's own clock is known. On another one, a record comes some time after its message has
/// ended; that is at least nothing, so the shortest of the last minutes is taken for nothing. What an
/// earlier start of the collector was told came at no time that is known: there the wall clocks of
/// both hosts have the word.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    own: ClockId,
    /// The collector's start, on its clock and on its wall clock.
    started: Started,
    names: HashMap<ClockId, u16>,
    clocks: Vec<Placed>,
}

/// When the collector started, in ns.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Started {
    pub(crate) mono: Ns,
    pub(crate) wall: Ns,
}

/// How a message came to be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// Just now, in ns since the collector's start.
    At(Ns),
    /// To an earlier start.
    Before,
}

impl Arrival {
    fn ns(self) -> Ns {
        match self {
            Self::At(ns) => ns,
            Self::Before => 0,
        }
    }
}

/// By how much the collector's time since its start is ahead of a clock, in ns.
#[derive(Clone, Copy, Debug)]
struct Placed {
    ahead: Ns,
    is_exact: bool,
    /// The least of this stretch and of the one before.
    least: [Ns; 2],
    since: Ns,
}

impl Axis {
    pub(crate) fn new(own: ClockId, started: Started) -> Self {
        Self { own, started, names: HashMap::new(), clocks: Vec::new() }
    }

    fn observe(&mut self, trace: &Trace, taken: &Stamp, arrival: Arrival) -> u16 {
        let number = self.names.get(&taken.clock).copied();
        let index = number.unwrap_or_else(|| self.place(trace, taken));
        if let (Arrival::At(now), Some(placed)) = (arrival, self.clocks.get_mut(usize::from(index)))
        {
            let ended = trace.stamps.get(Hop::WebAcked).filter(|ended| ended.clock == taken.clock);
            if let Some(ended) = ended.filter(|_| !placed.is_exact) {
                placed.observe(now.saturating_sub(ended.ns), now);
            }
        }
        index
    }

    fn place(&mut self, trace: &Trace, taken: &Stamp) -> u16 {
        // More clocks than that are no gateways'.
        let index = u16::try_from(self.clocks.len()).ok().filter(|index| *index < OTHER);
        let Some(index) = index else { return OTHER };
        let is_exact = taken.clock == self.own;
        let ahead = match trace.wall_offset_ns {
            _ if is_exact => self.started.mono.saturating_neg(),
            Some(offset) => offset.saturating_sub(self.started.wall),
            None => taken.ns.saturating_neg(),
        };
        self.clocks.push(Placed { ahead, is_exact, least: [Ns::MAX; 2], since: 0 });
        self.names.insert(taken.clock.clone(), index);
        index
    }

    /// When a message was taken, in ms since the collector's start; before it: negative.
    pub(crate) fn at_ms(&self, trace: &Trace) -> i64 {
        let Some(taken) = trace.stamps.get(Hop::Taken) else { return 0 };
        let index = self.names.get(&taken.clock).copied().unwrap_or(OTHER);
        self.since_start(index, taken.ns).div_euclid(MS)
    }

    /// The same of a sample.
    pub(crate) fn of(&self, sample: &Sample) -> i64 {
        self.ns(sample).div_euclid(MS)
    }

    /// The same in ns.
    pub(crate) fn ns(&self, sample: &Sample) -> Ns {
        self.since_start(sample.clock, sample.taken)
    }

    fn since_start(&self, clock: u16, ns: Ns) -> Ns {
        let placed = self.clocks.get(usize::from(clock));
        ns.saturating_add(placed.map_or(0, |placed| placed.ahead))
    }
}

impl Placed {
    fn observe(&mut self, ahead: Ns, now: Ns) {
        if now.saturating_sub(self.since) > STRETCH {
            self.least = [Ns::MAX, self.least[0]];
            self.since = now;
        }
        self.least[0] = self.least[0].min(ahead);
        let least = self.least[0].min(self.least[1]);
        if (least.saturating_sub(self.ahead)).saturating_abs() > SHAKE {
            self.ahead = least;
        }
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

    /// Takes a message in.
    pub(crate) fn push(
        &mut self,
        trace: &Trace,
        times: Option<Times>,
        arrival: Arrival,
        axis: &mut Axis,
    ) {
        let Some(taken) = trace.stamps.get(Hop::Taken) else { return };
        let clock = axis.observe(trace, taken, arrival);
        let arrived = arrival.ns();
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

    pub(crate) fn axis(own: &str) -> Axis {
        Axis::new(ClockId::new(own), Started { mono: 100 * S, wall: 5_000 * S })
    }

    /// A message that was taken on a gateway's clock and had ended 0.1 s later.
    fn ended(number: u64, taken: Ns) -> Trace {
        let mut trace = trace(number, taken, "r");
        trace.stamps.set(Hop::WebAcked, &ClockId::new("gateway"), taken + S / 10);
        trace
    }

    fn seconds(axis: &Axis, samples: &Samples) -> Vec<f64> {
        let at = samples.since(Ns::MIN);
        #[expect(clippy::cast_precision_loss, reason = "small")]
        at.iter().map(|sample| axis.of(sample) as f64 / 1e3).collect()
    }

    #[test]
    fn on_the_own_clock_a_take_lies_where_it_was() {
        let (mut axis, mut samples) = (axis("gateway"), Samples::default());
        for (taken, late) in [(101, 3), (102, 9), (99, 1)] {
            let arrival = Arrival::At((taken + late - 100) * S);
            samples.push(&ended(1, taken * S), None, arrival, &mut axis);
        }
        samples.push(&ended(1, 40 * S), None, Arrival::Before, &mut axis);
        assert_eq!(seconds(&axis, &samples), [1.0, 2.0, -1.0, -60.0]);
    }

    #[test]
    fn on_another_clock_it_lies_where_the_quickest_record_of_late_says() {
        let (mut axis, mut samples) = (axis("own"), Samples::default());
        // That clock is 1000 s ahead. Records come 0.2 s or more after the message has ended.
        for (at, late) in [(10, 3), (11, 2), (12, 15), (13, 3)] {
            let arrival = Arrival::At(at * S + S / 10 + late * S / 10);
            samples.push(&ended(1, (1_000 + at) * S), None, arrival, &mut axis);
        }
        assert_eq!(seconds(&axis, &samples), [10.2, 11.2, 12.2, 13.2]);
        // It loses a second, by standing still: ten minutes later that is all that is known.
        let mut samples = Samples::default();
        for at in (100..800).step_by(100) {
            let arrival = Arrival::At(at * S + 3 * S / 10);
            samples.push(&ended(1, (999 + at) * S), None, arrival, &mut axis);
        }
        assert_eq!(seconds(&axis, &samples)[6..], [700.2]);
    }

    #[test]
    fn what_an_earlier_start_was_told_lies_where_the_wall_clocks_say() {
        let (mut axis, mut samples) = (axis("own"), Samples::default());
        let mut old = ended(1, 7 * S);
        // Its wall clock showed 4000 s then, 1000 s before this start.
        old.wall_offset_ns = Some(3_993 * S);
        samples.push(&old, None, Arrival::Before, &mut axis);
        assert_eq!(seconds(&axis, &samples), [-1_000.0]);
        assert_eq!(axis.at_ms(&old), -1_000_000);
    }

    #[test]
    fn the_oldest_pieces_are_forgotten_and_views_stay() {
        let (mut axis, mut samples) = (axis("own"), Samples::default());
        let all = 2 * PIECE + 10;
        for number in 0..all {
            let at = Ns::try_from(number).unwrap() * MS;
            let robot = ["a", "b"][number % 2];
            samples.push(&trace(number as u64, at, robot), None, Arrival::At(at), &mut axis);
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
