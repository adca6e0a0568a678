//! What a robot's header counts when it isn't the time of day in seconds and nanoseconds.
//!
//! The header's stamp is held against the one that the DDS writer made microseconds later on the
//! same host: that one is the wall clock.

use crate::units::maybe;
use hopwatch_model::{ClockId, Hop, Ns, Trace};

const S: i128 = 1_000_000_000;
/// Fewer headers prove nothing about a pattern of digits.
const FEWEST: usize = 10;

/// One header's time beside the writer's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    sec: i64,
    nsec: i64,
    /// The DDS writer's wall clock.
    written: Ns,
    /// The gateway's monotonic clock at the take.
    taken: Ns,
}

impl Header {
    /// `None` when the writer's stamp isn't there to compare with.
    pub(crate) fn of(trace: &Trace) -> Option<Self> {
        let wall = |hop| trace.stamps.get(hop).filter(|s| s.clock == ClockId::wall());
        let written = wall(Hop::Written)?.ns;
        let taken = trace.stamps.get(Hop::Taken)?.ns;
        let (sec, nsec) = match (trace.header_time, wall(Hop::Published)) {
            (Some(odd), _) => odd,
            (None, Some(s)) => (s.ns.div_euclid(1_000_000_000), s.ns.rem_euclid(1_000_000_000)),
            (None, None) => return None,
        };
        Some(Self { sec, nsec, written, taken })
    }

    fn total(&self) -> i128 {
        i128::from(self.sec) * S + i128::from(self.nsec)
    }

    /// How long before the writer it says that it was.
    fn early(&self) -> i128 {
        i128::from(self.written) - self.total()
    }

    fn near(a: i128, b: i128, within: i128) -> bool {
        (a - b).abs() <= within
    }

    /// What this one alone looks like.
    fn domain(&self) -> Option<Domain> {
        let (total, written) = (self.total(), i128::from(self.written));
        // A day is near enough to tell a unit, whatever else is wrong with the clock.
        let day = 86_400 * S;
        if self.sec == 0 && self.nsec == 0 {
            return Some(Domain::Zero);
        }
        for (unit, scale) in [(Unit::Milliseconds, 1_000_000), (Unit::Microseconds, 1_000)] {
            if Self::near(i128::from(self.sec) * scale, written, day) {
                return Some(Domain::Unit { unit, field: "seconds" });
            }
            if Self::near(total * scale, written, day) {
                return Some(Domain::Unit { unit, field: "whole time, as if it were nanoseconds" });
            }
        }
        if Self::near(i128::from(self.sec), written, day) {
            return Some(Domain::Unit { unit: Unit::Nanoseconds, field: "seconds" });
        }
        if self.sec == 0 && Self::near(i128::from(self.nsec), written, day) {
            return Some(Domain::Unit { unit: Unit::Nanoseconds, field: "nanoseconds" });
        }
        if Self::near(total, i128::from(self.taken), 10 * S) {
            return Some(Domain::SinceBoot);
        }
        // Before 2001 nobody published anything.
        if total < 1_000_000_000 * S {
            return Some(Domain::SomeStart { rate: None });
        }
        let early = self.early();
        // To the nearest half hour: some zones are.
        let half_hours = (early + early.signum() * 900 * S) / (1_800 * S);
        let zone = half_hours * 1_800 * S;
        if let Ok(half_hours @ (-28..=-1 | 1..=28)) = i32::try_from(half_hours)
            && Self::near(early, zone, 2 * S)
        {
            return Some(Domain::Zone { half_hours });
        }
        if early.abs() > 2 * S {
            let early = Ns::try_from(early).unwrap_or(if early < 0 { Ns::MIN } else { Ns::MAX });
            return Some(Domain::Other { early });
        }
        None
    }
}

/// The unit of a number that was put into another one's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Milliseconds,
    Microseconds,
    Nanoseconds,
}

impl Unit {
    const fn name(self) -> &'static str {
        match self {
            Self::Milliseconds => "milliseconds",
            Self::Microseconds => "microseconds",
            Self::Nanoseconds => "nanoseconds",
        }
    }
}

/// What a header counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Domain {
    /// Nothing: it was never set.
    Zero,
    /// Time since the host was started, the gateway's host that is.
    SinceBoot,
    /// Time since some other start, at a rate against the wall clock when that is known: a boot
    /// of another host, a simulation.
    SomeStart { rate: Option<f64> },
    /// A unit in the place of another.
    Unit { unit: Unit, field: &'static str },
    /// A unit below the second in the nanosecond field: its digits never reach a second.
    Fraction { unit: Unit },
    /// Whole seconds only.
    WholeSeconds,
    /// Local time instead of UTC.
    Zone { half_hours: i32 },
    /// Something that is off by this from the wall clock of its own host.
    Other { early: Ns },
}

impl Domain {
    /// Of a robot's headers: what most of them look like.
    pub(crate) fn of(headers: &[Header]) -> Option<Self> {
        let (mut plain, mut odd) = (Vec::new(), Vec::new());
        // Each kind of answer with its first one, in the order in which they came first.
        let mut kinds: Vec<(Self, usize)> = Vec::new();
        for header in headers {
            let Some(domain) = header.domain() else {
                plain.push(header);
                continue;
            };
            odd.push(header);
            let kind = std::mem::discriminant(&domain);
            match kinds.iter_mut().find(|(first, _)| std::mem::discriminant(first) == kind) {
                Some((_, count)) => *count += 1,
                None => kinds.push((domain, 1)),
            }
        }
        if odd.len() * 2 <= headers.len() {
            return Self::by_digits(&plain);
        }
        // Of several answers the one that came most often; ties go to the first.
        let (domain, _) = kinds.iter().rev().max_by_key(|(_, count)| *count)?;
        match domain {
            Self::SomeStart { .. } => {
                let (first, last) = (odd.first()?, odd.last()?);
                let real = last.written.saturating_sub(first.written);
                let told = last.total() - first.total();
                let rate = (real > 1_000_000_000).then(|| ratio(told, real));
                Some(Self::SomeStart { rate })
            }
            other => Some(*other),
        }
    }

    /// Right to the second, but with digits that can't be nanoseconds.
    fn by_digits(plain: &[&Header]) -> Option<Self> {
        if plain.len() < FEWEST {
            return None;
        }
        // Digits alone prove nothing of a robot that publishes right behind each full second: the
        // writer's stamp has to contradict them.
        let early = plain.iter().map(|header| header.early()).max()?;
        if early < 10_000_000 {
            return None;
        }
        let most = plain.iter().map(|header| header.nsec).max()?;
        match most {
            0 => Some(Self::WholeSeconds),
            1..1_000 => Some(Self::Fraction { unit: Unit::Milliseconds }),
            1_000..1_000_000 => Some(Self::Fraction { unit: Unit::Microseconds }),
            _ => None,
        }
    }

    /// In a sentence, with what to do.
    pub(crate) fn said(self) -> String {
        const UTC: &str = "stamp with CLOCK_REALTIME (Unix time, UTC)";
        const DDS: &str = "the DDS writer's own stamp is right, so only published is wrong";
        match self {
            Self::Zero => format!("its header's time is zero: it was never set; {UTC}"),
            Self::SinceBoot => format!(
                "its header counts the time since the host was started (CLOCK_MONOTONIC), not the \
                 time of day; {UTC}"
            ),
            Self::SomeStart { rate: Some(rate) } if (rate - 1.0).abs() > 0.02 => format!(
                "its header counts simulation time, which ran at {rate:.2} of real time: latencies \
                 against it mean nothing; {UTC}, or publish with use_sim_time off"
            ),
            Self::SomeStart { .. } => format!(
                "its header counts seconds from some start (of a host or a simulation), not the \
                 time of day; {UTC}"
            ),
            Self::Unit { unit, field } => {
                format!("its header holds {} in the place of {field}; {UTC}", unit.name())
            }
            Self::Fraction { unit } => format!(
                "its header holds {} in the field of nanoseconds: published seems up to a second \
                 too early; multiply by {}",
                unit.name(),
                if unit == Unit::Milliseconds { "1,000,000" } else { "1,000" }
            ),
            Self::WholeSeconds => "its header holds whole seconds only: published seems up to a \
                                   second too early; fill the field of nanoseconds"
                .to_owned(),
            Self::Zone { half_hours } => format!(
                "its header is {} h {} the wall clock of its own host: local time instead of UTC; \
                 {DDS}",
                f64::from(half_hours.abs()) / 2.0,
                if half_hours > 0 { "behind" } else { "ahead of" }
            ),
            Self::Other { early } => format!(
                "its header is {} {} the stamp that DDS made right after on the same host: it is \
                 no stamp of the moment of publication; {DDS}",
                maybe(Some(early.saturating_abs())),
                if early > 0 { "behind" } else { "ahead of" }
            ),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rate is a float")]
fn ratio(told: i128, real: Ns) -> f64 {
    told as f64 / real as f64
}
