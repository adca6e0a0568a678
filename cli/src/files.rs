//! The files of a run.

use anyhow::Context;
use hopwatch_analysis::{Dataset, Report, glass_csv, markdown, traces_csv};
use hopwatch_html::report_html;
use std::path::Path;

/// The records, as SQLite.
pub(crate) const DATABASE: &str = "records.db";
/// The figures.
pub(crate) const REPORT: &str = "report.json";

/// Writes report.json, report.html, report.md, traces.csv and glass.csv.
pub(crate) fn write(out: &Path, report: &Report, data: &Dataset) -> anyhow::Result<()> {
    let mut json = serde_json::to_string_pretty(report).context("failed to write JSON")?;
    json.push('\n');
    let traces = traces_csv(data).context("failed to write CSV")?;
    let glass = glass_csv(data).context("failed to write CSV")?;
    for (name, text) in [
        ("traces.csv", &traces),
        ("glass.csv", &glass),
        ("report.md", &markdown(report)),
        ("report.html", &report_html(report, data)),
        (REPORT, &json),
    ] {
        replace(&out.join(name), text)?;
    }
    Ok(())
}

/// Writes a file: it appears whole or not at all.
pub(crate) fn replace(path: &Path, text: &str) -> anyhow::Result<()> {
    let mut part = path.as_os_str().to_owned();
    part.push(".tmp");
    std::fs::write(&part, text)
        .and_then(|()| std::fs::rename(&part, path))
        .with_context(|| format!("failed to write {}", path.display()))
}
