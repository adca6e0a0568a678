//! Stamps: the monotonic clock, and where the wall clock stands on it.

use hopwatch_clocksync::WallBracket;
use hopwatch_model::Ns;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// A bracket this narrow is not read again. An undisturbed one is about 0.1 µs wide; a wider one
/// was interrupted.
const NARROW_NS: Ns = 500;

/// Readings of a bracket at most; the narrowest counts.
const READINGS: usize = 3;

/// `CLOCK_MONOTONIC` in nanoseconds.
pub(crate) fn mono_ns() -> Ns {
    to_ns(clock_gettime(ClockId::Monotonic))
}

/// Brackets the wall clock.
pub(crate) fn bracket() -> WallBracket {
    narrowest(|| WallBracket {
        mono_before: mono_ns(),
        wall: to_ns(clock_gettime(ClockId::Realtime)),
        mono_after: mono_ns(),
    })
}

fn narrowest(mut read: impl FnMut() -> WallBracket) -> WallBracket {
    let mut best = read();
    for _ in 1..READINGS {
        if best.width_ns() <= NARROW_NS {
            break;
        }
        let next = read();
        if next.width_ns() < best.width_ns() {
            best = next;
        }
    }
    best
}

fn to_ns(time: Timespec) -> Ns {
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pick(widths: &[Ns]) -> (Ns, usize) {
        let mut read = widths.iter();
        let best = narrowest(|| WallBracket {
            mono_before: 0,
            wall: 7,
            mono_after: *read.next().unwrap(),
        });
        (best.width_ns(), widths.len() - read.len())
    }

    #[test]
    fn the_narrowest_of_three_counts_and_a_narrow_one_is_enough() {
        assert_eq!(pick(&[80, 1, 1]), (80, 1));
        assert_eq!(pick(&[9_000, 90, 1]), (90, 2));
        assert_eq!(pick(&[9_000, 7_000, 8_000]), (7_000, 3));
    }

    #[test]
    fn brackets_are_ordered() {
        let bracket = bracket();
        assert!(bracket.width_ns() >= 0);
        assert!(mono_ns() >= bracket.mono_after);
        assert!(bracket.wall > 1_600_000_000_000_000_000);
    }
}
