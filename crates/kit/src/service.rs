//! The `main` of a service: flags → configuration → logs → run → exit code.

use crate::config::{self, ConfigError};
use crate::logging::{self, LogFormat};
use crate::shutdown::Shutdown;
use clap::{Args, Command, FromArgMatches};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::future::Future;
use std::path::PathBuf;
use std::process::ExitCode;

/// Exit codes of every program of Hopwatch.
pub mod exit {
    /// Within budget; for services: ended in order.
    pub const OK: u8 = 0;
    /// A budget was missed.
    pub const BUDGET_MISSED: u8 = 1;
    /// Wrong usage or configuration.
    pub const USAGE: u8 = 2;
    /// Inconclusive or unstable.
    pub const UNSTABLE: u8 = 3;
    /// The pipeline failed.
    pub const FAILED: u8 = 4;
}

/// Flags that every service has.
#[derive(Clone, Debug, Args)]
pub struct CommonFlags {
    /// TOML file with a table for each program; environment and flags overrule it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Print the whole configuration as it would be used, and end
    #[arg(long)]
    pub check_config: bool,
    /// How log lines look
    #[arg(long, value_enum, default_value_t)]
    pub log_format: LogFormat,
    /// End when standard input ends: for programs that `hopwatch` starts
    #[arg(long, hide = true)]
    pub end_with_parent: bool,
}

/// Who a service is.
#[derive(Clone, Copy, Debug)]
pub struct Identity {
    /// The program's name ("hopwatch-gateway").
    pub program: &'static str,
    /// One sentence on what it does.
    pub about: &'static str,
    /// Its table in a configuration file, one of [`config::SECTIONS`].
    pub section: &'static str,
    /// Its version.
    pub version: &'static str,
}

/// Runs a service from its command line to its exit code.
pub fn main<C, F, Run, Fut>(identity: Identity, run: Run) -> ExitCode
where
    C: Default + Serialize + DeserializeOwned,
    F: Args + FromArgMatches + Serialize,
    Run: FnOnce(C, Shutdown) -> Fut,
    Fut: Future<Output = anyhow::Result<()>>,
{
    let matches = command::<C, F>(identity).get_matches();
    let parsed = CommonFlags::from_arg_matches(&matches)
        .and_then(|common| F::from_arg_matches(&matches).map(|flags| (common, flags)));
    let (common, flags) = match parsed {
        Ok(both) => both,
        Err(error) => error.exit(),
    };
    logging::init(common.log_format);
    let config: C = match load(identity, &common, &flags) {
        Ok(config) => config,
        Err(error) => {
            tracing::error!("{error}");
            return ExitCode::from(exit::USAGE);
        }
    };
    if common.check_config {
        return print_config(identity, &config);
    }
    match block_on(common.end_with_parent, |shutdown| run(config, shutdown)) {
        Ok(()) => ExitCode::from(exit::OK),
        Err(error) => {
            tracing::error!("{error:#}");
            let refused = error.is::<config::Refused>();
            ExitCode::from(if refused { exit::USAGE } else { exit::FAILED })
        }
    }
}

/// The command line: common flags and the service's own, with the defaults in the help.
pub fn command<C: Default + Serialize, F: Args>(identity: Identity) -> Command {
    let command = F::augment_args(CommonFlags::augment_args(Command::new(identity.program)));
    // After the flags, whose own documentation would take its place.
    let mut command = command
        .about(identity.about)
        .long_about(None::<&str>)
        .version(identity.version)
        .after_help(after_help(identity));
    let defaults = serde_json::to_value(C::default()).unwrap_or_default();
    let ids: Vec<String> = command.get_arguments().map(|a| a.get_id().to_string()).collect();
    for id in ids {
        let Some(default) = defaults.get(&id).filter(|v| !v.is_null()) else {
            continue;
        };
        let text = default.as_str().map_or_else(|| default.to_string(), str::to_owned);
        command = command.mut_arg(id, |arg| {
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            arg.help(format!("{help} [default: {text}]"))
        });
    }
    command
}

/// What stands behind the options.
fn after_help(Identity { program, section, .. }: Identity) -> String {
    let variable = format!("HOPWATCH_{}_", section.to_uppercase());
    format!(
        "\
Examples:
  {program} --check-config                      how it would run, as JSON, with all defaults
  {program} --config hopwatch.toml              with its table [{section}] of the file

Settings: --some-key is also the key some_key of the table [{section}] and the variable {variable}SOME_KEY. \
Flags overrule variables, which overrule the file. HOPWATCH_LOG sets the level of logs (debug), \
HOPWATCH_TOKEN what others must show.
Units: keys in _ms are milliseconds, in _hz a second, in _bytes bytes.

Exit codes: 0 ended in order, 2 usage or configuration, 4 failed

See also: hopwatch --help, which starts it with the others; docs/wire.md"
    )
}

fn load<C, F>(identity: Identity, common: &CommonFlags, flags: &F) -> Result<C, ConfigError>
where
    C: Default + Serialize + DeserializeOwned,
    F: Serialize,
{
    config::load(identity.section, common.config.as_deref(), config::environment(), flags)
}

fn print_config<C: Serialize>(identity: Identity, config: &C) -> ExitCode {
    use std::io::Write;
    let tables = std::collections::BTreeMap::from([(identity.section, config)]);
    let written = serde_json::to_string_pretty(&tables)
        .map_err(std::io::Error::from)
        .and_then(|text| writeln!(std::io::stdout(), "{text}"));
    ExitCode::from(if written.is_ok() { exit::OK } else { exit::FAILED })
}

fn block_on<Fut>(parent: bool, run: impl FnOnce(Shutdown) -> Fut) -> anyhow::Result<()>
where
    Fut: Future<Output = anyhow::Result<()>>,
{
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let result = runtime.block_on(async {
        let shutdown = Shutdown::on_signals(parent)?;
        run(shutdown).await
    });
    runtime.shutdown_timeout(std::time::Duration::from_secs(1));
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::config! {
        /// A configuration.
        struct TestConfig, TestFlags {
            /// How many
            workers: u32 = 4,
        }
    }

    #[test]
    fn the_help_says_how_else_it_is_set() {
        let identity = Identity { program: "p", about: "does", section: "ai_mock", version: "1" };
        let mut command = command::<TestConfig, TestFlags>(identity).term_width(100);
        command.build();
        let help = command.render_long_help().to_string();
        for part in [
            "How many [default: 4]",
            "\nExamples:\n  p --check-config",
            "[ai_mock]",
            "HOPWATCH_AI_MOCK_SOME_KEY",
            "Exit codes: 0 ended in order",
            "See also: ",
        ] {
            assert!(help.contains(part), "no {part:?} in {help}");
        }
    }
}
