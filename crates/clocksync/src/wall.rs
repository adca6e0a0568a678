//! A host's wall clock onto its monotonic clock (METHOD 5).
//!
//! DDS stamps with `CLOCK_REALTIME`; so does the header of a robot message. Each take brings a
//! bracketed reading of both clocks, which maps the wall-clock stamps of that message.

use crate::exchange::RHO_PPM;
use hopwatch_model::Ns;

/// The wall clock read between two readings of the monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WallBracket {
    /// Monotonic, before.
    pub mono_before: Ns,
    /// Wall clock (Unix time), between.
    pub wall: Ns,
    /// Monotonic, after.
    pub mono_after: Ns,
}

impl WallBracket {
    /// How far a wall-clock stamp that is mapped by it may be off in all.
    pub fn width_ns(&self) -> Ns {
        self.mono_after.saturating_sub(self.mono_before)
    }

    /// wall − mono: the middle, and how far it may be off on either side.
    pub fn offset(&self) -> (Ns, Ns) {
        let width = self.width_ns().max(0);
        let middle = self.mono_before.saturating_add(width / 2);
        (self.wall.saturating_sub(middle), width / 2 + width % 2)
    }

    /// A wall-clock stamp of this host on its monotonic clock, and the half-width of the error
    /// that the bracket leaves. Valid for stamps near the bracket's time.
    pub fn to_mono(&self, wall: Ns) -> (Ns, Ns) {
        let (offset, half_width) = self.offset();
        (wall.saturating_sub(offset), half_width)
    }
}

/// The wall clock was set while we watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WallStep {
    /// Monotonic time of the first reading after the step.
    pub seen_at: Ns,
    /// By how much, in ns; positive: the wall clock jumped ahead.
    pub by: Ns,
}

/// Watches the wall clock's offset from bracket to bracket, so that a step is detected and not
/// absorbed into a leg.
#[derive(Clone, Debug, Default)]
pub struct WallMap {
    last: Option<WallBracket>,
}

/// What slewing (`adjtime`, NTP) may do beyond ρ: up to 500 ppm by the kernel's own limit.
const SLEW_PPM: i64 = 500;

impl WallMap {
    /// Nothing read yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a bracket in; tells of a step since the one before it.
    ///
    /// A change is a step when it is larger than both brackets' widths plus what drift and slew
    /// can do in the time between.
    pub fn observe(&mut self, bracket: WallBracket) -> Option<WallStep> {
        let last = self.last.replace(bracket)?;
        let (before, before_half) = last.offset();
        let (now, now_half) = bracket.offset();
        let age = bracket.mono_after.saturating_sub(last.mono_before).saturating_abs();
        let allowed = (age / 1_000_000 + 1)
            .saturating_mul(RHO_PPM + SLEW_PPM)
            .saturating_add(before_half)
            .saturating_add(now_half);
        let by = now.saturating_sub(before);
        (by.saturating_abs() > allowed).then_some(WallStep { seen_at: bracket.mono_after, by })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EPOCH: Ns = 1_700_000_000_000_000_000;

    fn bracket(mono: Ns, offset: Ns) -> WallBracket {
        WallBracket { mono_before: mono, wall: mono + 50 + offset, mono_after: mono + 100 }
    }

    #[test]
    fn maps_a_wall_stamp_within_the_bracket() {
        let (mono, half) = bracket(1_000, EPOCH).to_mono(EPOCH + 400);
        assert_eq!((mono, half), (400, 50));
    }

    #[test]
    fn differences_of_wall_stamps_stay_exact() {
        let b = WallBracket { mono_before: 3, wall: EPOCH, mono_after: 10 };
        assert_eq!(b.to_mono(EPOCH + 77).0 - b.to_mono(EPOCH).0, 77);
    }

    #[test]
    fn slew_is_no_step_and_a_step_is() {
        let mut map = WallMap::new();
        assert_eq!(map.observe(bracket(0, EPOCH)), None);
        // 400 µs in one second: the kernel slewing.
        assert_eq!(map.observe(bracket(1_000_000_000, EPOCH + 400_000)), None);
        let step = map.observe(bracket(1_001_000_000, EPOCH + 400_000 - 250_000_000)).unwrap();
        assert_eq!(step.by, -250_000_000);
        assert_eq!(map.observe(bracket(1_002_000_000, EPOCH + 400_000 - 250_000_000)), None);
    }
}
