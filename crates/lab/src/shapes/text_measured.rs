//! What the study has to say of what was measured.

use super::figures::{Contrast, Figures, MARGIN, Measured};
use super::plan::{Plan, Run, STEPS, Step, Way};
use super::text::short;
use crate::aside::aside;
use crate::ratio::{Spread, times};
use crate::study::Raw;
use crate::words::{grouped, number, words};
use crate::{Block, Mark, OfRun, Section, Strip, Strips};
use hopwatch_analysis::duration;

/// What a factor has to be at least, to be called so: S2's claim on rclpy.
const TEN: f64 = 10.0;

pub(super) fn lead(raw: &Raw<Plan, Run>, figures: &Figures) -> Vec<String> {
    let mut all: Vec<String> = figures
        .contrasts
        .iter()
        // What a pipeline has: somebody subscribes.
        .filter_map(|one| Some((one, one.ratios.get(&Step::PacedPublish)?)))
        .map(|(one, ratio)| {
            format!(
                "{}: publishing {} costs {} as much as {}{}.",
                one.way.name(),
                short(&one.array),
                times(ratio),
                short(&one.split),
                one.ratios.get(&Step::Publish).map_or(String::new(), |alone| {
                    format!("; {} where nobody subscribes", times(alone))
                })
            )
        })
        .collect();
    if !raw.complete {
        all.push(format!("Not complete: {} runs were made.", raw.runs.len()));
    }
    all
}

pub(super) fn sections(raw: &Raw<Plan, Run>, figures: &Figures) -> Vec<Section> {
    let mut all = vec![contrasts(figures), steps(figures), paced(raw, figures), checks(figures)];
    all.push(aside(raw));
    all
}

fn contrasts(figures: &Figures) -> Section {
    let mut blocks = Vec::new();
    let rows: Vec<Vec<String>> = figures
        .contrasts
        .iter()
        .map(|one| {
            let mut row =
                vec![format!("{} / {}, {}", short(&one.array), short(&one.split), one.way.name())];
            row.extend(STEPS.map(|step| one.ratios.get(&step).map_or("–".to_owned(), times)));
            row
        })
        .collect();
    if rows.is_empty() {
        blocks.push(Block::Text("No array was measured beside a split of it.".to_owned()));
    } else {
        let mut heads = vec!["array / split, way".to_owned()];
        heads.extend(STEPS.map(|step| step.name().to_owned()));
        blocks.push(Block::Table {
            caption: "how many times as much the array of structures costs: of the runs' medians, \
                      with the interval of 95 %"
                .to_owned(),
            heads,
            rows,
        });
    }
    for (step, when) in [
        (Step::PacedPublish, "at the rate, with subscribers"),
        (Step::Publish, "where nobody subscribes"),
    ] {
        blocks.extend(figures.contrasts.iter().filter_map(|one| claim(one, step, when)));
    }
    Section { heading: "Array of structures against structure of arrays".to_owned(), blocks }
}

/// What is shown of publishing, in one way of doing it.
fn claim(one: &Contrast, step: Step, when: &str) -> Option<Block> {
    let ratio = one.ratios.get(&step)?;
    let (way, array) = (one.way.name(), short(&one.array));
    let what = format!("{way}: {when}, publishing {array} costs {}", times(ratio));
    let split = short(&one.split);
    let (mark, text) = match (ratio.at_least, ratio.at_most) {
        (Some(least), _) if least >= TEN => {
            (Mark::Shown, format!("{what} as much as {split}: at least {TEN} times"))
        }
        (Some(least), _) if least > MARGIN => {
            (Mark::Shown, format!("{what} as much as {split}: more, by more than {MARGIN} times"))
        }
        (Some(least), Some(most)) if least > 1.0 / MARGIN && most < MARGIN => (
            Mark::Shown,
            format!("{what} as much as {split}: the same, within a factor of {MARGIN}"),
        ),
        (_, Some(most)) if most < 1.0 / MARGIN => {
            (Mark::Shown, format!("{what} as much as {split}: less"))
        }
        (Some(least), _) if least > 1.0 => (
            Mark::Shown,
            format!("{what} as much as {split}: more; that it is {MARGIN} times is not shown"),
        ),
        (None, _) | (_, None) => {
            (Mark::NotShown, format!("{what} as much as {split}; an interval takes 4 runs"))
        }
        _ => (Mark::NotShown, format!("{what} as much as {split}; which costs more isn't shown")),
    };
    Some(Block::Claim(mark, format!("{text}.")))
}

fn steps(figures: &Figures) -> Section {
    let alone = [Step::Construct, Step::Serialize, Step::Publish, Step::Deserialize];
    let rows = figures.measured.iter().map(|one| {
        let mut row = vec![format!("{}, {}", short(&one.of), one.way.name())];
        let samples = alone.iter().filter_map(|step| one.steps.get(step)).map(|of| of.samples);
        let samples = samples.max().unwrap_or(0);
        row.push(format!("{samples} / {}", one.runs));
        row.extend(alone.map(|step| {
            one.steps.get(&step).map_or("–".to_owned(), |cost| {
                format!("{}, P90 {}", spread(&cost.median_ns), duration(cost.p90_ns.middle))
            })
        }));
        row
    });
    let table = Block::Table {
        caption:
            "each step alone, in a process without subscribers: the middle of the runs' medians \
                  [smallest, largest], and of their P90"
                .to_owned(),
        heads: words(&[
            "type, way",
            "samples / runs",
            "construct",
            "serialize",
            "publish",
            "deserialize",
        ]),
        rows: rows.collect(),
    };
    let text = "Construct: from plain values to a message. Raw bytes are their own message: \
                constructing writes them, and deserializing reads every value where it lies.";
    Section { heading: "Steps".to_owned(), blocks: vec![table, Block::Text(text.to_owned())] }
}

fn paced(raw: &Raw<Plan, Run>, figures: &Figures) -> Section {
    let rate = raw.plan.rate_hz;
    let rows = figures.measured.iter().map(|one| {
        let publish = one.steps.get(&Step::PacedPublish);
        vec![
            format!("{}, {}", short(&one.of), one.way.name()),
            format!("{} of {}", one.sent, one.due),
            publish.map_or("–".to_owned(), |cost| cost.samples.to_string()),
            publish.map_or("–".to_owned(), |cost| spread(&cost.median_ns)),
            publish.map_or("–".to_owned(), |cost| duration(cost.p90_ns.middle)),
            one.budget_share.as_ref().map_or("–".to_owned(), plain_spread),
            shown(one.raw.received, one.raw.received_of_sent.as_ref()),
            shown(one.typed.received, one.typed.received_of_sent.as_ref()),
            rates(one),
        ]
    });
    let mut blocks = vec![Block::Table {
        caption: format!(
            "published at {} Hz, with a subscriber to bytes and one that deserializes, each in a \
             process of its own",
            number(rate)
        ),
        heads: words(&[
            "type, way",
            "sent of due",
            "samples",
            "publish",
            "P90",
            "budget share",
            "bytes got / sent",
            "messages got / sent",
            "sent, seen by either, a second",
        ]),
        rows: rows.collect(),
    }];
    blocks.push(Block::Text(
        "Budget share: median publish × rate, the part of the time that publishing takes; building \
         the message is not in it. Of each, the middle of the runs [smallest, largest]. A rate that \
         a subscriber sees says nothing without the counts: what comes in bursts, or not at all, \
         changes it."
            .to_owned(),
    ));
    for one in &figures.measured {
        if let Some(modes) = &one.modes {
            blocks.push(Block::Claim(
                Mark::Beware,
                format!(
                    "{}, {}: publishing has two modes, {} ({} values) and {} ({}); a middle of them \
                     is no value that is common.",
                    one.way.name(),
                    short(&one.of),
                    duration(float(modes.low.center_ns)),
                    modes.low.n,
                    duration(float(modes.high.center_ns)),
                    modes.high.n
                ),
            ));
        }
        if let Some(share) = one.budget_share.filter(|share| share.middle >= 1.0) {
            blocks.push(Block::Claim(
                Mark::Shown,
                format!(
                    "{}: {} can't be published at {} Hz: publishing alone takes {} of the time \
                     there is.",
                    one.way.name(),
                    short(&one.of),
                    number(rate),
                    number(share.middle)
                ),
            ));
        }
    }
    let strips: Vec<Strip> = figures.measured.iter().map(|one| strip(raw, one)).collect();
    blocks.push(Block::Strips(Strips {
        id: "publish".to_owned(),
        title: "Publishing at the rate, each message".to_owned(),
        shows: "How long each call of publish took, by type and way.".to_owned(),
        axis: "publish".to_owned(),
        durations: true,
        log: true,
        target: Some((1e9 / rate, "the time there is".to_owned())),
        strips,
    }));
    Section { heading: "At the rate".to_owned(), blocks }
}

fn strip(raw: &Raw<Plan, Run>, one: &Measured) -> Strip {
    let runs = raw.runs.iter().filter(|run| run.way == one.way && run.of == one.of);
    let values = runs.flat_map(|run| run.paced.publish_ns.iter().map(|ns| float(*ns)));
    Strip { name: format!("{}, {}", short(&one.of), one.way.name()), values: values.collect() }
}

fn rates(one: &Measured) -> String {
    let of =
        |spread: Option<&Spread>| spread.map_or("–".to_owned(), |s| number(rounded(s.middle)));
    format!(
        "{}, {}, {}",
        of(one.sent_per_s.as_ref()),
        of(one.raw.apparent_per_s.as_ref()),
        of(one.typed.apparent_per_s.as_ref())
    )
}

fn checks(figures: &Figures) -> Section {
    let mut blocks: Vec<Block> =
        figures.wrong.iter().map(|text| Block::Claim(Mark::Beware, format!("{text}."))).collect();
    // What is made of bytes alone is compared with the code that made it: no check of anything.
    let real = || figures.measured.iter().filter(|one| one.way != Way::RustRaw);
    let round_trips: u64 = real().map(|one| one.round_trips).sum();
    if blocks.is_empty() && round_trips > 0 {
        let mut ways: Vec<&str> = real().map(|one| one.way.name()).collect();
        ways.dedup();
        ways.sort_unstable();
        ways.dedup();
        let same = if ways.len() > 1 {
            "; their bytes are those of the definitions in every one of them, padding apart"
        } else {
            "; their bytes are those of the definitions, padding apart"
        };
        blocks.push(Block::Claim(
            Mark::Shown,
            format!(
                "{}: all {} messages that were serialized and deserialized came back as they were; all \
                 serialized sizes are those predicted{same}.",
                ways.join(", "),
                grouped(round_trips)
            ),
        ));
    }
    Section { heading: "Checks".to_owned(), blocks }
}

/// What it means for a pipeline.
pub(super) fn pipeline(raw: &Raw<Plan, Run>, figures: &Figures) -> Section {
    let mut blocks = vec![Block::Text(
        "Of the legs that `hopwatch run` reports, a message's shape is in `write` (published → \
         written: publish() makes bytes of the message) of the robot. What makes the message lies \
         before its stamp, and what a subscriber makes of the bytes lies in that subscriber: the \
         gateway takes bytes as they are, so the pipeline's total (taken → web_acked) has no part \
         in it, but for making JSON of the message where that is asked for (`encode`)."
            .to_owned(),
    )];
    for one in &figures.contrasts {
        blocks.extend(moved(raw.plan.rate_hz, one, figures));
    }
    match &raw.plan.run {
        Some(run) => blocks.extend(beside(run, raw, figures)),
        None => blocks.push(Block::Text(format!(
            "Told for {} Hz; `--run DIR` lays it beside a run of yours.",
            number(raw.plan.rate_hz)
        ))),
    }
    Section { heading: "What it means for your pipeline".to_owned(), blocks }
}

fn step_ns(figures: &Figures, way: Way, of: &str, step: Step) -> Option<f64> {
    let one = figures.measured.iter().find(|one| one.way == way && one.of == of)?;
    Some(one.steps.get(&step)?.median_ns.middle)
}

/// What a split would take from the robot for each message: what was measured, by its own names.
fn moved(rate_hz: f64, one: &Contrast, figures: &Figures) -> Option<Block> {
    let of = |step| {
        let array = step_ns(figures, one.way, &one.array, step)?;
        Some((array, step_ns(figures, one.way, &one.split, step)?))
    };
    let from_to = |(array, split): (f64, f64)| {
        format!("{} (from {} to {})", signed(split - array), duration(array), duration(split))
    };
    let (publish, build) = (of(Step::PacedPublish)?, of(Step::PacedBuild)?);
    let both = publish.1 + build.1 - publish.0 - build.0;
    let serialize = of(Step::Serialize).map_or(String::new(), |serialize| {
        format!(" Serializing, which lies in `write`, alone: {}.", from_to(serialize))
    });
    Some(Block::Text(format!(
        "{}: {} in place of {} moves the call of publish() by {} and making the message by {}: together \
         {:+.1} % of the publishing thread's time at {} Hz, if all are sent.{serialize}",
        one.way.name(),
        short(&one.split),
        short(&one.array),
        from_to(publish),
        from_to(build),
        both * rate_hz / 1e7,
        number(rate_hz)
    )))
}

fn beside(run: &OfRun, raw: &Raw<Plan, Run>, figures: &Figures) -> Vec<Block> {
    let mut blocks = Vec::new();
    let rows: Vec<Vec<String>> = run
        .lanes
        .iter()
        .map(|lane| {
            let ns = |ns: Option<i64>| ns.map_or("–".to_owned(), |ns| duration(float(ns)));
            vec![
                lane.name.clone(),
                lane.rate_hz.map_or("–".to_owned(), |rate| number(rounded(rate))),
                ns(lane.legs_p50_ns.get("write").copied()),
                ns(lane.legs_p50_ns.get("encode").copied()),
                ns(lane.published_p50_ns),
                ns(lane.total_p50_ns),
            ]
        })
        .collect();
    blocks.push(Block::Table {
        caption: format!("medians of the run in {}", run.folder),
        heads: words(&["lane", "messages a second", "write", "encode", "published", "total"]),
        rows,
    });
    for lane in &run.lanes {
        let Some(write) = lane.legs_p50_ns.get("write") else {
            blocks.push(Block::Claim(
                Mark::NotShown,
                format!(
                    "{}: the run has no leg `write`, so what a shape could move there is not known.",
                    lane.name
                ),
            ));
            continue;
        };
        let of = lane.published_p50_ns.filter(|all| *all > 0);
        let share = of.map_or(String::new(), |all| {
            format!(", {:.2} % of published → web_acked", 100.0 * float(*write) / float(all))
        });
        blocks.push(Block::Text(format!(
            "{}: with no other shape can more be gained than all of `write`, {} of each message \
             (median){share}.",
            lane.name,
            duration(float(*write))
        )));
    }
    if figures.measured.is_empty() && raw.plan.measuring.is_none() {
        blocks.push(Block::Text(
            "What a split would leave of it, `hopwatch lab shapes` without --static measures."
                .to_owned(),
        ));
    }
    blocks
}

fn signed(ns: f64) -> String {
    if ns < 0.0 { format!("−{}", duration(-ns)) } else { format!("+{}", duration(ns)) }
}

fn rounded(x: f64) -> f64 {
    (x * 10.0).round() / 10.0
}

fn spread(of: &Spread) -> String {
    format!("{} [{}, {}]", duration(of.middle), duration(of.least), duration(of.most))
}

fn plain_spread(of: &Spread) -> String {
    format!("{:.3} [{:.3}, {:.3}]", of.middle, of.least, of.most)
}

fn shown(received: u64, of: Option<&Spread>) -> String {
    let share = of.map_or("–".to_owned(), |of| {
        format!("{:.2} [{:.2}, {:.2}]", of.middle, of.least, of.most)
    });
    format!("{received}: {share}")
}

#[expect(clippy::cast_precision_loss, reason = "durations of runs are far below 2^53 ns")]
fn float(ns: i64) -> f64 {
    ns as f64
}
