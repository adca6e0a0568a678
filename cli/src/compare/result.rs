//! What an experiment comes to: from its folder to its report.

use super::experiment::{Done, Experiment};
use crate::args::Usage;
use crate::report::{gather, print};
use anyhow::{Context, bail};
use hopwatch_analysis::{
    Comparison, ExperimentPlan, Network, TrialFigures, compare_with, comparison_markdown,
    comparison_table,
};
use hopwatch_folder::{DATABASE, REPORT, RunFile, replace};
use hopwatch_html::comparison_html;
use hopwatch_kit::service::exit;
use hopwatch_model::Outcome;
use std::io::Write;
use std::path::Path;

/// `hopwatch report` of an experiment's folder. The same folder gives the same bytes.
pub(crate) fn report(folder: &Path) -> anyhow::Result<u8> {
    let experiment = Experiment::read(folder)?
        .ok_or_else(|| Usage(format!("{} holds no experiment", folder.display())))?;
    let (left, all) = (experiment.left().len(), experiment.turns().len());
    if left > 0 {
        // Looking before the end, and going on or not as it looks, finds what isn't there.
        tell!(
            "{} of {all} trials are done: nothing is compared before all are. The same \
             `hopwatch compare` goes on, with --out {}",
            all - left,
            folder.display()
        );
        return Ok(exit::UNSTABLE);
    }
    make(&experiment, folder)
}

/// Compares the trials, prints the table and writes the files.
pub(super) fn make(experiment: &Experiment, folder: &Path) -> anyhow::Result<u8> {
    let plan = experiment.comparison_plan();
    let figures = |done: &Done| {
        let arm = plan.arms.iter().position(|arm| arm.name == done.arm);
        let arm = arm.with_context(|| format!("the plan has no arm {}", done.arm))?;
        figures(&plan, arm, done.block, &done.folder, folder)
    };
    let trials: Vec<TrialFigures> =
        experiment.trials.iter().map(figures).collect::<anyhow::Result<_>>()?;
    let mut comparison = compare_with(&plan, &trials, &experiment.selected(&plan));
    comparison.notes.extend(experiment.notes());
    comparison.notes.extend(losses(experiment, &plan, folder)?);
    // Shown first: a folder that is gone must not take the answer with it.
    print(|out| write!(out, "{}", comparison_table(&comparison)))?;
    write_files(folder, &comparison)?;
    tell!("comparison: {}", folder.display());
    Ok(comparison.exit_code())
}

/// The figures of one trial, in the folder of its experiment.
pub(super) fn figures(
    plan: &ExperimentPlan,
    arm: usize,
    block: u32,
    name: &str,
    folder: &Path,
) -> anyhow::Result<TrialFigures> {
    let (gathered, _) = gather(&folder.join(name)).with_context(|| format!("trial {name}"))?;
    let lanes: Vec<&String> = gathered.data.lanes.keys().collect();
    let [lane] = lanes[..] else {
        bail!("trial {name} has {} lanes, where there must be one", lanes.len());
    };
    Ok(TrialFigures::of(arm, block, name, &gathered.data, lane, plan)?)
}

/// Where the kernel did not lose what was planned, by arm.
fn losses(
    experiment: &Experiment,
    plan: &ExperimentPlan,
    folder: &Path,
) -> anyhow::Result<Vec<String>> {
    let mut notes = Vec::new();
    for arm in &plan.arms {
        let mut networks = Vec::new();
        for done in experiment.trials.iter().filter(|done| done.arm == arm.name) {
            networks.extend(RunFile::read(&folder.join(&done.folder))?.network().cloned());
        }
        let off = Network::off_plan(&networks, arm.loss);
        notes.extend(off.into_iter().map(|off| format!("arm {}: {off}", arm.name)));
    }
    Ok(notes)
}

/// How many messages a trial had delivered, whatever became of it; `None`: that can't be read.
pub(super) fn delivered(folder: &Path) -> Option<u64> {
    if !folder.join(DATABASE).exists() {
        return Some(0);
    }
    let data = gather(folder).ok()?.0.data;
    let delivered = data.traces.iter().filter(|trace| trace.outcome == Outcome::Delivered);
    u64::try_from(delivered.count()).ok()
}

fn write_files(folder: &Path, comparison: &Comparison) -> anyhow::Result<()> {
    let mut json = serde_json::to_string_pretty(comparison).context("failed to write JSON")?;
    json.push('\n');
    for (name, text) in [
        ("report.md", &comparison_markdown(comparison)),
        ("report.html", &comparison_html(comparison)),
        (REPORT, &json),
    ] {
        replace(&folder.join(name), text)?;
    }
    Ok(())
}
