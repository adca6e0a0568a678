//! What the study means for a pipeline.

use super::figures::{ConditionFigures, Figures, Pace};
use super::{Plan, Run, Work};
use crate::study::Raw;
use crate::{Block, Language, Mark};
use hopwatch_analysis::{duration, maybe};

/// By how much it would move what `hopwatch run` reported, or that it wouldn't.
pub(super) fn blocks(raw: &Raw<Plan, Run>, figures: &Figures) -> Vec<Block> {
    let mut blocks = vec![Block::Text(
        "Hopwatch's gateway takes messages on a thread of its own, outside of any interpreter: what is \
         told here doesn't move the figures of its own legs. It moves those of *your* nodes: a callback \
         that works hard holds up whatever else its process has to do."
            .to_owned(),
    )];
    // Of a loop that holds its rate.
    let half = f64::from(raw.plan.period_ms) * 1e6 / 2.0;
    for one in figures.conditions.iter().filter(|one| one.pace == Pace::Fails) {
        let Some(wait) = one.wait else { continue };
        blocks.push(Block::Text(format!(
            "{}: what comes at any moment, such as a message for a loop that polls like this one, waits \
             {} for the next turn (mean; P50 {}, P99 {}), where a loop that holds its rate lets it wait \
             {}. No other transport gives that back.{}",
            one.name,
            duration(wait.mean_ns),
            maybe(Some(wait.p50_ns)),
            maybe(Some(wait.p99_ns)),
            duration(half),
            beside(raw),
        )));
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

/// The figures of a run, to see the size of a wait by. They are not added up: percentiles don't add
/// (METHOD 9), and a node of one's own is in none of the gateway's legs.
fn beside(raw: &Raw<Plan, Run>) -> String {
    let Some(run) = &raw.plan.of_run else { return String::new() };
    let of = |lane: &crate::LaneOfRun| {
        Some(format!("lane {} has a total of {} (P50)", lane.name, maybe(Some(lane.total_p50_ns?))))
    };
    let lanes: Vec<String> = run.lanes.iter().filter_map(of).collect();
    if lanes.is_empty() {
        return format!(" {} has no lane with a median.", run.folder);
    }
    format!(" Beside it, in {}: {}.", run.folder, lanes.join("; "))
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
            let heavy = maybe(one.heavy_p50_ns);
            format!("{} (longest interval {}, heavy callback {heavy})", one.name, maybe(longest))
        })
        .collect();
    (!helps.is_empty()).then(|| format!("Beside the same work these hold: {}.", helps.join("; ")))
}
