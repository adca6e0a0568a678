//! `hopwatch-lab-probe`: one process of a study, started by `hopwatch lab`.
//!
//! It prints lines of JSON: `{"ready":true}` when it is set up, then what it measured, raw. It ends
//! by itself when its work is done, at SIGINT, and when its standard input ends.

use clap::Parser;
use hopwatch_lab_probe::Study;
use std::process::ExitCode;

/// One process of a study of `hopwatch lab`
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    study: Study,
}

fn main() -> ExitCode {
    hopwatch_lab_probe::main(Cli::parse().study)
}
