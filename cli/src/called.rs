//! One program under several names: called by a service's name, `hopwatch` is that service.
//!
//! The services that need no ROS are so linked and optimised once, and share one file on disk, in
//! memory and in container images. Each of them builds alone, too.

use std::ffi::OsStr;
use std::path::Path;
use std::process::ExitCode;

/// A whole program, from its command line to its exit code.
type Main = fn() -> ExitCode;

/// The services that this program holds, by their names.
const SERVICES: [(&str, Main); 4] = [
    (hopwatch_ai_mock::IDENTITY.program, hopwatch_ai_mock::main),
    (hopwatch_broadcaster::IDENTITY.program, hopwatch_broadcaster::main),
    (hopwatch_collector::IDENTITY.program, hopwatch_collector::main),
    (hopwatch_web_ui::IDENTITY.program, hopwatch_web_ui::main),
];

/// The service by whose name this program was called.
pub(crate) fn service() -> Option<Main> {
    by_name(&std::env::args_os().next()?)
}

fn by_name(called: &OsStr) -> Option<Main> {
    let name = Path::new(called).file_name()?;
    SERVICES.iter().find(|(service, _)| *service == name).map(|(_, main)| *main)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_name_of_a_service_makes_it_one() {
        for (name, is_service) in [
            ("hopwatch-collector", true),
            ("/opt/hopwatch/bin/hopwatch-web-ui", true),
            ("./hopwatch-ai-mock", true),
            ("hopwatch", false),
            ("hopwatch-gateway", false),
            ("/hopwatch-collector/hopwatch", false),
            ("", false),
        ] {
            assert_eq!(by_name(OsStr::new(name)).is_some(), is_service, "{name}");
        }
    }
}
