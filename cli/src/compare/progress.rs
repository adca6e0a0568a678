//! How an experiment stands, and how long it may still take.

use super::experiment::Experiment;
use hopwatch_analysis::Arm;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::time::Duration;

/// Shows progress on standard error: a bar on a terminal, a line each trial elsewhere.
pub(super) struct Progress {
    bar: Option<ProgressBar>,
    /// What the trials of this session took.
    took: Vec<Duration>,
}

impl Progress {
    pub(super) fn new(experiment: &Experiment) -> Self {
        let all = u64::try_from(experiment.turns().len()).unwrap_or(u64::MAX);
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(all);
            if let Ok(style) = ProgressStyle::with_template("{bar:30} {elapsed_precise} {msg}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_secs(1));
            bar
        });
        Self { bar, took: Vec::new() }
    }

    /// A trial begins.
    pub(super) fn begin(&self, experiment: &Experiment, block: u32, arm: &Arm) {
        let (done, all) = (experiment.trials.len(), experiment.turns().len());
        let text = format!(
            "trial {} of {all} · block {block} · {} · {} left",
            done + 1,
            arm.name,
            about(self.left(experiment))
        );
        match &self.bar {
            Some(bar) => {
                bar.set_position(u64::try_from(done).unwrap_or(u64::MAX));
                bar.set_message(text);
            }
            None => tell!("{text}"),
        }
    }

    /// A trial is done.
    pub(super) fn done(&mut self, took: Duration) {
        self.took.push(took);
    }

    /// Something that must not be missed.
    pub(super) fn say(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| tell!("{text}")),
            None => tell!("{text}"),
        }
    }

    /// Takes the bar away.
    pub(super) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// By what trials took here, else by the plan.
    fn left(&self, experiment: &Experiment) -> Duration {
        let Some(times) = u32::try_from(self.took.len()).ok().filter(|n| *n > 0) else {
            return experiment.estimate();
        };
        let left = u32::try_from(experiment.left().len()).unwrap_or(u32::MAX);
        (self.took.iter().sum::<Duration>() / times).saturating_mul(left)
    }
}

/// A time that nobody knows to the second.
pub(super) fn about(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds < 100 {
        format!("about {} s", seconds.div_ceil(5) * 5)
    } else if seconds < 2 * 3600 {
        format!("about {} min", seconds.div_ceil(60))
    } else {
        format!("about {:.1} h", time.as_secs_f64() / 3600.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_as_exact_as_they_are_known() {
        for (seconds, text) in [
            (0, "about 0 s"),
            (42, "about 45 s"),
            (100, "about 2 min"),
            (3600, "about 60 min"),
            (9000, "about 2.5 h"),
        ] {
            assert_eq!(about(Duration::from_secs(seconds)), text);
        }
    }
}
