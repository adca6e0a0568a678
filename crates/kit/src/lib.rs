//! What every service stands on: configuration, logs, shutdown, health, listening, and the
//! system's clocks. The edge of the world, so that the rest need not touch it.

pub mod ament;
pub mod app;
mod called;
pub mod clock;
pub mod config;
mod connection;
pub mod controls;
pub mod logging;
pub mod net;
mod pages;
pub mod service;
pub mod shutdown;
pub mod timer;
pub mod tls;

pub use called::{Main, called};
pub use clock::{Clock, SystemClock};
pub use service::main;
pub use shutdown::Shutdown;
