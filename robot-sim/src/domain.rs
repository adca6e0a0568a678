//! The ROS domain.
//!
//! r2r takes it from the environment only, and a program can't change its own environment safely
//! while it has threads. So the program is started anew, in the same process, with the right one.

use crate::config::Domain;
use std::env;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The environment variable that names the domain.
pub const VARIABLE: &str = "ROS_DOMAIN_ID";

/// Why the domain can't be used.
#[derive(Debug, thiserror::Error)]
pub enum DomainError {
    /// The environment names none.
    #[error("failed to read {VARIABLE}: {0}")]
    Variable(String),
    /// The program could not be started anew.
    #[error("failed to start anew in another ROS domain")]
    Restart(#[source] std::io::Error),
}

/// Makes sure that this process is in `wanted`; `None` takes what the environment says.
///
/// When it isn't, the program starts anew and this doesn't return. To be called before anything
/// else has been done.
pub fn enter(wanted: Option<Domain>) -> Result<(), DomainError> {
    let current = current(env::var(VARIABLE).ok().as_deref());
    match (wanted, current) {
        (None, Ok(_)) => Ok(()),
        (None, Err(error)) => Err(DomainError::Variable(error)),
        (Some(wanted), Ok(current)) if wanted == current => Ok(()),
        (Some(wanted), _) => {
            let program = env::current_exe().map_err(DomainError::Restart)?;
            let error = Command::new(program)
                .args(env::args_os().skip(1))
                .env(VARIABLE, u32::from(wanted).to_string())
                .exec();
            Err(DomainError::Restart(error))
        }
    }
}

/// The domain that ROS 2 reads out of the variable: unset or empty is domain 0.
fn current(variable: Option<&str>) -> Result<Domain, String> {
    variable.filter(|text| !text.is_empty()).unwrap_or("0").parse()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_names_a_domain_or_none() {
        assert_eq!(current(None).map(u32::from), Ok(0));
        assert_eq!(current(Some("")).map(u32::from), Ok(0));
        assert_eq!(current(Some("70")).map(u32::from), Ok(70));
        assert!(current(Some("lab")).is_err());
        assert!(current(Some("300")).is_err());
    }
}
