//! The whole program: what it refuses, and its summary at the end.

use crate::config::MOST_BYTES;
use crate::domain::{self, DomainError};
use crate::{Config, Flags, SimError, run};
use hopwatch_kit::config::Refused;
use hopwatch_kit::service::Identity;
use std::io::Write;
use std::process::ExitCode;

/// Who this program is.
pub const IDENTITY: Identity = Identity {
    program: "hopwatch-robot-sim",
    about: "Simulated robots that publish on an open-loop schedule and count what they publish",
    section: "robot_sim",
    version: env!("CARGO_PKG_VERSION"),
};

/// Each robot is a node with DDS entities of its own.
const MOST_ROBOTS: u32 = 1000;

/// The whole program.
pub fn main() -> ExitCode {
    hopwatch_kit::main::<Config, Flags, _, _>(IDENTITY, |config, shutdown| async {
        let robots = config.robots.get();
        if robots > MOST_ROBOTS {
            let why = format!("robots must be at most {MOST_ROBOTS}, not {robots}");
            return Err(Refused(why).into());
        }
        if config.payload_bytes > MOST_BYTES {
            let why =
                format!("payload_bytes must be at most {MOST_BYTES}, not {}", config.payload_bytes);
            return Err(Refused(why).into());
        }
        if let Some(why) = config.contradiction() {
            return Err(Refused(why).into());
        }
        let topics = config.topics().map_err(|why| Refused(format!("lanes: {why}")))?;
        let most = usize::try_from(MOST_BYTES).unwrap_or(usize::MAX);
        if let Some(topic) = topics.iter().find(|topic| topic.payload_bytes > most) {
            let (name, bytes) = (&topic.name, topic.payload_bytes);
            let why = format!("the payload of {name} must be at most {MOST_BYTES}, not {bytes}");
            return Err(Refused(why).into());
        }
        domain::enter(config.domain).map_err(|error| match error {
            DomainError::Variable(_) => Refused(error.to_string()).into(),
            DomainError::Restart(_) => anyhow::Error::new(error),
        })?;
        let summary = run(config, shutdown).await.map_err(|error| match error {
            SimError::Control(error) => error,
            error if error.is_wrong_usage() => Refused(error.to_string()).into(),
            error => anyhow::Error::new(error),
        })?;
        writeln!(std::io::stdout(), "{}", serde_json::to_string(&summary)?)?;
        Ok(())
    })
}
