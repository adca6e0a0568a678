//! The gateway.

use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|word| word == hopwatch_gateway::look::WORD) {
        return hopwatch_gateway::look::main();
    }
    hopwatch_kit::main::<hopwatch_gateway::Config, hopwatch_gateway::Flags, _, _>(
        hopwatch_gateway::IDENTITY,
        hopwatch_gateway::run,
    )
}
