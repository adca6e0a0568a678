//! Clocks and stamps (METHOD 1): a stamp is a clock's name and a reading in nanoseconds.

use std::fmt;
use std::sync::{Arc, LazyLock};

/// A reading or a duration in nanoseconds.
pub type Ns = i64;

/// The name of a clock. Two stamps can be subtracted only when their clocks have the same name.
///
/// A host's monotonic clock is named by its boot id and its time namespace, so that containers
/// of one host share it unless a time namespace really shifts it (`time_namespaces(7)`).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClockId(Arc<str>);

impl ClockId {
    /// Names a clock. The name is compared byte for byte.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }

    /// The clock of one browser page, known to its broadcaster as `client`.
    pub fn browser(client: &str) -> Self {
        Self(format!("browser:{client}").into())
    }

    /// The wall clock of a host that isn't named: what ROS messages and DDS stamp with.
    pub fn wall() -> Self {
        static WALL: LazyLock<ClockId> = LazyLock::new(|| ClockId::new("wall"));
        WALL.clone()
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ClockId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClockId({})", self.0)
    }
}

impl fmt::Display for ClockId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One reading of one clock.
///
/// There is no `Sub`: a difference across clocks must not compile without a relation between
/// them, so the only way is [`Stamp::since`], which refuses, or `hopwatch-clocksync`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Whose reading it is.
    pub clock: ClockId,
    /// The reading in nanoseconds of that clock.
    pub ns: Ns,
}

impl Stamp {
    /// A reading of `clock`.
    pub fn new(clock: ClockId, ns: Ns) -> Self {
        Self { clock, ns }
    }

    /// `self − earlier`, exact, in nanoseconds; refused when the clocks differ. Negative results
    /// are kept: a stamp that lies is shown, never clamped.
    pub fn since(&self, earlier: &Self) -> Result<Ns, DifferentClocks> {
        if self.clock == earlier.clock {
            Ok(self.ns.saturating_sub(earlier.ns))
        } else {
            Err(DifferentClocks { later: self.clock.clone(), earlier: earlier.clock.clone() })
        }
    }
}

/// Two stamps of different clocks were to be subtracted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("stamps of different clocks can't be subtracted: {later} − {earlier}")]
pub struct DifferentClocks {
    /// The clock of the minuend.
    pub later: ClockId,
    /// The clock of the subtrahend.
    pub earlier: ClockId,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_clock_subtracts_exactly_and_two_refuse() {
        let (a, b) = (ClockId::new("a"), ClockId::new("b"));
        let late = Stamp::new(a.clone(), 1_700_000_000_000_000_007);
        let early = Stamp::new(a, 1_700_000_000_000_000_000);
        assert_eq!(late.since(&early), Ok(7));
        assert_eq!(early.since(&late), Ok(-7));
        assert!(late.since(&Stamp::new(b, 0)).is_err());
    }
}
