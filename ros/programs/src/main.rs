//! One program under several names: called by the name of a program that needs ROS, it is that one.
//!
//! They are so linked and optimised once, and share one file on disk and in container images. Each of
//! them builds alone, too. `hopwatch` does the same for those that need no ROS (`cli/src/called.rs`).

use std::ffi::OsStr;
use std::path::Path;
use std::process::ExitCode;

/// A whole program, from its command line to its exit code.
type Main = fn() -> ExitCode;

/// The programs, by their names.
const PROGRAMS: [(&str, Main); 3] = [
    (hopwatch_gateway::IDENTITY.program, hopwatch_gateway::main),
    (hopwatch_robot_sim::IDENTITY.program, hopwatch_robot_sim::main),
    (hopwatch_lab_probe::PROGRAM, hopwatch_lab_probe::main),
];

fn main() -> ExitCode {
    let called = std::env::args_os().next().unwrap_or_default();
    if let Some(main) = by_name(&called) {
        return main();
    }
    let names: Vec<&str> = PROGRAMS.iter().map(|(name, _)| *name).collect();
    eprintln!("error: this is {}, under whose names it must be called", names.join(", "));
    ExitCode::from(2)
}

fn by_name(called: &OsStr) -> Option<Main> {
    let name = Path::new(called).file_name()?;
    PROGRAMS.iter().find(|(program, _)| *program == name).map(|(_, main)| *main)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_name_of_a_program_makes_it_one() {
        for (name, is_one) in [
            ("hopwatch-gateway", true),
            ("/opt/hopwatch/bin/hopwatch-robot-sim", true),
            ("./hopwatch-lab-probe", true),
            ("hopwatch-ros", false),
            ("/hopwatch-gateway/hopwatch", false),
            ("", false),
        ] {
            assert_eq!(by_name(OsStr::new(name)).is_some(), is_one, "{name}");
        }
    }
}
