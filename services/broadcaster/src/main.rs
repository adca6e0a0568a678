//! The web service of the pipeline.

use std::process::ExitCode;

fn main() -> ExitCode {
    hopwatch_kit::main::<hopwatch_broadcaster::Config, hopwatch_broadcaster::Flags, _, _>(
        hopwatch_broadcaster::IDENTITY,
        hopwatch_broadcaster::run,
    )
}
