//! Structured logs on standard error. Standard output belongs to what a program tells others.

use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;

/// How log lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// Text on a terminal, JSON elsewhere.
    #[default]
    Auto,
    /// A line of text each.
    Text,
    /// A JSON object each.
    Json,
}

/// Starts logging; `HOPWATCH_LOG` sets the level ("debug", "`hopwatch_gateway=trace`").
/// A second call in one process changes nothing.
pub fn init(format: LogFormat) {
    let filter = EnvFilter::try_from_env("HOPWATCH_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    let json = match format {
        LogFormat::Json => true,
        LogFormat::Text => false,
        LogFormat::Auto => !std::io::stderr().is_terminal(),
    };
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        // A log that can't be written (a full disk) must not end who writes it.
        .log_internal_errors(false);
    let _already_set = if json {
        builder.json().flatten_event(true).try_init()
    } else {
        builder.with_ansi(std::io::stderr().is_terminal()).try_init()
    };
}
