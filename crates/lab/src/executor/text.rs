//! What the study has to say.

use super::figures::{
    ConditionFigures, Contrast, FEWEST_RUNS, Figures, Pace, RunFigures, intervals,
};
use super::{Plan, Run, meaning};
use crate::aside::aside;
use crate::study::Raw;
use crate::words::{number, words};
use crate::{Block, Document, Mark, Section, Strip, Strips};
use hopwatch_analysis::{duration, maybe};
use hopwatch_stats::Evidence;

/// The document of the study.
pub(super) fn document(raw: &Raw<Plan, Run>, figures: &Figures) -> Document {
    let mut sections = vec![rates(raw, figures)];
    if !figures.threads.is_empty() || !figures.languages.is_empty() {
        sections.push(contrasts(figures));
    }
    if !figures.conditions.is_empty() {
        sections.push(stalls(raw, figures));
        sections.push(work(raw, figures));
    }
    sections.push(Section {
        heading: "What it means for your pipeline".to_owned(),
        blocks: meaning::blocks(raw, figures),
    });
    sections.push(aside(raw));
    Document {
        title: "Executor: a fast loop beside a heavy callback".to_owned(),
        lead: lead(raw, figures),
        sections,
    }
}

fn lead(raw: &Raw<Plan, Run>, figures: &Figures) -> Vec<String> {
    let plan = &raw.plan;
    let mut lead = vec![format!(
        "A loop of {} Hz beside a callback that adds {} sines for each of {} scans a second, in one \
         node: {} rounds of {}, the first {} of each told apart as start-up.",
        number(figures.target_hz),
        plan.heavy,
        plan.scans_hz,
        raw.runs.iter().map(|run| run.round).max().unwrap_or(0),
        duration(f64::from(plan.for_ms) * 1e6),
        duration(f64::from(plan.start_up_ms) * 1e6),
    )];
    lead.extend(figures.conditions.iter().map(|one| format!("{}: {}.", one.name, pace(one))));
    lead
}

fn pace(one: &ConditionFigures) -> String {
    let (low, high) = one.rate_range_hz;
    let range = format!("{low:.1} to {high:.1} turns a second");
    match one.pace {
        Pace::Holds => format!("the loop holds its rate ({range})"),
        Pace::Fails => format!("the loop falls apart ({range})"),
        Pace::Between if one.runs.len() < FEWEST_RUNS => {
            format!("{range}, of {} runs, which show nothing", one.runs.len())
        }
        Pace::Between if one.runs.iter().any(|run| run.scans.1 == 0) => {
            format!("{range}, but of a run without a scan, which shows nothing")
        }
        Pace::Between => format!("neither in every run held nor in every run lost ({range})"),
    }
}

fn rates(raw: &Raw<Plan, Run>, figures: &Figures) -> Section {
    let row = |one: &ConditionFigures| {
        let n = one.runs.iter().map(|run| run.turns).sum::<usize>();
        vec![
            one.name.clone(),
            one.runs.len().to_string(),
            match (one.rate_hz, one.rate_sd_hz) {
                (mean, Some(sd)) => format!("{mean:.2} ± {sd:.2}"),
                (mean, None) => format!("{mean:.2}"),
            },
            format!("{:.2}–{:.2}", one.rate_range_hz.0, one.rate_range_hz.1),
            one.cv.map_or("–".to_owned(), |cv| format!("{:.1} %", cv * 100.0)),
            n.to_string(),
            maybe(one.interval_p50_ns),
            maybe(one.interval_p99_ns),
            one.interval_p99_range_ns.map_or("–".to_owned(), |(least, most)| {
                format!("{} – {}", maybe(Some(least)), maybe(Some(most)))
            }),
            maybe(one.runs.iter().filter_map(|run| run.longest_ns).max()),
            maybe(one.heavy_p50_ns),
        ]
    };
    let heads = [
        "node",
        "runs",
        "turns/s, mean",
        "min–max",
        "CV",
        "intervals",
        "P50",
        "P99",
        "P99, by run",
        "longest",
        "heavy callback, P50",
    ];
    let start_up = i64::from(raw.plan.start_up_ms) * 1_000_000;
    let strips = figures.conditions.iter().map(|one| {
        let of = raw.runs.iter().filter(|run| run.condition == one.condition);
        Strip {
            name: one.name.clone(),
            values: of.flat_map(|run| floats(&intervals(run, start_up).1)).collect(),
        }
    });
    let period = f64::from(raw.plan.period_ms) * 1e6;
    let modes = figures.conditions.iter().filter(|one| one.rate_modes).map(|one| {
        let text = format!("{}: the runs' rates have two modes; no deviation is given.", one.name);
        Block::Claim(Mark::Beware, text)
    });
    let mut blocks: Vec<Block> = figures
        .conditions
        .iter()
        .map(|one| {
            let mark = if one.pace == Pace::Between { Mark::NotShown } else { Mark::Shown };
            Block::Claim(mark, format!("{}: {}.", one.name, pace(one)))
        })
        .chain(modes)
        .collect();
    blocks.push(Block::Table {
        caption: format!(
            "the loop after start-up; {} turns a second are wanted",
            number(figures.target_hz)
        ),
        heads: words(&heads),
        rows: figures.conditions.iter().map(row).collect(),
    });
    blocks.push(Block::Strips(Strips {
        id: "intervals".to_owned(),
        title: "Each interval between two turns of the loop".to_owned(),
        shows: "For each kind of node how far apart the turns were, after start-up.".to_owned(),
        axis: "interval".to_owned(),
        durations: true,
        log: true,
        target: Some((period, duration(period))),
        strips: strips.collect(),
    }));
    Section { heading: "Does the loop hold its rate".to_owned(), blocks }
}

fn contrasts(figures: &Figures) -> Section {
    let claims = figures.threads.iter().chain(&figures.languages);
    let mut blocks: Vec<Block> = claims.map(contrast).collect();
    blocks.push(Block::Text(
        "The run is the unit, not the interval. A difference is shown where the exact permutation test \
         of the runs' rates says so at 5 % for all contrasts of a kind together (Holm); that none is \
         shown doesn't say that there is none. There is no control of a condition against itself."
            .to_owned(),
    ));
    Section { heading: "Threads, and languages".to_owned(), blocks }
}

/// A contrast in words.
pub(super) fn contrast(one: &Contrast) -> Block {
    let welch = one.welch.map_or(String::new(), |w| {
        format!(
            ", 95 % {:+.2} to {:+.2} Hz, Welch t = {:.2}, df = {:.1}, p {}",
            w.ci_hz.0,
            w.ci_hz.1,
            w.t,
            w.df,
            if w.p < 0.01 { "< 0.01".to_owned() } else { format!("= {:.2}", w.p) }
        )
    });
    let mut text = format!(
        "{} against {}: {:+.2} Hz{welch}; permutation p = {:.3}, Holm's {:.3}: ",
        one.of, one.against, one.difference_hz, one.permutation_p, one.holm_p
    );
    let mark = if one.alike {
        text.push_str("alike within 5 %");
        Mark::Shown
    } else if one.differs {
        text.push_str("a difference");
        Mark::Shown
    } else {
        text.push_str("no difference shown, nor that they are alike");
        if one.smallest_p > 0.05 {
            text.push_str("; so few runs can't show one");
        }
        Mark::NotShown
    };
    text.push('.');
    Block::Claim(mark, text)
}

fn stalls(raw: &Raw<Plan, Run>, figures: &Figures) -> Section {
    let mut blocks = Vec::new();
    for one in &figures.conditions {
        if let Some(modes) = one.stalls {
            let sure = match modes.evidence {
                Evidence::Test => "",
                Evidence::Shape => " by their look, of so few",
            };
            blocks.push(Block::Claim(
                Mark::Beware,
                format!(
                    "{}: the runs' longest intervals have two modes{sure}: {} near {}, {} near {}. Their \
                     mean ± sd describes neither, and isn't given.",
                    one.name,
                    modes.low.n,
                    maybe(Some(modes.low.center_ns)),
                    modes.high.n,
                    maybe(Some(modes.high.center_ns)),
                ),
            ));
        }
    }
    let row = |one: &ConditionFigures| {
        let of = |pick: fn(&RunFigures) -> Option<i64>| {
            let all: Vec<String> = one.runs.iter().map(|run| maybe(pick(run))).collect();
            all.join(", ")
        };
        vec![one.name.clone(), of(|run| run.start_up_longest_ns), of(|run| run.longest_ns)]
    };
    blocks.push(Block::Table {
        caption: "the longest interval of each run".to_owned(),
        heads: words(&["node", "in the start-up", "after it"]),
        rows: figures.conditions.iter().map(row).collect(),
    });
    let period = f64::from(raw.plan.period_ms) * 1e6;
    let strips = figures
        .conditions
        .iter()
        .map(|one| Strip { name: one.name.clone(), values: floats(&one.longest()) });
    blocks.push(Block::Strips(Strips {
        id: "longest".to_owned(),
        title: "The longest interval of each run, start-up included".to_owned(),
        shows: "For each kind of node how long the loop stood still at most, run by run."
            .to_owned(),
        axis: "interval".to_owned(),
        durations: true,
        log: true,
        target: Some((period, duration(period))),
        strips: strips.collect(),
    }));
    Section { heading: "Stalls, and the start-up".to_owned(), blocks }
}

fn work(raw: &Raw<Plan, Run>, figures: &Figures) -> Section {
    const SHOWN: usize = 8;
    let row = |one: &ConditionFigures| {
        let used: Vec<usize> = one.runs.iter().map(|run| run.threads_used).collect();
        let heavy: Vec<String> = one.runs.iter().map(|run| run.heavy.to_string()).collect();
        let scans = one
            .runs
            .iter()
            .fold((0, 0), |sum: (u64, u64), run| (sum.0 + run.scans.0, sum.1 + run.scans.1));
        let least = used.iter().min().copied().unwrap_or(0);
        let most = used.iter().max().copied().unwrap_or(0);
        let last = one.runs.last();
        let by_thread: Vec<String> = last
            .map(|run| run.by_thread.iter().take(SHOWN).map(u64::to_string).collect())
            .unwrap_or_default();
        let more = last.is_some_and(|run| run.by_thread.len() > SHOWN);
        vec![
            one.name.clone(),
            if least == most { least.to_string() } else { format!("{least}–{most}") },
            by_thread.join("/") + if more { "/…" } else { "" },
            heavy.join(", "),
            format!("{}; {}", scans.1, scans.0),
        ]
    };
    let heads = [
        "node",
        "threads used",
        "callbacks by thread, last run",
        "heavy callbacks done, by run",
        "scans taken; published",
    ];
    let mut blocks = vec![Block::Table {
        caption: "who did the work; the loop of Rust counts as a thread".to_owned(),
        heads: words(&heads),
        rows: figures.conditions.iter().map(row).collect(),
    }];
    blocks.push(Block::Text(format!(
        "A callback that takes longer than {} can't keep up with the scans: the newest five wait, in \
         rclcpp and rclpy in the reader, in Rust in the pool, and the rest are dropped there. Scans are \
         published from the laser's start on, also while there is no node yet, and taken by the \
         callback (in Rust by the node, ahead of its pool): the two are no rate of loss.",
        duration(1e9 / f64::from(raw.plan.scans_hz))
    )));
    Section { heading: "Who did the work".to_owned(), blocks }
}

#[expect(clippy::cast_precision_loss, reason = "ns of minutes are far below 2^53")]
fn floats(all: &[i64]) -> Vec<f64> {
    all.iter().map(|ns| *ns as f64).collect()
}
