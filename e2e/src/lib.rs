//! The driving side of the whole-system tests: starts the real programs, watches them from
//! outside, reads what they leave.
//!
//! A [`World`] is a place of a test's own: a ROS domain, a folder, a mark on every process in it.
//! Programs are started in it, end in time or fail the test, and leave nothing behind.
//!
//! The programs are those of the folder `HOPWATCH_PROGRAMS`, else those built like the tests
//! themselves. They need the ROS environment that `./hopwatch` prepares; `./hopwatch test e2e`
//! does all of it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::missing_panics_doc,
    reason = "all of this is test code: it panics where a test fails"
)]

mod browser;
mod checks;
mod domain;
mod hosts;
mod http;
mod lan;
mod patience;
mod processes;
mod program;
mod report;
mod services;
mod traces;
mod world;

pub use browser::Browser;
pub use checks::{figures_are_of_the_traces, legs_add_up, table_fits};
pub use hosts::{AHEAD_S, Hosts, clocks_can_differ, skip};
pub use http::{get, get_json, post, post_from, request};
pub use lan::Lan;
pub use patience::{PATIENCE, wait_until, within};
pub use processes::Pid;
pub use program::{Ended, Running, Start};
pub use report::{Event, Figures, Lane, Ledger, Report};
pub use services::{Service, Services, run_file};
pub use traces::{Row, rows};
pub use world::{World, browser_folder, peer, python};
