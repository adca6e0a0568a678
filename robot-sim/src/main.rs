//! `hopwatch-robot-sim`: see the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    hopwatch_robot_sim::main()
}
