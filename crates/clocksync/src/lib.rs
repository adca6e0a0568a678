//! Relations between clocks.
//!
//! * [`Offset`]: two clocks that exchange messages; the offset is an interval, never a point.
//! * [`Timeline`]: all exchanges of two clocks over a run: offset at any time, steps, drift.
//! * [`WallMap`]: a host's wall clock (DDS' and the robot header's stamps) onto its monotonic one.
//!
//! Pure: every input carries its own time.

mod exchange;
mod timeline;
mod wall;

pub use exchange::{Exchange, Offset, RHO_PPM};
pub use timeline::{Bounds, EXPIRY_NS, Step, Timeline, Unrelated, WALL_RHO_PPM, drift_in};
pub use wall::{WallBracket, WallMap, WallStep};
