//! The folder of a study: study.json with what was measured, and the report's files made of it.

use crate::args::Usage;
use crate::compare;
use crate::environment::fingerprint;
use crate::report::print;
use anyhow::Context;
use hopwatch_folder::replace;
use hopwatch_html::study_html;
use hopwatch_kit::service::exit;
use hopwatch_lab::executor::Executor;
use hopwatch_lab::handover::Handover;
use hopwatch_lab::shapes::Shapes;
use hopwatch_lab::{Raw, SCHEMA, Study};
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What was measured.
const RAW: &str = "study.json";

/// Whether a folder is that of a study.
pub(crate) fn is_in(folder: &Path) -> bool {
    folder.join(RAW).is_file()
}

/// The report of a study's folder again: the same bytes.
pub(crate) fn report(folder: &Path) -> anyhow::Result<u8> {
    let path = folder.join(RAW);
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("failed to read {}", path.display()))?;
    let name = serde_json::from_str::<Value>(&text)
        .ok()
        .and_then(|raw| Some(raw.get("study")?.as_str()?.to_owned()));
    match name.as_deref() {
        Some(Shapes::NAME) => again::<Shapes>(folder, &path, &text),
        Some(Executor::NAME) => again::<Executor>(folder, &path, &text),
        Some(Handover::NAME) => again::<Handover>(folder, &path, &text),
        _ => {
            Err(Usage(format!("{} is of no study that this version knows", path.display())).into())
        }
    }
}

fn again<S: Study>(folder: &Path, path: &Path, text: &str) -> anyhow::Result<u8> {
    let raw: Raw<S::Plan, S::Run> = serde_json::from_str(text)
        .map_err(|error| Usage(format!("{} can't be read: {error}", path.display())))?;
    finish::<S>(folder, &raw)
}

/// The folder that a study writes to: made, or refused when another study is in it.
pub(crate) fn folder<S: Study>(out: Option<&Path>) -> anyhow::Result<PathBuf> {
    let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let folder = out.map_or_else(
        || Path::new("out").join(format!("lab-{}-{}", S::NAME, now.replace(':', "-"))),
        Path::to_path_buf,
    );
    let what = if is_in(&folder) {
        Some("a study")
    } else if compare::is_in(&folder) {
        Some("an experiment")
    } else if [hopwatch_folder::RUN_FILE, hopwatch_folder::REPORT, hopwatch_folder::DATABASE]
        .iter()
        .any(|name| folder.join(name).exists())
    {
        Some("a run")
    } else {
        None
    };
    if let Some(what) = what {
        let text = format!("{} has {what} already: name another folder", folder.display());
        return Err(Usage(text).into());
    }
    let logs = folder.join("logs");
    std::fs::create_dir_all(&logs)
        .with_context(|| format!("failed to make the folder {}", logs.display()))?;
    Ok(folder)
}

/// A study that is about to begin.
pub(crate) fn begin<S: Study>(plan: S::Plan, seed: u64) -> Raw<S::Plan, S::Run> {
    Raw {
        schema: SCHEMA.to_owned(),
        study: S::NAME.to_owned(),
        began: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        seed,
        complete: false,
        environment: fingerprint(&[]),
        plan,
        skipped: Vec::new(),
        runs: Vec::new(),
        housekeeping: Vec::new(),
    }
}

/// Writes what was measured so far: a study that is interrupted has it.
pub(crate) fn keep<S: Study>(folder: &Path, raw: &Raw<S::Plan, S::Run>) -> anyhow::Result<()> {
    let mut text = serde_json::to_string(raw).context("failed to write a study down")?;
    text.push('\n');
    put(folder, RAW, &text)
}

/// Writes the report's files, prints the document, and gives the exit code.
pub(crate) fn finish<S: Study>(folder: &Path, raw: &Raw<S::Plan, S::Run>) -> anyhow::Result<u8> {
    let made = S::report(raw);
    let markdown = made.document.markdown();
    let json = json!({
        "schema": raw.schema,
        "study": raw.study,
        "began": raw.began,
        "seed": raw.seed,
        "complete": raw.complete,
        "environment": raw.environment,
        "plan": raw.plan,
        "skipped": raw.skipped,
        "housekeeping": raw.housekeeping,
        "figures": made.figures,
    });
    let json = serde_json::to_string_pretty(&json).context("failed to write a report")?;
    put(folder, hopwatch_folder::REPORT, &format!("{json}\n"))?;
    put(folder, "report.md", &markdown)?;
    put(folder, "report.html", &study_html(&made.document))?;
    print(|out| out.write_all(markdown.as_bytes()))?;
    tell!("report: {}", folder.display());
    Ok(if made.decided && raw.complete { exit::OK } else { exit::UNSTABLE })
}

/// The same after rounds. When one failed, what was measured before it is reported all the same, and then
/// the failure.
pub(crate) fn finish_after<S: Study>(
    folder: &Path,
    raw: &Raw<S::Plan, S::Run>,
    ran: anyhow::Result<()>,
) -> anyhow::Result<u8> {
    if ran.is_err() && raw.runs.is_empty() {
        return ran.map(|()| exit::FAILED);
    }
    let code = finish::<S>(folder, raw)?;
    ran.map(|()| code)
}

fn put(folder: &Path, name: &str, text: &str) -> anyhow::Result<()> {
    let path = folder.join(name);
    replace(&path, text).with_context(|| format!("failed to write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hopwatch_lab::handover::{Condition, Gave, Plan, Run, Way};

    #[test]
    fn what_was_measured_before_a_failure_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let condition = Condition::new(Way::Moved, 1);
        let plan = Plan {
            conditions: vec![condition],
            rounds: 1,
            bytes: 64,
            messages: 1,
            warm_up: 0,
            rate_hz: 1.0,
            slow_ms: 0,
            apart: true,
            of_run: None,
        };
        let mut raw = begin::<Handover>(plan, 1);
        let failed = || Err(anyhow::anyhow!("a node died"));
        // Nothing was: there is nothing to report.
        let told = finish_after::<Handover>(folder.path(), &raw, failed()).unwrap_err();
        assert_eq!(told.to_string(), "a node died");
        assert!(!folder.path().join("report.md").exists());
        let gave = Gave::default();
        raw.runs.push(Run { round: 1, condition, gave, took: Vec::new(), watcher: None });
        let told = finish_after::<Handover>(folder.path(), &raw, failed()).unwrap_err();
        assert_eq!(told.to_string(), "a node died");
        let text = std::fs::read_to_string(folder.path().join("report.md")).unwrap();
        assert!(text.contains("stopped before all of its runs were done"), "{text}");
    }
}
