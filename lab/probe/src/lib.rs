//! The Rust nodes of `hopwatch lab`: one process of a study, started by `hopwatch lab`.
//!
//! It prints lines of JSON: `{"ready":true}` when it is set up, then what it measured, raw. It ends
//! by itself when its work is done, at SIGINT, and when its standard input ends.

mod ending;
pub mod executor;
pub mod handover;
mod say;
pub mod shapes;

pub use ending::ending;
pub use say::say;

use clap::{Parser, Subcommand};
use hopwatch_kit::service::exit;
use std::process::ExitCode;

/// What a process measures.
#[derive(Debug, Subcommand)]
pub enum Study {
    /// What a message costs by its shape
    Shapes(shapes::Shapes),
    /// A fast loop beside a heavy callback
    Executor(executor::Executor),
    /// A large message from a producer to consumers on one host
    Handover(handover::Handover),
}

/// The program's name.
pub const PROGRAM: &str = "hopwatch-lab-probe";

/// One process of a study of `hopwatch lab`
#[derive(Parser)]
#[command(name = PROGRAM, version)]
struct Cli {
    #[command(subcommand)]
    study: Study,
}

/// The whole program, from its command line to its exit code.
pub fn main() -> ExitCode {
    let done: anyhow::Result<()> = match Cli::parse().study {
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
