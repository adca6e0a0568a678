//! ROS 2 in: subscriptions that keep what a profiler needs.
//!
//! r2r's own subscribers throw the middleware's message information away and hand messages on
//! through a short channel that drops without a count. This crate takes from rcl itself, by
//! `r2r_rcl`, and uses r2r for the message types only. Each message comes as its serialized
//! bytes, unchanged, with the DDS writer's and reader's stamps, its number among its writer's
//! messages, and a monotonic stamp of the take; `QoS` events come beside.
//!
//! [`Tap::start`] opens the subscriptions on a thread of their own. That thread sleeps in
//! `rcl_wait` without a timeout, takes everything that is there, and calls the sink for each
//! message. There is no queue between the DDS reader and the sink, so nothing can be lost
//! between them: what is missing was lost before, in the reader's history or on the wire.
//!
//! [`Writer`] is the way out, for what measures: serialized bytes, published as they are. An [`Inbox`]
//! is a subscription without a thread, also for messages that the middleware lends ([`Loan`], [`Lent`]).
//!
//! Architecture invariant: this is the only crate of Hopwatch with unsafe code. All rcl entities
//! of a tap are made, used and finalised on its own thread; other threads only ever trigger its
//! guard condition, which rcl allows (`rcl_trigger_guard_condition`).

mod clock;
mod entity;
mod error;
mod event;
mod graph;
mod inbox;
mod loan;
mod qos;
mod reader;
mod tap;
mod type_support;
mod wait;
mod watch;
mod writer;

pub use error::TapError;
pub use event::{Taken, TapEvent};
pub use graph::{Elsewhere, EndpointInfo, Picture};
pub use hopwatch_clocksync::WallBracket;
pub use inbox::{Inbox, InboxConfig};
pub use loan::{Lent, Loan};
pub use qos::{Durability, Liveliness, Period, Policy, Qos, Reliability, misfit, misfits};
pub use tap::{Graph, Subscription, Tap, TapConfig};
pub use type_support::TypeSupport;
pub use writer::{Writer, WriterConfig};

/// The middleware that this process talks through (for example `rmw_fastrtps_cpp`).
pub fn middleware() -> String {
    // SAFETY: the function has no preconditions; it returns a static string or null.
    let name = unsafe { r2r_rcl::rmw_get_implementation_identifier() };
    // SAFETY: `name` is null or a NUL-terminated string that lives as long as the library.
    unsafe { error::text(name) }.unwrap_or_default()
}

/// The ROS 2 distribution that this program was built against (for example `jazzy`).
pub const ROS_DISTRO: &str = r2r::ROS_DISTRO;
