//! `hopwatch-gateway`: see the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    hopwatch_gateway::main()
}
