//! The folder of a run: its records, run.json, and the files of its report.
//!
//! One way from records to report.json, report.md, report.html, traces.csv and glass.csv, for
//! `hopwatch report` and for the collector, which reports what it has while a run goes on.

mod files;
mod gathering;
mod run_file;

pub use files::{DATABASE, FilesError, REPORT, ReportFiles, replace};
pub use gathering::{BadLine, Gathered, Gathering};
pub use run_file::{End, NoRun, RUN_FILE, RunFile, UnderWay, is_in};
