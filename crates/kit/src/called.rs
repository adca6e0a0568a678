//! One program under several names: called by the name of one of those that it holds, it is that one.
//!
//! They are so linked and optimised once, and share one file on disk, in memory and in container images.

use std::ffi::OsStr;
use std::path::Path;
use std::process::ExitCode;

/// A whole program, from its command line to its exit code.
pub type Main = fn() -> ExitCode;

/// The one of these programs by whose name this process was called.
pub fn called(programs: &[(&str, Main)]) -> Option<Main> {
    by_name(programs, &std::env::args_os().next()?)
}

fn by_name(programs: &[(&str, Main)], called: &OsStr) -> Option<Main> {
    let name = Path::new(called).file_name()?;
    programs.iter().find(|(program, _)| *program == name).map(|(_, main)| *main)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_name_of_a_program_makes_it_one() {
        let main: Main = || ExitCode::SUCCESS;
        let programs =
            [("hopwatch-collector", main), ("hopwatch-web-ui", main), ("hopwatch-gateway", main)];
        for (name, is_one) in [
            ("hopwatch-collector", true),
            ("/opt/hopwatch/bin/hopwatch-web-ui", true),
            ("./hopwatch-gateway", true),
            ("hopwatch", false),
            ("hopwatch-ai-mock", false),
            ("/hopwatch-collector/hopwatch", false),
            ("", false),
        ] {
            assert_eq!(by_name(&programs, OsStr::new(name)).is_some(), is_one, "{name}");
        }
    }
}
