//! `hopwatch-robot-sim`: see the library.

use hopwatch_kit::service::Identity;
use hopwatch_robot_sim::{Config, Flags, domain, run};
use std::io::Write;
use std::process::ExitCode;

const IDENTITY: Identity = Identity {
    program: "hopwatch-robot-sim",
    about: "Simulated robots that publish on an open-loop schedule and count what they publish",
    section: "robot_sim",
    version: env!("CARGO_PKG_VERSION"),
};

fn main() -> ExitCode {
    hopwatch_kit::main::<Config, Flags, _, _>(IDENTITY, |config, shutdown| async {
        domain::enter(config.domain)?;
        let summary = run(config, shutdown).await?;
        writeln!(std::io::stdout(), "{}", serde_json::to_string(&summary)?)?;
        Ok(())
    })
}
