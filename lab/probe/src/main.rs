//! `hopwatch-lab-probe`: see the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    hopwatch_lab_probe::main()
}
