//! One trial: a fresh `hopwatch run` with a folder of its own.

use super::plan::Plan;
use crate::interrupts::Interrupts;
use anyhow::Context;
use hopwatch_analysis::Arm;
use rustix::process::{Pid, Signal, kill_process};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tokio::process::{Child, Command};

/// What a run prints goes here.
const OUTPUT: &str = "output.log";

/// How long a run may take to end after Ctrl-C: 5 s are promised, and a report is made.
const STOP: Duration = Duration::from_secs(20);
/// How much longer than planned a trial may take before it counts as hanging: programs start and
/// end within a minute each.
const HANGS: Duration = Duration::from_secs(180);

/// How a trial ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// With the exit code of its run.
    Code(u8),
    /// By a signal, or it hung.
    Killed,
    /// Because somebody stopped the experiment.
    Interrupted,
}

/// Runs one in an empty folder.
pub(super) async fn run(
    plan: &Plan,
    arm: &Arm,
    namespaces: bool,
    folder: &Path,
    interrupts: &mut Interrupts,
) -> anyhow::Result<Ended> {
    let own = std::env::current_exe().context("failed to find this program's own path")?;
    let at = || format!("failed to write into {}", folder.display());
    std::fs::create_dir_all(folder).with_context(at)?;
    let output = std::fs::File::create(folder.join(OUTPUT)).with_context(at)?;
    let mut child = Command::new(&own)
        .args(words(plan, arm, namespaces))
        .arg("--out")
        .arg(folder)
        .stdin(Stdio::piped())
        .stdout(output.try_clone().with_context(at)?)
        .stderr(output)
        // Ctrl-C in the terminal is for us: the trial is stopped in order.
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .with_context(|| format!("failed to start {}", own.display()))?;
    // Its end tells the trial that we are gone, however we went.
    let _parent = child.stdin.take();
    let deadline = Duration::from_nanos(plan.for_ns) + HANGS;
    let ended = tokio::select! {
        ended = tokio::time::timeout(deadline, child.wait()) => ended,
        _ = interrupts.next() => {
            stop(&mut child, interrupts).await;
            return Ok(Ended::Interrupted);
        }
    };
    let Ok(status) = ended else {
        stop(&mut child, interrupts).await;
        return Ok(Ended::Killed);
    };
    let code = status.context("failed to wait for a trial")?.code();
    Ok(code.and_then(|code| u8::try_from(code).ok()).map_or(Ended::Killed, Ended::Code))
}

/// Asks it to end, once more whenever somebody asks us: the second time it ends at once.
async fn stop(child: &mut Child, interrupts: &mut Interrupts) {
    let late = tokio::time::sleep(STOP);
    tokio::pin!(late);
    loop {
        let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(pid) = pid {
            let _gone = kill_process(pid, Signal::INT);
        }
        tokio::select! {
            _ = child.wait() => return,
            _ = interrupts.next() => {}
            () = &mut late => break,
        }
    }
    tracing::warn!("a trial did not end in time and was killed");
    let _gone = child.kill().await;
}

/// The command line of the run.
fn words(plan: &Plan, arm: &Arm, namespaces: bool) -> Vec<String> {
    let mut words = vec!["run".to_owned(), "--end-with-parent".to_owned()];
    let mut put = |name: &str, value: String| words.push(format!("--{name}={value}"));
    put("for", humantime::format_duration(Duration::from_nanos(plan.for_ns)).to_string());
    put("qos", arm.qos.clone());
    put("link", arm.link.clone());
    put("rate", arm.rate_hz.to_string());
    put("payload-bytes", arm.payload_bytes.to_string());
    put("ai-ms", plan.ai_ms.to_string());
    put("ai-sigma", plan.ai_sigma.to_string());
    put("robots", plan.robots.to_string());
    if let Some(in_flight) = plan.in_flight {
        put("in-flight", in_flight.to_string());
    }
    if namespaces {
        put("loss", arm.loss.to_string());
        put("loss-legs", plan.loss_legs.join(","));
    }
    if plan.serial {
        words.push("--serial".to_owned());
    }
    words
}

/// What a run said of its end: the last line that begins with its name.
pub(super) fn last_words(folder: &Path) -> String {
    let text = std::fs::read_to_string(folder.join(OUTPUT)).unwrap_or_default();
    let said = text.lines().rev().find_map(|line| line.strip_prefix("hopwatch: "));
    let last = said.or_else(|| text.lines().rev().find(|line| line.starts_with("error: ")));
    last.map_or_else(|| format!("its {OUTPUT} has no error"), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command as Words};
    use crate::compare::args::Compare;
    use clap::Parser;

    #[test]
    fn a_trials_words_are_those_that_a_run_understands() {
        let args = Compare {
            loss: vec![0.0, 0.015],
            rate: vec![0.5],
            in_flight: Some(3),
            serial: true,
            ..Compare::default()
        };
        let plan = Plan::of(&args, 1).unwrap();
        let arm = plan.arms().into_iter().find(|arm| arm.loss > 0.0).unwrap();
        let line = ["hopwatch".to_owned()].into_iter().chain(words(&plan, &arm, true));
        let Words::Run(run) = Cli::try_parse_from(line).unwrap().command else {
            panic!("another command");
        };
        assert_eq!(run.duration, Duration::from_secs(20));
        assert_eq!((run.pipeline.rate, run.pipeline.in_flight), (Some(0.5), Some(3)));
        assert!(run.pipeline.serial && run.end_with_parent);
        let asked = run.network.asked().unwrap().unwrap();
        assert_eq!((asked.loss.to_bits(), asked.legs.len()), (0.015_f64.to_bits(), 3));
        let own = words(&plan, &arm, false);
        assert!(!own.iter().any(|word| word.starts_with("--loss")), "{own:?}");
    }
}
