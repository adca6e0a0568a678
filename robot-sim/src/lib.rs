//! Simulated robots: N of them publish `hopwatch_msgs/msg/RobotMessage` by plain r2r, as real
//! robots would.
//!
//! They publish on a schedule that is fixed beforehand (open loop, METHOD 8): a message that is
//! late is published at once, never left out, and its lateness is counted. With several lanes each
//! message is published on each of their topics, in changing order. What they published on a topic
//! they tell themselves, in a census on [`census::TOPIC`], so that a loss on the way can be told
//! from a message that never was.
//!
//! With a control address, rate and payload can be set meanwhile. Another rate is another schedule,
//! told in the census before its first message is due; each message belongs to exactly one.
//!
//! [`run`] wires: ROS nodes → wait for a subscriber → census → schedule → last census → linger.

pub mod census;
pub mod config;
pub mod content;
mod control;
pub mod domain;
mod pace;
mod program;
mod run;
pub mod schedule;

pub use config::{Config, Flags};
pub use program::{IDENTITY, main};
pub use run::{SimError, Summary, run};
