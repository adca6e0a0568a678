//! `hopwatch`: starts the pipeline, measures it, says where the time goes.

/// Tells something on standard error, whether anybody is left to read it or not: a pager that was
/// closed, or a terminal that is gone, must not end a run.
macro_rules! tell {
    ($($text:tt)*) => {{
        let _nobody_reads = std::io::Write::write_fmt(
            &mut std::io::stderr(),
            format_args!("{}\n", format_args!($($text)*)),
        );
    }};
}

mod args;
mod called;
mod certificates;
mod child;
mod compare;
mod doctor;
mod domain;
mod environment;
mod fetch;
mod health;
mod help;
mod interrupts;
mod lab;
mod measure;
mod network;
mod order;
mod progress;
mod report;
mod respond;
mod settings;
mod shell;
mod stack;
mod token;
mod watched;

use args::{Cli, Command};
use clap::Parser;
use hopwatch_kit::logging::{self, LogFormat};
use hopwatch_kit::service::exit;
use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(service) = called::service() {
        return service();
    }
    // clap ends with 2 on wrong usage, which is our code for it too.
    let cli = Cli::parse();
    logging::init(LogFormat::Auto);
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error.into()),
    };
    let result = runtime.block_on(async {
        match cli.command {
            Command::Up(up) => measure::up(up).await,
            Command::Run(run) => measure::run(run).await,
            Command::Compare(compare) => compare::compare(*compare).await,
            Command::Lab(of) => lab::lab(of).await,
            Command::Respond(respond) => respond::run(respond).await,
            Command::Report(report) => report::command(&report),
            Command::Health(health) => health::health(&health).await,
            Command::Token(token) => token::command(&token),
            Command::Doctor(doctor) => doctor::run(*doctor).await,
            Command::Completions(of) => shell::completions(&of),
            Command::Certificates(wanted) => certificates::run(&wanted),
            Command::Man(of) => shell::manual(&of),
        }
    });
    runtime.shutdown_timeout(std::time::Duration::from_secs(1));
    match result {
        Ok(code) => ExitCode::from(code),
        Err(error) => failed(&error),
    }
}

fn failed(error: &anyhow::Error) -> ExitCode {
    tell!("hopwatch: {error:#}");
    let usage = error.is::<args::Usage>() || error.is::<hopwatch_folder::NoRun>();
    ExitCode::from(if usage { exit::USAGE } else { exit::FAILED })
}
