//! `hopwatch report`, and the end of `hopwatch run`: from the folder of a run to its report.

use crate::args::{Report, Usage};
use crate::{compare, lab};
use anyhow::Context;
use hopwatch_analysis::{report, table};
use hopwatch_archive::{ArchiveError, Reader};
use hopwatch_folder::{DATABASE, End, Gathered, Gathering, ReportFiles, RunFile};
use hopwatch_kit::service::exit;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::Path;

/// `hopwatch report`.
pub(crate) fn command(args: &Report) -> anyhow::Result<u8> {
    if !args.folder.is_dir() {
        return Err(Usage(format!("{} is no folder", args.folder.display())).into());
    }
    if compare::is_in(&args.folder) {
        if args.records {
            let text = "an experiment has no records of its own: name one of its trials";
            return Err(Usage(text.to_owned()).into());
        }
        return compare::report(&args.folder);
    }
    if lab::is_in(&args.folder) {
        if args.records {
            let text = "a study has no records: what it measured stands in its study.json";
            return Err(Usage(text.to_owned()).into());
        }
        return lab::report(&args.folder);
    }
    if args.records {
        print_records(&args.folder)?;
        return Ok(exit::OK);
    }
    let code = make(&args.folder)?;
    tell!("report: {}", args.folder.display());
    Ok(code)
}

/// Makes the report of a folder: prints the table, writes the files, gives the exit code of the
/// run. The same folder gives the same bytes.
pub(crate) fn make(folder: &Path) -> anyhow::Result<u8> {
    let run = RunFile::read(folder)?;
    let (Gathered { data, messages_not_kept }, run_id) = gather(folder)?;
    let info = run.info(run_id, messages_not_kept);
    let report = report(&data, info, run.environment(), &run.budget());
    // Shown first: a folder that is gone must not take the summary with it.
    print(|out| write!(out, "{}", table(&report)))?;
    if run.end() == End::NotYet {
        tell!("the run was not ended properly: this is what was stored of it");
    }
    ReportFiles::of(&report, &data)?.write(folder)?;
    Ok(match (run.end(), report.exit_code()) {
        (End::Failed, _) => exit::FAILED,
        // A pipeline that delivered nothing or had no steady state is told by the code all the
        // same.
        (_, exit::BUDGET_MISSED) if !run.judged() => exit::OK,
        (_, code) => code,
    })
}

/// Reads all records of a run's folder; gives the run's id, too.
pub(crate) fn gather(folder: &Path) -> anyhow::Result<(Gathered, String)> {
    let reader = open(folder)?;
    let mut gathering = Gathering::default();
    let read = reader.by_source(|line| Ok(gathering.take(line)?));
    read.map_err(|error| at_fault(folder, error))?;
    Ok((gathering.end(), reader.run_id().to_owned()))
}

/// The records as NDJSON.
fn print_records(folder: &Path) -> anyhow::Result<()> {
    let reader = open(folder)?;
    print(|out| {
        let mut out = BufWriter::new(out);
        reader.by_source(|line| writeln!(out, "{line}").map_err(Stop::Print)).map_err(|stop| {
            match stop {
                Stop::Print(error) => error,
                Stop::Read(error) => std::io::Error::other(error.to_string()),
            }
        })?;
        out.flush()
    })
}

/// Why printing records stopped.
enum Stop {
    Read(ArchiveError),
    Print(std::io::Error),
}

impl From<ArchiveError> for Stop {
    fn from(error: ArchiveError) -> Self {
        Self::Read(error)
    }
}

/// Prints on standard output; whoever reads it may have had enough.
pub(crate) fn print(
    write: impl FnOnce(&mut std::io::StdoutLock<'_>) -> std::io::Result<()>,
) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("failed to print")
        }
        _ => Ok(()),
    }
}

fn open(folder: &Path) -> anyhow::Result<Reader> {
    Reader::open(&folder.join(DATABASE)).map_err(|error| at_fault(folder, error.into()))
}

/// A folder that holds no records is named wrongly: that is a matter of usage.
fn at_fault(folder: &Path, error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref::<ArchiveError>() {
        Some(archive) if archive.is_of_the_file() => {
            Usage(format!("{} can't be reported: {archive}", folder.display())).into()
        }
        Some(_) => error,
        None => Usage(format!("{} can't be reported: {error:#}", folder.display())).into(),
    }
}
