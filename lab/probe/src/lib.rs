//! The Rust nodes of `hopwatch lab`.

mod ending;
pub mod executor;
pub mod handover;
mod say;
pub mod shapes;

pub use ending::ending;
pub use say::say;

use clap::Subcommand;
use hopwatch_kit::service::exit;
use std::process::ExitCode;

/// What a process measures.
#[derive(Debug, Subcommand)]
pub enum Study {
    /// What a message costs by its shape
    Shapes(shapes::Shapes),
    /// A fast loop beside a heavy callback
    Executor(executor::Executor),
    /// A large message handed over on one host
    Handover(handover::Handover),
}

/// Does it, from the parsed command line to the exit code.
pub fn main(study: Study) -> ExitCode {
    let done: anyhow::Result<()> = match study {
        Study::Shapes(args) => shapes::run(&args),
        Study::Executor(args) => executor::run(&args),
        Study::Handover(args) => handover::run(&args),
    };
    match done {
        Ok(()) => ExitCode::from(exit::OK),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(exit::FAILED)
        }
    }
}
