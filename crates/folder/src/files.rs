//! The files of a run.

use hopwatch_analysis::{Dataset, Report, glass_csv, markdown, traces_csv};
use hopwatch_html::report_html;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The records, as SQLite.
pub const DATABASE: &str = "records.db";
/// The figures.
pub const REPORT: &str = "report.json";

/// Why files of a report can't be made.
#[derive(Debug, Error)]
pub enum FilesError {
    /// What is in a report can always be written as JSON, but JSON says that it may fail.
    #[error("failed to write JSON")]
    Json(#[from] serde_json::Error),
    /// The same of CSV.
    #[error("failed to write CSV")]
    Csv(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The disk is full, the folder is gone, …
    #[error("failed to write {path}", path = path.display())]
    Disk {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// The files of a report, with what is in them.
#[derive(Clone, Debug)]
pub struct ReportFiles([(&'static str, String); 5]);

impl ReportFiles {
    /// report.json, report.html, report.md, traces.csv and glass.csv.
    pub fn of(report: &Report, data: &Dataset) -> Result<Self, FilesError> {
        let mut json = serde_json::to_string_pretty(report)?;
        json.push('\n');
        Ok(Self([
            ("traces.csv", traces_csv(data).map_err(|error| FilesError::Csv(error.into()))?),
            ("glass.csv", glass_csv(data).map_err(|error| FilesError::Csv(error.into()))?),
            ("report.md", markdown(report)),
            ("report.html", report_html(report, data)),
            (REPORT, json),
        ]))
    }

    /// Writes them into a folder, report.json last.
    pub fn write(&self, folder: &Path) -> Result<(), FilesError> {
        self.0.iter().try_for_each(|(name, text)| replace(&folder.join(name), text))
    }

    /// The text of one of them; `None` for a name that none has.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, text)| text.as_str())
    }
}

/// Writes a file: it appears whole or not at all.
pub fn replace(path: &Path, text: &str) -> Result<(), FilesError> {
    let mut part = path.as_os_str().to_owned();
    part.push(".tmp");
    std::fs::write(&part, text)
        .and_then(|()| std::fs::rename(&part, path))
        .map_err(|source| FilesError::Disk { path: path.to_owned(), source })
}
