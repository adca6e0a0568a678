//! The program `hopwatch-web-ui`.

use hopwatch_kit::service::Identity;
use hopwatch_web_ui::{Config, Flags, run};
use std::process::ExitCode;

fn main() -> ExitCode {
    let identity = Identity {
        program: "hopwatch-web-ui",
        about: "Serves Hopwatch's live page",
        section: "web_ui",
        version: env!("CARGO_PKG_VERSION"),
    };
    hopwatch_kit::main::<Config, Flags, _, _>(identity, run)
}
