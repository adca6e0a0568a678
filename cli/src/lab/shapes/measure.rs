//! The runs: a publisher, and two subscribers in processes of their own.

use super::args::{Shapes, WayName};
use crate::args::Usage;
use crate::domain;
use crate::lab::probe::{Probe, Start, missing};
use crate::lab::rounds::{Condition, Measured, Running, rounds};
use anyhow::Context;
use hopwatch_lab::shapes::values::{Columns, Compared, compare};
use hopwatch_lab::shapes::{Bench, Measuring, Paced, Plan, Run, Shapes as OfShapes, Taken, Way};
use hopwatch_lab::{Language, Raw, Skipped};
use serde::Deserialize;
use std::path::Path;
use std::time::Duration;

const SCRIPT: &str = include_str!("../../../../lab/python/shapes.py");
const TOPIC: &str = "/hopwatch_lab_shapes";
/// When a subscriber ends at the latest, beside the time of publishing.
const SUBSCRIBED_MS: u32 = 60_000;
/// How long a process may take to end by itself when its work is done.
const ENDING: Duration = Duration::from_secs(15);
/// The types that Rust's probe is built with.
const TYPED: &str = "hopwatch_lab_msgs/msg/Foo";

/// A message, published one way.
struct Shaped {
    way: Way,
    of: String,
    /// `PATH=N` of all that has a length.
    lengths: Vec<String>,
    measuring: Measuring,
}

impl Condition for Shaped {
    fn name(&self) -> String {
        format!("{}, {}", self.way.name(), self.of)
    }

    fn expected(&self) -> Duration {
        // Processes begin and end, steps, the rate.
        let begin = if self.way == Way::Python { 3000 } else { 1500 };
        let steps = if self.way == Way::Python { self.measuring.within_ms } else { 200 };
        Duration::from_millis(u64::from(begin + steps + self.measuring.paced_ms))
    }
}

#[derive(Deserialize)]
struct SaidBench {
    bench: Bench,
}

#[derive(Deserialize)]
struct SaidPaced {
    paced: Paced,
}

#[derive(Deserialize)]
struct SaidTook {
    took: Taken,
}

/// Measures all that is planned and can be measured here.
pub(super) async fn measure(
    args: &Shapes,
    folder: &Path,
    raw: &mut Raw<Plan, Run>,
) -> anyhow::Result<()> {
    let Some(measuring) = raw.plan.measuring.clone() else { return Ok(()) };
    let (conditions, skipped) = conditions(args, &raw.plan, &measuring).await?;
    raw.skipped = skipped;
    let running = Running::default();
    let domain = domain::free().to_string();
    let plan = raw.plan.clone();
    let ran = rounds::<OfShapes, Shaped>(
        folder,
        raw,
        &conditions,
        measuring.rounds,
        &running,
        async |round, shaped: &Shaped| {
            let one =
                One { folder, running: &running, domain: &domain, plan: &plan, round, shaped };
            one.run().await
        },
    );
    ran.await
}

/// What can be measured, and what can't and why.
async fn conditions(
    args: &Shapes,
    plan: &Plan,
    measuring: &Measuring,
) -> anyhow::Result<(Vec<Shaped>, Vec<Skipped>)> {
    let asked: Vec<Way> = args.way.iter().copied().map(WayName::way).collect();
    let (mut conditions, mut skipped) = (Vec::new(), Vec::new());
    for way in Way::ALL {
        if !asked.is_empty() && !asked.contains(&way) {
            continue;
        }
        if let Some(why) = missing(language(way), "shapes").await {
            if !skipped.contains(&why) {
                skipped.push(why);
            }
            continue;
        }
        for message in &plan.messages {
            if way == Way::Rust && !message.of.starts_with(TYPED) {
                skipped.push(Skipped {
                    what: format!("{} of {}", way.name(), message.of),
                    why: "the probe is built with the study's own types only; raw bytes and rclpy \
                          take any type"
                        .to_owned(),
                });
                continue;
            }
            let (_, shape) = plan.shape(message)?;
            let lengths = shape.given().into_iter().map(|(path, n)| format!("{path}={n}"));
            conditions.push(Shaped {
                way,
                of: message.of.clone(),
                lengths: lengths.collect(),
                measuring: measuring.clone(),
            });
        }
    }
    if conditions.is_empty() {
        let why = skipped.iter().map(|one| format!("{}: {}", one.what, one.why));
        let why = why.collect::<Vec<_>>().join("; ");
        return Err(
            Usage(format!("nothing can be measured here ({why}); --static needs no ROS")).into()
        );
    }
    Ok((conditions, skipped))
}

fn language(way: Way) -> Language {
    match way {
        Way::Rust | Way::RustRaw => Language::Rust,
        Way::Python => Language::Python,
    }
}

/// One run.
struct One<'a> {
    folder: &'a Path,
    running: &'a Running,
    domain: &'a str,
    plan: &'a Plan,
    round: u32,
    shaped: &'a Shaped,
}

impl One<'_> {
    async fn run(self) -> anyhow::Result<Measured<Run>> {
        let Measuring { iterations, warm_up, within_ms, paced_ms, sizes, .. } =
            &self.shaped.measuring;
        let bytes = self.folder.join(format!("{}.cdr", self.file_name("publish")));
        let mut words = vec![
            format!("--iterations={iterations}"),
            format!("--warm-up={warm_up}"),
            format!("--within-ms={within_ms}"),
            format!("--paced-ms={paced_ms}"),
            format!("--rate-hz={}", self.plan.rate_hz),
            "--subscribers=2".to_owned(),
            format!("--bytes={}", bytes.display()),
        ];
        words.extend(sizes.iter().map(|n| format!("--size={n}")));
        // The subscribers come when the steps alone are done: nobody is beside them.
        let mut publisher = self.start("publish", words).await?;
        let SaidBench { bench } = publisher.said().await?;
        let compared = self.compared(&bytes)?;
        let until = vec![format!("--for-ms={}", SUBSCRIBED_MS + paced_ms)];
        let (mut raw, mut typed) =
            tokio::try_join!(self.start("take-raw", until.clone()), self.start("take", until))?;
        let SaidPaced { paced } = publisher.said().await?;
        let SaidTook { took: of_raw } = raw.said().await?;
        let SaidTook { took: of_typed } = typed.said().await?;
        let mut killed = 0;
        for probe in [&mut publisher, &mut raw, &mut typed] {
            killed += u64::from(!probe.end(ENDING).await);
        }
        let run = Run {
            round: self.round,
            way: self.shaped.way,
            of: self.shaped.of.clone(),
            bench,
            compared,
            paced,
            raw: of_raw,
            typed: of_typed,
        };
        Ok(Measured { run, killed })
    }

    /// The bytes that were made beside those that are due; the file is gone then.
    fn compared(&self, path: &Path) -> anyhow::Result<Compared> {
        let bytes =
            std::fs::read(path).with_context(|| format!("failed to read {}", path.display()))?;
        std::fs::remove_file(path)
            .with_context(|| format!("failed to remove {}", path.display()))?;
        let planned = |of: &&hopwatch_lab::shapes::Message| of.of == self.shaped.of;
        let message = self.plan.messages.iter().find(planned).context("no such message")?;
        let (_, shape) = self.plan.shape(message)?;
        Ok(compare(&shape, &Columns::of(&shape), &bytes))
    }

    fn file_name(&self, role: &str) -> String {
        let way = match self.shaped.way {
            Way::Rust => "rust",
            Way::RustRaw => "rust-raw",
            Way::Python => "python",
        };
        let of = self.shaped.of.rsplit('/').next().unwrap_or_default();
        format!("{}-{way}-{of}-{role}", self.round)
    }

    async fn start(&self, role: &str, words: Vec<String>) -> anyhow::Result<Probe> {
        let way = if self.shaped.way == Way::RustRaw { "raw" } else { "typed" };
        let mut args = vec![
            format!("--role={role}"),
            format!("--type={}", self.shaped.of),
            format!("--topic={TOPIC}"),
            format!("--way={way}"),
        ];
        args.extend(self.shaped.lengths.iter().map(|length| format!("--length={length}")));
        args.extend(words);
        let environment =
            [("ROS_DOMAIN_ID", self.domain), ("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")];
        let start = Start {
            name: self.file_name(role),
            language: language(self.shaped.way),
            probe: "shapes",
            script: SCRIPT,
            args,
            environment: environment.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
            folder: self.folder,
            running: self.running,
            place: None,
            without: &[],
        };
        Probe::start(start).await
    }
}
