//! What the study means for a pipeline.

use super::figures::{ConditionFigures, Figures, Pace};
use super::{Language, Plan, Run, Work};
use crate::study::Raw;
use crate::{Block, Mark};
use hopwatch_analysis::{duration, maybe};

/// By how much it would move what `hopwatch run` reported, or that it wouldn't.
pub(super) fn blocks(raw: &Raw<Plan, Run>, figures: &Figures) -> Vec<Block> {
    let mut blocks = vec![Block::Text(
        "Hopwatch's gateway takes messages on a thread of its own, outside of any interpreter: what is \
         told here doesn't move the figures of its own legs. It moves those of *your* nodes: a callback \
         that works hard holds up whatever else its process has to do."
            .to_owned(),
    )];
    let period = i64::from(raw.plan.period_ms) * 1_000_000;
    for one in figures.conditions.iter().filter(|one| one.pace == Pace::Fails) {
        let Some((p50, p99)) = waits(one, period) else { continue };
        blocks.push(Block::Claim(
            Mark::Shown,
            format!(
                "{}: whatever waits for this process waits {} (median) and {} (P99) longer than its \
                 period of {}. A gateway or robot built like this adds as much to `wake`, `queue` or \
                 `schedule` of each message; no other transport gives it back.{}",
                one.name,
                maybe(Some(p50)),
                maybe(Some(p99)),
                maybe(Some(period)),
                beside(raw, p50),
            ),
        ));
    }
    if let Some(better) = remedy(figures) {
        blocks.push(Block::Claim(Mark::Shown, better));
    }
    if !figures.conditions.is_empty()
        && figures.conditions.iter().all(|one| one.pace == Pace::Holds)
    {
        let text = "Every node here holds its rate: on this machine, with this work, the executor moves \
                    nothing.";
        blocks.push(Block::Text(text.to_owned()));
    }
    blocks
}

/// How much longer than its period a loop waits: at the median and at the P99.
fn waits(one: &ConditionFigures, period_ns: i64) -> Option<(i64, i64)> {
    Some((one.interval_p50_ns? - period_ns, one.interval_p99_ns? - period_ns))
}

/// The same beside a run of the pipeline.
fn beside(raw: &Raw<Plan, Run>, wait_ns: i64) -> String {
    let Some(run) = &raw.plan.of_run else {
        return " (With --run DIR this is laid beside a run of yours.)".to_owned();
    };
    let of = |lane: &crate::LaneOfRun| {
        let total = lane.total_p50_ns?;
        #[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
        let times = (total + wait_ns) as f64 / total.max(1) as f64;
        Some(format!(
            "lane {}: P50 total {} → {} ({times:.2} ×)",
            lane.name,
            maybe(Some(total)),
            maybe(Some(total + wait_ns))
        ))
    };
    let lanes: Vec<String> = run.lanes.iter().filter_map(of).collect();
    if lanes.is_empty() {
        return format!(" {} has no lane with a median.", run.folder);
    }
    format!(" In {}: {}.", run.folder, lanes.join("; "))
}

/// What helps where rclpy's loop falls apart: what was measured beside it.
fn remedy(figures: &Figures) -> Option<String> {
    let python = |one: &&ConditionFigures| one.condition.language == Language::Python;
    let falls =
        |one: &&ConditionFigures| one.condition.work == Work::Threads && one.pace == Pace::Fails;
    figures.conditions.iter().filter(python).find(falls)?;
    let helps: Vec<String> = figures
        .conditions
        .iter()
        .filter(|one| one.pace == Pace::Holds)
        .map(|one| {
            let longest = one.runs.iter().filter_map(|run| run.longest_ns).max();
            let heavy = one.heavy_p50_ns.unwrap_or(0);
            #[expect(clippy::cast_precision_loss, reason = "a duration for people")]
            let heavy = duration(heavy as f64);
            format!("{} (longest interval {}, heavy callback {heavy})", one.name, maybe(longest))
        })
        .collect();
    (!helps.is_empty()).then(|| format!("Beside the same work these hold: {}.", helps.join("; ")))
}
