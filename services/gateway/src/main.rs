//! The gateway.

use std::process::ExitCode;

fn main() -> ExitCode {
    hopwatch_kit::main::<hopwatch_gateway::Config, hopwatch_gateway::Flags, _, _>(
        hopwatch_gateway::IDENTITY,
        hopwatch_gateway::run,
    )
}
