//! What the study means for a pipeline.

use super::figures::{ConditionFigures, Contrast, Figures};
use super::text::time;
use super::{Condition, Plan, Run, Way};
use crate::study::Raw;
use crate::{Block, Mark};
use hopwatch_analysis::{duration, maybe};
use std::fmt::Write;

/// A difference below this is nobody's bottleneck, in ns.
const LITTLE_NS: f64 = 100_000.0;

/// By how much it would move what `hopwatch run` reported, or that it wouldn't.
pub(super) fn blocks(raw: &Raw<Plan, Run>, figures: &Figures) -> Vec<Block> {
    let mut blocks = vec![Block::Text(format!(
        "It is told of messages of {} bytes that stay on one host: try yours with --size. Only topics can \
         be handed over without a copy, never services and actions.",
        crate::words::grouped(raw.plan.bytes)
    ))];
    let usual = Condition::new(Way::SharedMemory, 1).name();
    let mut against = |way: Way, what: &str| {
        let name = Condition::new(way, 1).name();
        let find = |one: &&Contrast| one.of == name && one.against == usual;
        if let Some(one) = figures.contrasts.iter().find(find) {
            blocks.push(gain(one, what));
        }
    };
    against(Way::Shared, "Producer and consumer in one process, messages shared");
    against(
        Way::LoanDataSharing,
        "Lent messages with data sharing, which takes a type of fixed size",
    );
    against(Way::Iceoryx2, "iceoryx2 in the place of DDS");
    against(
        Way::LargeSegment,
        "A segment of shared memory that holds several messages (an XML profile, in the study's folder)",
    );
    against(Way::Loopback, "UDP in the place of shared memory");
    blocks.extend(watching(figures));
    blocks.extend(beside(raw));
    blocks
}

/// By how much another way would move a message's time, the usual one given.
fn gain(one: &Contrast, what: &str) -> Block {
    let Some((longer, Some(at_least), Some(at_most))) = one.longer_ns else {
        let text = format!("{what}: too few runs to say by how much it moves the median.");
        return Block::Claim(Mark::NotShown, text);
    };
    let interval = format!("95 % {} to {}", signed(at_least), signed(at_most));
    let (mark, says) = if at_most < -LITTLE_NS {
        (Mark::Shown, format!("takes {} off the median ({interval})", time(-longer)))
    } else if at_least > LITTLE_NS {
        (Mark::Shown, format!("puts {} on the median ({interval})", time(longer)))
    } else if at_least > -LITTLE_NS && at_most < LITTLE_NS {
        (Mark::Shown, format!("moves the median by less than {}", duration(LITTLE_NS)))
    } else {
        (Mark::NotShown, format!("moves the median by {} ({interval})", signed(longer)))
    };
    let against = "until the message is read, against DDS through shared memory";
    Block::Claim(mark, format!("{what}: {says} {against}."))
}

fn signed(ns: f64) -> String {
    if ns.is_infinite() {
        return if ns > 0.0 { "never".to_owned() } else { "−never".to_owned() };
    }
    let sign = if ns < 0.0 { "−" } else { "+" };
    format!("{sign}{}", duration(ns.abs()))
}

/// Observing is taking part.
fn watching(figures: &Figures) -> Option<Block> {
    let watched: &ConditionFigures = figures.conditions.iter().find(|one| one.condition.watched)?;
    let plain = Condition { watched: false, ..watched.condition }.name();
    let one =
        figures.contrasts.iter().find(|one| one.of == watched.name && one.against == plain)?;
    let ratio = one.cpu?;
    let least = ratio.at_least?;
    let mark = if least > 1.0 { Mark::Shown } else { Mark::NotShown };
    let mut text = format!(
        "One subscription from outside, such as `ros2 topic echo`, makes a message cost {} as much on \
         the processors of the process that hands it over within itself",
        crate::ratio::times(&ratio)
    );
    let of = |condition: Condition| {
        let one = figures.conditions.iter().find(|one| one.condition == condition)?;
        Some(one.cpu_ns?.middle)
    };
    let usual = of(Condition::new(Way::SharedMemory, watched.condition.consumers));
    let alone = of(Condition { watched: false, ..watched.condition });
    if let (Some(usual), Some(alone), Some(seen)) = (usual, alone, watched.cpu_ns)
        && usual > alone
    {
        let back = (seen.middle - alone) / (usual - alone) * 100.0;
        let _infallible =
            write!(text, ": {back:.0} % of what that saves against DDS through shared memory");
    }
    text.push_str(". Observing is taking part.");
    Some(Block::Claim(mark, text))
}

/// The legs of a run that handing over would replace, to see the size of a gain by. They are not added up:
/// percentiles don't add (METHOD 9), and a gateway in another process is no consumer of this kind.
fn beside(raw: &Raw<Plan, Run>) -> Vec<Block> {
    let Some(run) = &raw.plan.of_run else { return Vec::new() };
    let rows = run.lanes.iter().map(|lane| {
        let leg = |name: &str| maybe(lane.legs_p50_ns.get(name).copied());
        vec![lane.name.clone(), leg("write"), leg("ros"), leg("wake"), maybe(lane.published_p50_ns)]
    });
    let heads = ["lane", "write", "ros", "wake", "published to the end"];
    vec![
        Block::Table {
            caption: format!("medians of {}", run.folder),
            heads: crate::words::words(&heads),
            rows: rows.collect(),
        },
        Block::Text(
            "These three legs are what another way from the robot's node to the gateway could move, at \
             most to nothing, where both are on one host; all others stay as they are. The figures above \
             are of this study's messages: with --size of your own ones they can be laid beside."
                .to_owned(),
        ),
    ]
}
