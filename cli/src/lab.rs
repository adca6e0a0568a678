//! `hopwatch lab`: the studies of what happens before the network.
//!
//! Each study has its plan and its runs in a file of its own here, its figures in `crates/lab`, and
//! its probes in `lab/`. This file and the ones beside it hold what all of them share.

mod args;
mod executor;
mod files;
mod handover;
mod housekeeping;
mod of_run;
mod place;
mod probe;
mod rounds;
mod shapes;

pub(crate) use args::Lab;
pub(crate) use files::{is_in, report};

/// `hopwatch lab`.
pub(crate) async fn lab(lab: Lab) -> anyhow::Result<u8> {
    match lab {
        Lab::Shapes(args) => shapes::run(*args).await,
        Lab::Executor(args) => executor::run(*args).await,
        Lab::Handover(args) => handover::run(*args).await,
    }
}
