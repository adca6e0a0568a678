//! `hopwatch compare`: an experiment, trial by trial, and what it comes to.

mod args;
mod experiment;
mod plan;
mod progress;
mod result;
mod trial;

pub(crate) use args::Compare;
pub(crate) use experiment::is_in;
pub(crate) use result::report;

use crate::args::Usage;
use crate::interrupts::Interrupts;
use crate::network::{can_be_had, sweep_and_say};
use anyhow::Context;
use experiment::{Done, Experiment, Failed};
use hopwatch_analysis::Arm;
use hopwatch_folder::RunFile;
use hopwatch_kit::service::exit;
use plan::Plan;
use progress::Progress;
use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::path::Path;
use std::time::{Instant, SystemTime};
use trial::Ended;

/// Held while an experiment goes on.
const LOCK: &str = "experiment.lock";
/// How often a trial is begun before the experiment gives up.
const ATTEMPTS: u32 = 2;

/// `hopwatch compare`.
pub(crate) async fn compare(args: Compare) -> anyhow::Result<u8> {
    let mut interrupts = Interrupts::new(false)?;
    // 32 bits: people copy it.
    let plan = Plan::of(&args, u64::from(rand::random::<u32>()))?;
    let seed_is_given = Plan::seed_is_given(&args)?;
    let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let out = args
        .out
        .clone()
        .unwrap_or_else(|| Path::new("out").join(format!("compare-{}", now.replace(':', "-"))));
    let _lock = folder(&out)?;
    let lossy = plan.loss.iter().any(|loss| *loss > 0.0);
    let no_loss = tokio::task::spawn_blocking(move || {
        sweep_and_say();
        if lossy { can_be_had().err() } else { None }
    });
    let no_loss = no_loss.await.context("failed to look for network namespaces")?;
    let stored = Experiment::read(&out)?;
    let goes_on = stored.is_some();
    let mut experiment = match stored {
        Some(stored) => {
            stored.goes_on_with(plan, seed_is_given, &out, no_loss.as_deref())?;
            stored
        }
        None => Experiment::new(plan, now, no_loss.as_deref())?,
    };
    experiment.write(&out)?;
    announce(&experiment, &out, goes_on);
    let left = experiment.left();
    let mut progress = Progress::new(&experiment);
    for (block, arm) in left {
        match one(&mut experiment, &out, block, &arm, &mut progress, &mut interrupts).await? {
            Turn::Done => {}
            Turn::Interrupted => {
                progress.end();
                let (done, all) = (experiment.trials.len(), experiment.turns().len());
                tell!(
                    "stopped: {done} of {all} trials are done and kept; the same command goes on \
                     from there, with --out {}",
                    out.display()
                );
                return Ok(exit::UNSTABLE);
            }
        }
    }
    progress.end();
    let making = tokio::task::spawn_blocking(move || result::make(&experiment, &out));
    making.await.context("nothing can be compared")?
}

/// What became of a turn.
enum Turn {
    Done,
    Interrupted,
}

/// Runs a trial, once more if it fails, and keeps what it says.
async fn one(
    experiment: &mut Experiment,
    out: &Path,
    block: u32,
    arm: &Arm,
    progress: &mut Progress,
    interrupts: &mut Interrupts,
) -> anyhow::Result<Turn> {
    let name = format!("trials/{block:02}-{}", arm.name);
    let folder = out.join(&name);
    // What an earlier start left, when it ended without a word.
    let left = "hopwatch ended before it did";
    set_aside(experiment, out, (block, arm), &name, (left, true)).await?;
    for attempt in 1..=ATTEMPTS {
        progress.begin(experiment, block, arm);
        let began = Instant::now();
        let ended =
            trial::run(&experiment.plan, arm, experiment.namespaces, &folder, interrupts).await?;
        let failed = match ended {
            Ended::Interrupted => {
                let delivered = delivered(&folder).await;
                discard(&folder)?;
                experiment.failed.push(Failed {
                    block,
                    arm: arm.name.clone(),
                    folder: None,
                    why: "it was stopped by hand".to_owned(),
                    stopped: true,
                    delivered,
                });
                experiment.write(out)?;
                return Ok(Turn::Interrupted);
            }
            Ended::Code(code @ (exit::OK | exit::BUDGET_MISSED | exit::UNSTABLE)) => {
                match measured(experiment, out, block, arm, &name).await {
                    Ok(environment) => {
                        experiment.same_place(environment)?;
                        let took = began.elapsed();
                        experiment.trials.push(Done {
                            block,
                            arm: arm.name.clone(),
                            folder: name,
                            exit_code: code,
                            attempts: experiment.failures(block, &arm.name) + 1,
                            took_ns: u64::try_from(took.as_nanos()).unwrap_or(u64::MAX),
                        });
                        experiment.write(out)?;
                        progress.done(took);
                        return Ok(Turn::Done);
                    }
                    Err(error) => format!("{error:#}"),
                }
            }
            Ended::Code(_) | Ended::Killed => trial::last_words(&folder),
        };
        let said = format!("trial {name} failed: {failed}");
        set_aside(experiment, out, (block, arm), &name, (&failed, false)).await?;
        if attempt < ATTEMPTS {
            progress.say(&format!("{said}; once more"));
        } else if ended == Ended::Code(exit::USAGE) {
            progress.end();
            return Err(Usage(said).into());
        } else {
            progress.end();
            anyhow::bail!(
                "{said}; it failed {ATTEMPTS} times, and the experiment ends here. Trials that \
                 are done are kept: the same command goes on from there, with --out {}",
                out.display()
            );
        }
    }
    Ok(Turn::Interrupted)
}

/// Keeps what a trial left that is none, and its reason: run anew without a word, it would be a
/// choice of data.
async fn set_aside(
    experiment: &mut Experiment,
    out: &Path,
    (block, arm): (u32, &Arm),
    name: &str,
    (why, stopped): (&str, bool),
) -> anyhow::Result<()> {
    let folder = out.join(name);
    if !folder.exists() {
        return Ok(());
    }
    let delivered = delivered(&folder).await;
    let kept = (1..).map(|n: u32| format!("{name}-failed-{n}"));
    let kept = kept.into_iter().find(|kept| !out.join(kept).exists()).unwrap_or_default();
    std::fs::rename(&folder, out.join(&kept))
        .with_context(|| format!("failed to rename {}", folder.display()))?;
    experiment.failed.push(Failed {
        block,
        arm: arm.name.clone(),
        folder: Some(kept),
        why: why.to_owned(),
        stopped,
        delivered,
    });
    experiment.write(out)
}

async fn delivered(folder: &Path) -> Option<u64> {
    let folder = folder.to_owned();
    tokio::task::spawn_blocking(move || result::delivered(&folder)).await.ok().flatten()
}

/// Where a trial was measured, if it can be compared: that is known now, and not at the end.
async fn measured(
    experiment: &Experiment,
    out: &Path,
    block: u32,
    arm: &Arm,
    name: &str,
) -> anyhow::Result<BTreeMap<String, String>> {
    let run = RunFile::read(&out.join(name))?;
    anyhow::ensure!(run.is_whole(), "it was stopped before its time");
    let plan = experiment.comparison_plan();
    let number = plan.arms.iter().position(|of| of.name == arm.name);
    let number = number.with_context(|| format!("the plan has no arm {}", arm.name))?;
    let (out, name) = (out.to_owned(), name.to_owned());
    let work = move || result::figures(&plan, number, block, &name, &out).map(drop);
    tokio::task::spawn_blocking(work).await.context("failed to read a trial")??;
    Ok(run.environment())
}

/// Makes the folder, and takes it for this process alone.
fn folder(out: &Path) -> anyhow::Result<File> {
    let at = |error: &dyn std::fmt::Display| {
        Usage(format!("{} can't be used: {error}; choose another --out", out.display()))
    };
    if out.to_str().is_none() {
        return Err(at(&"it is not UTF-8").into());
    }
    std::fs::create_dir_all(out).map_err(|error| at(&error))?;
    if hopwatch_folder::is_in(out) {
        return Err(at(&"it is the folder of a run").into());
    }
    let lock = File::create(out.join(LOCK)).map_err(|error| at(&error))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(at(&"an experiment goes on in it").into()),
        Err(TryLockError::Error(error)) => Err(at(&error).into()),
    }
}

/// What a trial left that somebody stopped is no part of the experiment.
fn discard(folder: &Path) -> anyhow::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("failed to remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}

fn announce(experiment: &Experiment, out: &Path, goes_on: bool) {
    let plan = &experiment.plan;
    let (all, left) = (experiment.turns().len(), experiment.left().len());
    let control = if plan.control { ", the control among them" } else { "" };
    let time = progress::about(experiment.estimate());
    tell!(
        "experiment {}: {all} trials ({} arms{control}, {} blocks), seed {}",
        out.display(),
        experiment.arms().len(),
        plan.trials,
        plan.seed
    );
    if goes_on {
        tell!("goes on: {} trials are done, {left} are left, {time}", all - left);
    } else {
        tell!("all of it takes {time}");
    }
    if let Some(warning) = plan.few_messages() {
        eprintln!("warning: {warning}");
    }
    for skipped in &experiment.skipped {
        tell!("skipped: {}: {}", skipped.arm, skipped.why);
    }
}
