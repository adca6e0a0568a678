//! The collector.

use std::process::ExitCode;

fn main() -> ExitCode {
    hopwatch_kit::main::<hopwatch_collector::Config, hopwatch_collector::Flags, _, _>(
        hopwatch_collector::IDENTITY,
        hopwatch_collector::run,
    )
}
