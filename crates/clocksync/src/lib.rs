//! Relations between clocks.
//!
//! * [`Offset`]: two clocks that exchange messages; the offset is an interval, never a point.
//! * [`WallMap`]: a host's wall clock (DDS' and the robot header's stamps) onto its monotonic one.
//!
//! Pure: every input carries its own time.

mod exchange;
mod wall;

pub use exchange::{Exchange, Offset, RHO_PPM};
pub use wall::{WallBracket, WallMap, WallStep};
