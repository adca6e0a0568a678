//! `hopwatch lab handover`.
//!
//! # Protocol
//!
//! `hopwatch-lab-probe handover` is a producer (`--role give`), a consumer (`--role take`), or both of
//! them in one process (`--role both`), of `--way moved|shared|copied|copied-once` (inside a process),
//! `dds`, `lent` (DDS, in memory that the middleware lends) or `iceoryx2`. The C++ program `handover`
//! takes `--role both` of the first four and of `dds` (its intra-process communication off), and the same
//! flags. All say that they are ready; a producer waits for its consumers (`--consumers`), hands over
//! `--warm-up` messages that aren't told and `--messages` that are, `--rate-hz` a second or in a
//! `--burst`, and stays until it is asked to end (SIGINT, the end of standard input), for consumers may
//! still read what is in its memory. A consumer ends when it has the last message, or is asked to. Each
//! says once what it measured:
//!
//! ```json
//! {"ready":true}
//! {"handover":{"gave":{"sent":30,"handed_ns":[…],"cpu_ns":…,"loopback_bytes":…,"buffers":[],
//!  "maps":[{"name":"fastrtps_…","file":"00:1a 42"}],"lends":null},
//!  "took":[{"latency_ns":[…],"read_ns":[…],"wrong":0,"cpu_ns":…,"buffers":[],"maps":[],"lends":null}]}}
//! ```
//!
//! All times are of CLOCK_MONOTONIC, which processes of a host share: the producer writes its reading into
//! the message when it begins to hand it over. With `--addresses decoys|plain`, `buffers` tells where each
//! message lay; with decoys, blocks of the same size are taken in between. Errors: a line `error: …` on standard
//! error and exit code 4; wrong flags: 2.

mod plan;

use super::args::Common;
use super::files::{begin, finish_after, folder};
use super::place::Place;
use super::probe::{Probe, Start, missing, slug};
use super::rounds::{Measured, Running, Turn, rounds};
use crate::args::Usage;
use crate::help;
use clap::Args;
use hopwatch_lab::Language;
use hopwatch_lab::handover::{Condition, Gave, Handover as Study, Look, Plan, Run, Took, Way};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Messages of a run for addresses.
const ADDRESSED: u32 = 10;
/// Messages that may wait where that isn't in question.
const DEPTH: u32 = 10;
/// Messages before those that are told: queues and histories hold memory that was used before by then.
const WARM_UP: u32 = 2 * DEPTH + 5;
/// Messages of a burst.
const BURST: u32 = 30;
/// What a message that is lent has ahead of its bytes: its number and when it was handed over.
const LENT_HEAD: u64 = 16;
/// How long a consumer may still take what its producer has handed over.
const TAKING: Duration = Duration::from_millis(500);
/// How much longer than its messages a run may take.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, Args)]
#[command(after_help = help::LAB_HANDOVER)]
pub(crate) struct Handover {
    #[command(flatten)]
    common: Common,
    /// Bytes of a message
    #[arg(long, value_name = "BYTES", default_value_t = plan::FIXED,
          value_parser = clap::value_parser!(u64).range(64..=100_000_000))]
    size: u64,
    /// Messages a second
    #[arg(long, value_name = "HZ", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rate: u32,
    /// Messages of a run [default: 30, with --full 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    messages: Option<u32>,
    /// Consumers, with commas between [default: 1,4, with --full 1,2,4,8]
    #[arg(long, value_name = "N[,N…]", value_delimiter = ',',
          value_parser = clap::value_parser!(u32).range(1..=32))]
    consumers: Vec<u32>,
    /// Only these ways, with commas between
    #[arg(long, value_name = "WAY[,WAY…]", value_delimiter = ',', value_enum)]
    only: Vec<plan::Kind>,
    /// Lay the figures beside those of a run: its folder
    #[arg(long, value_name = "DIR")]
    run: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Said {
    handover: Handed,
}

#[derive(Deserialize)]
struct Handed {
    gave: Option<Gave>,
    took: Vec<Took>,
}

pub(crate) async fn run(args: Handover) -> anyhow::Result<u8> {
    // Without one, DDS is kept on this host in a way that leaves no choice of transports.
    let place = Place::make().await;
    let (mut plan, mut skipped) = plan::plan(&args, place.as_ref().err().map(String::as_str))?;
    let place = place.ok();
    for language in [Language::Rust, Language::Cpp] {
        let wanted = plan.conditions.iter().any(|one| one.language == language);
        if wanted && let Some(why) = missing(language, "handover").await {
            plan.conditions.retain(|one| one.language != language);
            skipped.push(why);
        }
    }
    for why in &skipped {
        tell!("skipped: {}: {}", why.what, why.why);
    }
    if plan.conditions.is_empty() {
        return Err(Usage("no way of those that are wanted can be had here".to_owned()).into());
    }
    let folder = folder::<Study>(args.common.out.as_deref())?;
    let mut raw = begin::<Study>(plan.clone(), args.common.seed());
    raw.skipped = skipped;
    // What the probes have, and not this process.
    let range = if place.is_some() { "SUBNET" } else { "LOCALHOST" };
    raw.environment.insert("ROS_AUTOMATIC_DISCOVERY_RANGE".to_owned(), range.to_owned());
    for setting in plan::SETTINGS {
        raw.environment.remove(setting);
    }
    let expected = |condition: &Condition| {
        let messages = f64::from(messages(&plan, *condition) + WARM_UP);
        let processes = if condition.is_in_process() { 0.5 } else { 3.0 };
        Duration::from_secs_f64(messages / plan.rate_hz + processes)
    };
    let turn =
        |one: &Condition| Turn { condition: *one, name: one.name(), expected: expected(one) };
    let turns: Vec<Turn<Condition>> = plan.conditions.iter().map(turn).collect();
    let running = Running::default();
    let ran = rounds::<Study, _>(
        &folder,
        &mut raw,
        &turns,
        plan.rounds,
        &running,
        async |round, turn| {
            let place = place.as_ref();
            let one = One { plan: &plan, folder: &folder, running: &running, place, round };
            one.run(turn.condition).await
        },
    )
    .await;
    finish_after::<Study>(&folder, &raw, ran)
}

fn messages(plan: &Plan, condition: Condition) -> u32 {
    match condition.look {
        Look::Addresses { .. } => ADDRESSED.min(plan.messages),
        Look::Burst { .. } => BURST,
        Look::Times => plan.messages,
    }
}

/// One run.
struct One<'a> {
    plan: &'a Plan,
    folder: &'a Path,
    running: &'a Running,
    place: Option<&'a Place>,
    round: u32,
}

impl One<'_> {
    async fn run(self, condition: Condition) -> anyhow::Result<Measured<Run>> {
        let domain = crate::domain::free().to_string();
        let patience = self.patience(condition);
        let mut killed = 0;
        let (mut gives, mut takes) = if condition.is_in_process() {
            let both = self.start(condition, &domain, "both", None).await?;
            let watcher = if condition.watched {
                vec![self.start(condition, &domain, "take", Some("watcher")).await?]
            } else {
                Vec::new()
            };
            (both, watcher)
        } else {
            let mut takes = Vec::new();
            for number in 1..=condition.consumers {
                let name = format!("take-{number}");
                takes.push(self.start(condition, &domain, "take", Some(&name)).await?);
            }
            (self.start(condition, &domain, "give", None).await?, takes)
        };
        let said = async {
            let Handed { gave, took } = gives.said::<Said>().await?.handover;
            // What is on its way arrives, and what is lost doesn't.
            tokio::time::sleep(TAKING).await;
            let mut others = Vec::new();
            for take in &mut takes {
                take.interrupt();
                others.extend(take.said::<Said>().await?.handover.took);
            }
            anyhow::Ok((gave, took, others))
        };
        let said = tokio::time::timeout(patience, said).await;
        let Ok(said) = said else {
            anyhow::bail!("the run did not end within {} s", patience.as_secs());
        };
        let (gave, took, others) = said?;
        gives.interrupt();
        for mut probe in takes.into_iter().chain([gives]) {
            killed += u64::from(!probe.end(PATIENCE).await);
        }
        let Some(gave) = gave else { anyhow::bail!("the producer was asked to end before") };
        let (took, watcher) = if condition.is_in_process() {
            (took, others.into_iter().next())
        } else {
            (others, None)
        };
        Ok(Measured { run: Run { round: self.round, condition, gave, took, watcher }, killed })
    }

    /// How long a run may take.
    fn patience(&self, condition: Condition) -> Duration {
        let messages = messages(self.plan, condition) + WARM_UP;
        Duration::from_secs_f64(f64::from(messages) / self.plan.rate_hz) + PATIENCE
    }

    async fn start(
        &self,
        condition: Condition,
        domain: &str,
        role: &str,
        name: Option<&str>,
    ) -> anyhow::Result<Probe> {
        let watcher = condition.is_in_process() && role == "take";
        let gives = role != "take";
        let bytes = self.plan.bytes;
        let environment = plan::environment(condition, gives, watcher, bytes, self.folder)?;
        let range = if self.place.is_some() { "SUBNET" } else { "LOCALHOST" };
        let own = [
            ("ROS_DOMAIN_ID".to_owned(), domain.to_owned()),
            ("ROS_AUTOMATIC_DISCOVERY_RANGE".to_owned(), range.to_owned()),
            // It would overrule the range.
            (
                "ROS_LOCALHOST_ONLY".to_owned(),
                if self.place.is_some() { "0" } else { "1" }.to_owned(),
            ),
        ];
        let language = if watcher { Language::Rust } else { condition.language };
        Probe::start(Start {
            name: format!("{:02}-{}-{}", self.round, slug(&condition.name()), name.unwrap_or(role)),
            language,
            probe: "handover",
            script: "",
            args: self.args(condition, role, watcher, domain),
            environment: own.into_iter().chain(environment).collect(),
            folder: self.folder,
            running: self.running,
            place: self.place,
            without: &plan::SETTINGS,
        })
        .await
    }

    fn args(&self, condition: Condition, role: &str, watcher: bool, domain: &str) -> Vec<String> {
        let way = if watcher { "dds" } else { plan::way(condition.way) };
        let size = match condition.way {
            Way::Loan | Way::LoanDataSharing => self.plan.bytes + LENT_HEAD,
            _ => self.plan.bytes,
        };
        let mut args = vec![
            format!("--role={role}"),
            format!("--way={way}"),
            format!("--size={size}"),
            format!("--consumers={}", condition.consumers),
            format!("--messages={}", messages(self.plan, condition)),
            format!("--warm-up={WARM_UP}"),
            format!("--for-ms={}", self.patience(condition).as_millis()),
            format!("--rate-hz={}", self.plan.rate_hz),
            // iceoryx2 knows no domains: a service of each run's own.
            format!("--topic=/handover_{}_{domain}", std::process::id()),
        ];
        if condition.language == Language::Rust {
            args.push(format!("--user={}", rustix::process::getuid().as_raw()));
        }
        let depth = match condition.look {
            Look::Burst { depth } => {
                args.push("--burst".to_owned());
                args.push(format!("--slow-ms={}", self.plan.slow_ms));
                depth
            }
            Look::Addresses { decoys } => {
                let decoys = if decoys { "decoys" } else { "plain" };
                args.push(format!("--addresses={decoys}"));
                DEPTH
            }
            Look::Times => DEPTH,
        };
        args.push(format!("--depth={depth}"));
        args.extend(condition.kept.then(|| "--kept".to_owned()));
        args.extend((condition.watched && !watcher).then(|| "--watched".to_owned()));
        args
    }
}
