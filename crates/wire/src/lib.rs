//! What travels between the processes of Hopwatch, in each of its versions.
//!
//! * [`clock_packet`]: the datagrams of a clock responder;
//! * [`headers`]: what goes along with each request to a service and comes back with the reply;
//! * [`look`]: what a gateway's look at ROS finds, for `hopwatch doctor`;
//! * [`record`]: what the services tell the collector;
//! * [`feed`]: what the collector and the broadcaster tell the web page, and the page them;
//! * [`robot_message`]: the CDR of `hopwatch_msgs`, and the JSON of it that services get.
//!
//! Nanosecond stamps are decimal strings in JSON: they exceed 2^53. Durations are numbers.

pub mod clock_packet;
pub mod controls;
pub mod envelope;
pub mod feed;
pub mod headers;
pub mod look;
pub mod ns_text;
pub mod record;
pub mod robot_message;
mod stamps_by_clock;
