//! The files of a run.

use anyhow::Context;
use hopwatch_analysis::{Dataset, Report, glass_csv, markdown, traces_csv};
use std::path::Path;

/// Writes report.json, report.md, traces.csv and glass.csv, and the records they come from.
/// Each file appears whole or not at all.
pub(crate) fn write(
    out: &Path,
    report: &Report,
    data: &Dataset,
    records: &str,
) -> anyhow::Result<()> {
    let mut json = serde_json::to_string_pretty(report).context("failed to write JSON")?;
    json.push('\n');
    let traces = traces_csv(data).context("failed to write CSV")?;
    let glass = glass_csv(data).context("failed to write CSV")?;
    for (name, text) in [
        ("records.ndjson", records),
        ("traces.csv", &traces),
        ("glass.csv", &glass),
        ("report.md", &markdown(report)),
        ("report.json", &json),
    ] {
        let path = out.join(name);
        let part = out.join(format!("{name}.tmp"));
        std::fs::write(&part, text)
            .and_then(|()| std::fs::rename(&part, &path))
            .with_context(|| format!("failed to write {}", path.display()))?;
    }
    Ok(())
}
