//! Measures what becomes of the broadcaster's pages when there are many of them.

use clap::Parser;
use hopwatch_kit::service::exit;
use hopwatch_many_pages::{Limits, Plan, measure};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Many pages at one broadcaster, some of which never read. Starts a broadcaster of its own.
///
/// Exit codes: 0 all is as promised, 1 it isn't, 2 wrong usage, 4 it could not be measured.
#[derive(Parser)]
struct Flags {
    /// Pages, in all
    #[arg(long, default_value_t = 1000)]
    pages: usize,
    /// Pages that never read
    #[arg(long, default_value_t = 100)]
    stalled: usize,
    /// Messages a second
    #[arg(long, value_name = "HZ", default_value_t = 50)]
    rate: u32,
    /// For how long
    #[arg(long, default_value_t = 30)]
    seconds: u32,
    /// Sizes of the messages in bytes, in turn
    #[arg(long, value_delimiter = ',', default_value = "300,700,1200,2000")]
    body_bytes: Vec<usize>,
    /// Where hopwatch-broadcaster is; default: beside this program
    #[arg(long, value_name = "FOLDER")]
    programs: Option<PathBuf>,
    /// Further words for hopwatch-broadcaster
    #[arg(last = true)]
    words: Vec<String>,
}

fn main() -> ExitCode {
    let flags = Flags::parse();
    match run(flags) {
        Ok(true) => ExitCode::from(exit::OK),
        Ok(false) => ExitCode::from(exit::BUDGET_MISSED),
        Err(error) => {
            let _gone = writeln!(std::io::stderr(), "many-pages: {error:#}");
            ExitCode::from(exit::FAILED)
        }
    }
}

fn run(flags: Flags) -> anyhow::Result<bool> {
    let programs = match flags.programs {
        Some(folder) => folder,
        None => std::env::current_exe()?.parent().map(PathBuf::from).unwrap_or_default(),
    };
    let plan = Plan {
        broadcaster: programs.join("hopwatch-broadcaster"),
        words: flags.words,
        pages: flags.pages,
        stalled: flags.stalled,
        rate_hz: flags.rate,
        seconds: flags.seconds,
        body_bytes: flags.body_bytes,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let measured = runtime.block_on(measure(&plan))?;
    let limits = Limits::default();
    let mut faults = measured.accounts();
    let counted = faults.is_empty();
    faults.extend(measured.shortcomings(&limits));
    let mut out = std::io::stdout().lock();
    writeln!(out, "{measured}")?;
    let sum = if counted { "adds up, page by page" } else { "does not add up" };
    writeln!(out, "account: {sum}")?;
    for fault in faults.iter().take(10) {
        writeln!(out, "FALLS SHORT: {fault}")?;
    }
    if faults.is_empty() {
        writeln!(
            out,
            "AS PROMISED: P99 below {} ms, memory below {} MiB, nothing lost by those who read",
            limits.p99_ns / 1_000_000,
            limits.memory_bytes(&measured) >> 20
        )?;
    }
    Ok(faults.is_empty())
}
