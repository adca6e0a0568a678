//! Conditions in rounds: every round has each of them once, in an order of its own (METHOD 15).

use super::files::keep;
use super::housekeeping::after;
use crate::interrupts::Interrupts;
use crate::order::order;
use hopwatch_lab::{Raw, Study};
use indicatif::{ProgressBar, ProgressStyle};
use rustix::process::{Pid, Signal, kill_process};
use std::io::IsTerminal;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

/// How long a run may take to end once its processes were asked to.
const PATIENCE: Duration = Duration::from_secs(20);

/// Something to measure.
pub(crate) trait Condition {
    /// Its name, as the report has it.
    fn name(&self) -> String;
    /// About how long a run of it takes, for the time left.
    fn expected(&self) -> Duration;
}

/// A condition of a study, with what rounds need to know of it.
pub(crate) struct Turn<C> {
    pub(crate) condition: C,
    pub(crate) name: String,
    pub(crate) expected: Duration,
}

impl<C> Condition for Turn<C> {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn expected(&self) -> Duration {
        self.expected
    }
}

/// What a run gave.
pub(crate) struct Measured<Run> {
    pub(crate) run: Run,
    /// Processes that had to be killed.
    pub(crate) killed: u64,
}

/// The processes of the run that goes on: asked to end when the study is, and never left behind.
#[derive(Clone, Default)]
pub(crate) struct Running(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    pids: Vec<Pid>,
    /// The study is to end: nothing is started any more.
    over: bool,
    /// Processes that nobody waits for any more, being asked to end. Whether they did without being
    /// killed.
    ending: Vec<JoinHandle<bool>>,
}

impl Running {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the study is to end.
    pub(crate) fn is_over(&self) -> bool {
        self.lock().over
    }

    /// Takes a process in. One that comes when the study is to end is asked to end at once.
    pub(crate) fn add(&self, pid: Option<Pid>) {
        let mut state = self.lock();
        if state.over {
            pid.into_iter().for_each(ask);
        }
        state.pids.extend(pid);
    }

    /// Sees to the end of a process that nobody waits for any more.
    pub(super) fn end(&self, ending: JoinHandle<bool>) {
        self.lock().ending.push(ending);
    }

    /// Waits until no process of the run is left; how many had to be killed. Ids may belong to others
    /// from then on.
    async fn settle(&self) -> u64 {
        let ending = std::mem::take(&mut self.lock().ending);
        let mut killed = 0;
        for one in ending {
            killed += u64::from(!one.await.unwrap_or(false));
        }
        self.lock().pids.clear();
        killed
    }

    /// Asks all of them to end: DDS cleans up at SIGINT.
    fn interrupt(&self) {
        let mut state = self.lock();
        state.over = true;
        state.pids.iter().copied().for_each(ask);
    }
}

fn ask(pid: Pid) {
    let _gone = kill_process(pid, Signal::INT);
}

/// Runs all conditions in rounds, and keeps what they gave after each run: until all are done
/// (`Raw::complete`), or Ctrl-C comes.
pub(crate) async fn rounds<S: Study, C: Condition>(
    folder: &Path,
    raw: &mut Raw<S::Plan, S::Run>,
    conditions: &[C],
    rounds: u32,
    running: &Running,
    mut run: impl AsyncFnMut(u32, &C) -> anyhow::Result<Measured<S::Run>>,
) -> anyhow::Result<()> {
    let mut interrupts = Interrupts::new(false)?;
    let numbers: Vec<usize> = (0..conditions.len()).collect();
    let turns: Vec<(u32, &C)> = order(&numbers, rounds, raw.seed)
        .into_iter()
        .zip(1..)
        .flat_map(|(round, number)| round.into_iter().map(move |at| (number, at)))
        .filter_map(|(number, at)| Some((number, conditions.get(at)?)))
        .collect();
    // What others left is no run's.
    raw.housekeeping.push(after("before the first run", 0));
    let mut progress = Progress::new(turns.iter().map(|(_, one)| one.expected()).collect());
    for (round, condition) in turns {
        let name = format!("round {round}, {}", condition.name());
        progress.begin(&name);
        let mut measured = Box::pin(run(round, condition));
        let done = tokio::select! {
            done = &mut measured => Some(done),
            _ = interrupts.next() => {
                running.interrupt();
                tokio::select! {
                    _ = tokio::time::timeout(PATIENCE, &mut measured) => {}
                    // Asked again: what is left is seen to below.
                    _ = interrupts.next() => {}
                }
                None
            }
        };
        // Processes that it still had are asked to end by that.
        drop(measured);
        let left = running.settle().await;
        let Some(done) = done else {
            progress.end();
            tell!("stopped: the report has the {} runs that were done", raw.runs.len());
            raw.housekeeping.push(after(&format!("{name}, stopped"), left));
            keep::<S>(folder, raw)?;
            return Ok(());
        };
        let Measured { run, killed } = match done {
            Ok(measured) => measured,
            Err(error) => {
                progress.end();
                raw.housekeeping.push(after(&format!("{name}, failed"), left));
                keep::<S>(folder, raw)?;
                return Err(error.context(format!("failed in {name}")));
            }
        };
        let killed = killed + left;
        raw.runs.push(run);
        raw.housekeeping.push(after(&name, killed));
        keep::<S>(folder, raw)?;
        progress.done();
    }
    progress.end();
    raw.complete = true;
    keep::<S>(folder, raw)
}

/// A bar on a terminal, a line for each run elsewhere.
struct Progress {
    bar: Option<ProgressBar>,
    expected: Vec<Duration>,
    done: usize,
    began: Instant,
}

impl Progress {
    fn new(expected: Vec<Duration>) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(u64::try_from(expected.len()).unwrap_or(u64::MAX));
            if let Ok(style) = ProgressStyle::with_template("{bar:30} {elapsed_precise} {msg}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_secs(1));
            bar
        });
        Self { bar, expected, done: 0, began: Instant::now() }
    }

    fn begin(&self, name: &str) {
        let left = left(&self.expected, self.done, self.began.elapsed());
        let seconds = left.as_secs();
        let text = format!(
            "run {} of {} · {name} · about {}:{:02} left",
            self.done + 1,
            self.expected.len(),
            seconds / 60,
            seconds % 60
        );
        match &self.bar {
            Some(bar) => {
                bar.set_position(u64::try_from(self.done).unwrap_or(u64::MAX));
                bar.set_message(text);
            }
            None => tell!("{text}"),
        }
    }

    fn done(&mut self) {
        self.done += 1;
    }

    fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// The time left: what is expected of the rest, stretched by what the first ones took.
fn left(expected: &[Duration], done: usize, took: Duration) -> Duration {
    let (before, rest) = expected.split_at(done.min(expected.len()));
    let (before, rest): (Duration, Duration) = (before.iter().sum(), rest.iter().sum());
    if before.is_zero() { rest } else { rest.mul_f64(took.as_secs_f64() / before.as_secs_f64()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_what_runs_take() {
        let seconds = Duration::from_secs;
        let expected = [seconds(10), seconds(20), seconds(30)];
        assert_eq!(left(&expected, 0, seconds(0)), seconds(60));
        assert_eq!(left(&expected, 1, seconds(15)), seconds(75));
        assert_eq!(left(&expected, 3, seconds(90)), seconds(0));
        assert_eq!(left(&[], 0, seconds(0)), seconds(0));
    }
}
