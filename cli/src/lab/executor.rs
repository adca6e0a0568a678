//! `hopwatch lab executor`.
//!
//! # Protocol
//!
//! A run has two processes. The laser, `hopwatch-lab-probe executor --role scans --rate-hz R --for-ms
//! M`, publishes `sensor_msgs/msg/LaserScan` with 720 ranges on `/scan`, R a second on an absolute
//! schedule, and ends after M ms or when asked to (SIGINT, the end of standard input):
//!
//! ```json
//! {"ready":true}
//! {"scans":{"published":600}}
//! ```
//!
//! The node under test is `hopwatch-lab-probe executor --role node`, `lab/python/executor.py --role
//! node` or the C++ program `executor --role node`, which take the same flags: `--threads T` (of the
//! multi-threaded executor, or of Rust's pool of workers), `--work threads|process|numpy` (the latter
//! two are Python's), `--heavy N`, `--period-ms P`, `--for-ms M`. Its timer of P ms publishes
//! `geometry_msgs/msg/Twist` on `/cmd_vel` and notes the time; its subscription on `/scan` adds N
//! sines. It counts turns from the first scan on, and fails when none comes for 30 s. Both callbacks
//! are in mutually exclusive groups of their own, both topics are BEST_EFFORT, VOLATILE, KEEP_LAST 5.
//! It says that it is ready before it spins, ends M ms after the first turn of its loop, or when asked
//! to, and says
//!
//! ```json
//! {"node":{"turns_ns":[0,10000312,…],"heavy_ns":[63012345,…],"callbacks":[[601,0],[0,95]],
//!  "taken":95}}
//! ```
//!
//! `turns_ns` are readings of CLOCK_MONOTONIC less the first one; `heavy_ns` how long each heavy
//! callback took that ended; `callbacks` of each thread the turns of the loop and the heavy callbacks;
//! `taken` the scans that reached the callback (in Rust: the node). Errors: a line `error: …` on
//! standard error and exit code 4; wrong flags: 2.

use super::args::Common;
use super::files::{begin, finish_after, folder};
use super::of_run;
use super::probe::{Probe, Start, missing, slug};
use super::rounds::{Measured, Running, Turn, rounds};
use crate::args::Usage;
use crate::help;
use clap::Args;
use hopwatch_lab::Language;
use hopwatch_lab::executor::{Condition, Executor as Study, Node, Plan, Run, Work};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What a process needs to start and to end, for the time left.
const AROUND: Duration = Duration::from_secs(3);
/// How much longer the laser publishes than the loop goes on, at most: it is ended when the loop is.
const LASER_LONGER_MS: u32 = 60_000;
/// How much longer than its loop a node may take.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, Args)]
#[command(after_help = help::LAB_EXECUTOR)]
pub(crate) struct Executor {
    #[command(flatten)]
    common: Common,
    /// Threads of the executors, with commas between
    #[arg(long, value_name = "N[,N…]", value_delimiter = ',', default_value = "4,32",
          value_parser = clap::value_parser!(u32).range(1..=256))]
    threads: Vec<u32>,
    /// Sines that a scan costs [default: 5000000, with --full 50000000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000_000_000))]
    heavy: Option<u64>,
    /// How long each loop goes on [default: 6s, with --full 60s]
    #[arg(long = "for", value_name = "TIME", value_parser = crate::args::duration)]
    period_of_run: Option<Duration>,
    /// Scans a second
    #[arg(long, value_name = "HZ", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=1000))]
    scans: u32,
    /// Only these nodes, with commas between: rust, python, python-process, python-numpy, cpp
    #[arg(long, value_name = "NODE[,NODE…]", value_delimiter = ',', value_enum)]
    only: Vec<Kind>,
    /// Lay the figures beside those of a run: its folder
    #[arg(long, value_name = "DIR")]
    run: Option<PathBuf>,
}

/// A kind of node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    Rust,
    Python,
    PythonProcess,
    PythonNumpy,
    Cpp,
}

impl Kind {
    const ALL: [Self; 5] =
        [Self::Rust, Self::Cpp, Self::Python, Self::PythonProcess, Self::PythonNumpy];

    fn condition(self, threads: u32) -> Condition {
        let (language, work) = match self {
            Self::Rust => (Language::Rust, Work::Threads),
            Self::Cpp => (Language::Cpp, Work::Threads),
            Self::Python => (Language::Python, Work::Threads),
            Self::PythonProcess => (Language::Python, Work::Process),
            Self::PythonNumpy => (Language::Python, Work::Numpy),
        };
        Condition { language, work, threads }
    }

    /// Whether the number of threads is in question: work elsewhere is tried with the fewest.
    fn varies(self) -> bool {
        !matches!(self, Self::PythonProcess | Self::PythonNumpy)
    }
}

#[derive(Deserialize)]
struct SaidByNode {
    node: Node,
}

#[derive(Deserialize)]
struct SaidByLaser {
    scans: Scans,
}

#[derive(Deserialize)]
struct Scans {
    published: u64,
}

pub(crate) async fn run(args: Executor) -> anyhow::Result<u8> {
    let mut plan = plan(&args)?;
    // Each language once, however many kinds it has.
    let mut skipped = Vec::new();
    let mut gone = Vec::new();
    for language in [Language::Rust, Language::Cpp, Language::Python] {
        let wanted = plan.conditions.iter().any(|one| one.language == language);
        if wanted && let Some(why) = missing(language, "executor").await {
            // The laser is Rust's.
            if language == Language::Rust {
                return Err(Usage(format!("{}: {}", why.what, why.why)).into());
            }
            tell!("skipped: {}: {}", why.what, why.why);
            skipped.push(why);
            gone.push(language);
        }
    }
    plan.conditions.retain(|one| !gone.contains(&one.language));
    if plan.conditions.is_empty() {
        return Err(Usage("no node of those that are wanted can be had here".to_owned()).into());
    }
    let folder = folder::<Study>(args.common.out.as_deref())?;
    let mut raw = begin::<Study>(plan.clone(), args.common.seed());
    raw.skipped = skipped;
    let expected = Duration::from_millis(u64::from(plan.for_ms)) + AROUND;
    let turn = |one: &Condition| Turn { condition: *one, name: one.name(), expected };
    let turns: Vec<Turn<Condition>> = plan.conditions.iter().map(turn).collect();
    let running = Running::default();
    let ran = rounds::<Study, _>(
        &folder,
        &mut raw,
        &turns,
        plan.rounds,
        &running,
        async |round, turn| one(&plan, &folder, &running, round, turn.condition).await,
    );
    let ran = ran.await;
    finish_after::<Study>(&folder, &raw, ran)
}

fn plan(args: &Executor) -> Result<Plan, Usage> {
    let mut threads = args.threads.clone();
    threads.sort_unstable();
    threads.dedup();
    let fewest = threads.first().copied().unwrap_or(4);
    let kinds =
        Kind::ALL.into_iter().filter(|kind| args.only.is_empty() || args.only.contains(kind));
    let conditions = kinds
        .flat_map(|kind| {
            let threads = if kind.varies() { threads.clone() } else { vec![fewest] };
            threads.into_iter().map(move |threads| kind.condition(threads))
        })
        .collect();
    let full = args.common.full;
    let whole = args.period_of_run.unwrap_or(Duration::from_secs(if full { 60 } else { 6 }));
    let for_ms = u32::try_from(whole.as_millis()).ok().filter(|ms| (1000..=3_600_000).contains(ms));
    let for_ms = for_ms.ok_or_else(|| Usage("--for must lie between 1s and 1h".to_owned()))?;
    Ok(Plan {
        conditions,
        rounds: args.common.rounds.unwrap_or(5),
        heavy: args.heavy.unwrap_or(if full { 50_000_000 } else { 5_000_000 }),
        period_ms: 10,
        for_ms,
        // What was published had its stalls within the first 4 s; of short runs it is a third.
        start_up_ms: (for_ms / 3).min(4000),
        scans_hz: args.scans,
        of_run: args.run.as_deref().map(of_run::read).transpose()?,
    })
}

/// One run: the laser first, then the node, which ends by itself.
async fn one(
    plan: &Plan,
    folder: &Path,
    running: &Running,
    round: u32,
    condition: Condition,
) -> anyhow::Result<Measured<Run>> {
    let domain = crate::domain::free();
    let environment = vec![
        ("ROS_DOMAIN_ID".to_owned(), domain.to_string()),
        ("ROS_AUTOMATIC_DISCOVERY_RANGE".to_owned(), "LOCALHOST".to_owned()),
    ];
    let start = |name: &str, language: Language, args: Vec<String>| Start {
        name: format!("{round:02}-{}-{name}", slug(&condition.name())),
        language,
        probe: "executor",
        script: include_str!("../../../lab/python/executor.py"),
        args,
        environment: environment.clone(),
        folder,
        running,
        place: None,
        without: &[],
    };
    let words = |text: String| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let laser_ms = plan.for_ms + LASER_LONGER_MS;
    let laser = format!("--role scans --rate-hz {} --for-ms {laser_ms}", plan.scans_hz);
    let mut laser = Probe::start(start("laser", Language::Rust, words(laser))).await?;
    let work = match condition.work {
        Work::Threads => "threads",
        Work::Process => "process",
        Work::Numpy => "numpy",
    };
    let node = format!(
        "--role node --threads {} --work {work} --heavy {} --period-ms {} --for-ms {}",
        condition.threads, plan.heavy, plan.period_ms, plan.for_ms
    );
    let mut node = Probe::start(start("node", condition.language, words(node))).await?;
    let patience = Duration::from_millis(u64::from(plan.for_ms)) + PATIENCE;
    let said = tokio::time::timeout(patience, node.said::<SaidByNode>()).await;
    let mut killed = u64::from(!node.end(PATIENCE).await);
    // It says how many there were, and ends.
    laser.interrupt();
    let scans = laser.said::<SaidByLaser>().await;
    killed += u64::from(!laser.end(PATIENCE).await);
    let Ok(said) = said else {
        anyhow::bail!("the node did not end within {} s", patience.as_secs());
    };
    let run = Run { round, condition, node: said?.node, scans: scans?.scans.published };
    Ok(Measured { run, killed })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use crate::lab::Lab;
    use clap::Parser;

    fn asked(words: &str) -> Executor {
        let words = format!("hopwatch lab executor {words}");
        match Cli::try_parse_from(words.split_whitespace()).unwrap().command {
            Command::Lab(Lab::Executor(args)) => *args,
            other => panic!("{other:?}"),
        }
    }

    fn planned(words: &str) -> Result<Plan, Usage> {
        plan(&asked(words))
    }

    #[test]
    fn quick_takes_minutes_and_full_what_was_published() {
        let quick = planned("").unwrap();
        let names: Vec<String> = quick.conditions.iter().map(Condition::name).collect();
        let all = [
            "Rust, 4 threads",
            "Rust, 32 threads",
            "C++, 4 threads",
            "C++, 32 threads",
            "rclpy, 4 threads",
            "rclpy, 32 threads",
            "rclpy, work in a process, 4 threads",
            "rclpy, work in NumPy, 4 threads",
        ];
        assert_eq!(names, all);
        assert_eq!((quick.rounds, quick.for_ms, quick.start_up_ms), (5, 6000, 2000));
        let full = planned("--full").unwrap();
        assert_eq!(
            (full.rounds, full.for_ms, full.heavy, full.start_up_ms),
            (5, 60_000, 50_000_000, 4000)
        );
        let some = planned("--only rust,python-numpy --threads 8,2,8 --for 2s --heavy 9").unwrap();
        let names: Vec<String> = some.conditions.iter().map(Condition::name).collect();
        assert_eq!(
            names,
            ["Rust, 2 threads", "Rust, 8 threads", "rclpy, work in NumPy, 2 threads"]
        );
        assert_eq!(slug(&some.conditions[2].name()), "rclpy-work-in-numpy-2-threads");
    }

    #[test]
    fn nonsense_is_refused() {
        for bad in [
            "--threads 0",
            "--threads 257",
            "--heavy 0",
            "--scans 0",
            "--only java",
            "--for 0s",
            "--rounds 0",
        ] {
            let words = format!("hopwatch lab executor {bad}");
            assert!(Cli::try_parse_from(words.split_whitespace()).is_err(), "{bad}");
        }
        assert!(planned("--for 2h").unwrap_err().0.contains("between 1s and 1h"));
        assert!(planned("--for 20ms").unwrap_err().0.contains("between 1s and 1h"));
        assert!(planned("--run /nowhere").unwrap_err().0.contains("/nowhere"));
    }
}
