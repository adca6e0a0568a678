//! What the study has to say.

use super::copies::CopyFigures;
use super::figures::{BurstFigures, ConditionFigures, Contrast, Figures};
use super::route::Route;
use super::{Look, Plan, Run, Way, meaning};
use crate::aside::aside;
use crate::ratio::{Spread, float, times};
use crate::study::Raw;
use crate::words::{grouped, number, words};
use crate::{Block, Document, Mark, Section, Strip, Strips};
use hopwatch_analysis::{duration, maybe};

/// The document of the study.
pub(super) fn document(raw: &Raw<Plan, Run>, figures: &Figures) -> Document {
    let mut sections = Vec::new();
    if !figures.conditions.is_empty() {
        sections.push(costs(raw, figures));
        sections.push(routes(figures));
    }
    if !figures.contrasts.is_empty() {
        sections.push(contrasts(figures));
    }
    if !figures.copies.is_empty() {
        sections.push(copies(figures));
    }
    if !figures.bursts.is_empty() {
        sections.push(bursts(raw, figures));
    }
    sections.push(Section {
        heading: "What it means for your pipeline".to_owned(),
        blocks: meaning::blocks(raw, figures),
    });
    sections.push(aside(raw));
    Document {
        title: "Hand-over: a large message from a producer to consumers on one host".to_owned(),
        lead: lead(raw, figures),
        sections,
    }
}

fn lead(raw: &Raw<Plan, Run>, figures: &Figures) -> Vec<String> {
    let plan = &raw.plan;
    let mut lead = vec![format!(
        "Messages of {} bytes, {} a second, {} after {} that warm up in each of {} rounds, in an order of \
         their own in each; {}.",
        grouped(plan.bytes),
        number(plan.rate_hz),
        plan.messages,
        plan.warm_up,
        raw.runs.iter().map(|run| run.round).max().unwrap_or(0),
        if plan.apart {
            "in a network namespace of the study's own (discovery range SUBNET)"
        } else {
            "on this host's own network (discovery range LOCALHOST)"
        },
    )];
    let of = |way: Way| {
        let of_way = |one: &&ConditionFigures| {
            let condition = one.condition;
            condition == super::Condition::new(way, 1)
        };
        figures.conditions.iter().find(of_way)
    };
    for way in [Way::Moved, Way::Shared, Way::OneProcess, Way::SharedMemory, Way::Loopback] {
        let Some(one) = of(way) else { continue };
        lead.push(format!("{}: P50 {}.", one.name, spread(one.p50_ns.as_ref())));
    }
    lead.extend(figures.wrong.iter().map(|wrong| format!("Wrong: {wrong}.")));
    lead
}

/// A time of which some never came.
pub(super) fn time(ns: f64) -> String {
    if ns.is_finite() { duration(ns) } else { "never".to_owned() }
}

pub(super) fn spread(spread: Option<&Spread>) -> String {
    spread.map_or("–".to_owned(), |spread| {
        format!("{} ({}–{})", time(spread.middle), time(spread.least), time(spread.most))
    })
}

fn costs(raw: &Raw<Plan, Run>, figures: &Figures) -> Section {
    let heads = [
        "way",
        "runs",
        "messages due; received",
        "P50 (runs)",
        "P99 (runs)",
        "P50 until read",
        "kept the producer, P50",
        "processors, a message",
    ];
    let row = |one: &ConditionFigures| {
        let time = |of: Option<&Spread>| {
            if one.unstable { "UNSTABLE".to_owned() } else { spread(of) }
        };
        vec![
            one.name.clone(),
            one.runs.to_string(),
            format!("{}; {}", one.due, one.received),
            time(one.p50_ns.as_ref()),
            time(one.p99_ns.as_ref()),
            time(one.read_p50_ns.as_ref()),
            spread(one.handed_p50_ns.as_ref()),
            spread(one.cpu_ns.as_ref()),
        ]
    };
    let mut blocks: Vec<Block> = figures.conditions.iter().filter_map(doubtful).collect();
    blocks.extend([
        Block::Table {
            caption: "from handing over until a consumer has the message: the median of the runs, the \
                      least and the greatest; a message that never came is later than all that did"
                .to_owned(),
            heads: words(&heads),
            rows: figures.conditions.iter().map(row).collect(),
        },
        Block::Text(
            "\"Until read\" has the consumer's reading of every byte in it: memory that nobody copied \
             has to be fetched then. Processors: of producer and consumers together, making the message \
             and reading it included, over the messages that were sent."
                .to_owned(),
        ),
    ]);
    let strips = figures.conditions.iter().map(|one| {
        let of = raw.runs.iter().filter(|run| run.condition == one.condition);
        let all = of.flat_map(|run| &run.took).flat_map(|took| &took.latency_ns);
        Strip { name: one.name.clone(), values: all.map(|ns| float(*ns)).collect() }
    });
    blocks.push(Block::Strips(Strips {
        id: "latency".to_owned(),
        title: "Each message: from handing over until a consumer has it".to_owned(),
        shows: "For each way how long single messages took, of all runs.".to_owned(),
        axis: "latency".to_owned(),
        durations: true,
        log: true,
        target: None,
        strips: strips.collect(),
    }));
    Section { heading: "What handing over takes".to_owned(), blocks }
}

/// What makes a condition's times doubtful.
fn doubtful(one: &ConditionFigures) -> Option<Block> {
    if one.unstable {
        let load = one.load.unwrap_or(0.0) * 100.0;
        let text = format!(
            "{}: UNSTABLE: it takes {load:.0} % of all processors at this rate, so messages queue up, and \
             no percentile says anything; {} of {} came.",
            one.name, one.received, one.due
        );
        return Some(Block::Claim(Mark::Beware, text));
    }
    let modes = one.modes?;
    let text = format!(
        "{}: two modes: {} messages near {}, {} near {}. Its P50 falls on the one or the other.",
        one.name,
        modes.low.n,
        maybe(Some(modes.low.center_ns)),
        modes.high.n,
        maybe(Some(modes.high.center_ns)),
    );
    Some(Block::Claim(Mark::Beware, text))
}

fn routes(figures: &Figures) -> Section {
    let went = |one: &ConditionFigures| {
        one.went.iter().map(|route| route.words()).collect::<Vec<_>>().join(", ")
    };
    let lends = |lends: Option<bool>| match lends {
        None => "–",
        Some(true) => "yes",
        Some(false) => "no",
    };
    let row = |one: &ConditionFigures| {
        vec![
            one.name.clone(),
            one.asked.words().to_owned(),
            went(one),
            one.loopback_share.map_or("–".to_owned(), |(least, most)| {
                format!("{:.1} %–{:.1} %", least * 100.0, most * 100.0)
            }),
            if one.together.is_empty() { "–".to_owned() } else { one.together.join(", ") },
            format!("{}; {}", lends(one.producer_lends), lends(one.consumers_lend)),
        ]
    };
    let heads = [
        "way",
        "asked for",
        "really went",
        "loopback carried, of the bytes due",
        "memory that both sides have",
        "lends: producer; consumers",
    ];
    let mut blocks: Vec<Block> = figures.conditions.iter().filter_map(fell_back).collect();
    blocks.push(Block::Table {
        caption: "the way of the bytes, by what can be seen from outside".to_owned(),
        heads: words(&heads),
        rows: figures.conditions.iter().map(row).collect(),
    });
    blocks.push(Block::Text(
        "Seen in /proc: which files of /dev/shm both processes have in their memory (ports of Fast DDS \
         apart), and what the loopback interface of this network namespace carried meanwhile, whosever \
         it was. Loopback at 90 % of the bytes or more: they went there; at 10 % or less: they did not. \
         DDS in one process is started without shared memory: with loopback out, only the process is \
         left."
            .to_owned(),
    ));
    Section { heading: "Which way they really went".to_owned(), blocks }
}

/// Another way than was asked for, without a word of the middleware.
fn fell_back(one: &ConditionFigures) -> Option<Block> {
    if one.went == [one.asked] {
        return None;
    }
    if one.went.contains(&Route::Unclear) {
        let text = format!("{}: which way it went, the evidence doesn't tell.", one.name);
        return Some(Block::Claim(Mark::NotShown, text));
    }
    let went: Vec<&str> = one.went.iter().map(|route| route.words()).collect();
    let mut text = format!(
        "{}: {} was asked for, and {} was taken; nobody said so",
        one.name,
        one.asked.words(),
        went.join(" or ")
    );
    let why = match one.condition.way {
        Way::FallBack => {
            Some("the producer has no shared memory (FASTDDS_BUILTIN_TRANSPORTS=UDPv4)")
        }
        Way::Loan if one.consumers_lend == Some(false) => Some(
            "the producer borrows its message, but rcl lends none to subscriptions unless \
             ROS_DISABLE_LOANED_MESSAGES=0, and rmw_fastrtps turns data sharing off unless a profile \
             with RMW_FASTRTPS_USE_QOS_FROM_XML=1 turns it on: the message is copied as any other",
        ),
        _ => None,
    };
    if let Some(why) = why {
        text.push_str(": ");
        text.push_str(why);
    }
    text.push('.');
    Some(Block::Claim(Mark::Shown, text))
}

fn contrasts(figures: &Figures) -> Section {
    let cell = |ratio: Option<&crate::Ratio>| ratio.map_or("–".to_owned(), times);
    let row = |one: &Contrast| {
        vec![
            format!("{} / {}", one.of, one.against),
            cell(one.latency.as_ref()),
            cell(one.read.as_ref()),
            cell(one.cpu.as_ref()),
        ]
    };
    let controls = figures.contrasts.iter().filter(|one| one.control).filter_map(control);
    Section {
        heading: "Beside each other".to_owned(),
        blocks: controls.chain([
            Block::Table {
                caption: "how many times as much the first takes: of the runs' medians, with the \
                          interval of 95 %, each by itself"
                    .to_owned(),
                heads: words(&["first / second", "latency", "until read", "processors"]),
                rows: figures.contrasts.iter().map(row).collect(),
            },
            Block::Text(
                "The run is the unit. Left out are conditions that are unstable, and those that went another \
                 way than their name says. An interval takes four runs on each side, and each misses the truth \
                 in one study of twenty: of so many, one or the other does."
                    .to_owned(),
            ),
        ]).collect(),
    }
}

/// A condition against itself: what the rig tells where there is nothing.
fn control(one: &Contrast) -> Option<Block> {
    let ratio = one.latency?;
    let (at_least, at_most) = (ratio.at_least?, ratio.at_most?);
    let what = format!("control: {} costs {} as much as {}", one.of, times(&ratio), one.against);
    Some(if at_least <= 1.0 && at_most >= 1.0 {
        Block::Claim(Mark::Shown, format!("{what}, of which 1 is true, and within."))
    } else {
        let text = format!(
            "{what}, where 1 is true. The machine changed from run to run by more than the interval \
             knows: differences of this size say nothing."
        );
        Block::Claim(Mark::Beware, text)
    })
}

fn copies(figures: &Figures) -> Section {
    let row = |one: &CopyFigures| {
        vec![
            one.name.clone(),
            one.messages.to_string(),
            one.matching.to_string(),
            one.copies.map_or("–".to_owned(), |(least, most)| {
                if least == most { least.to_string() } else { format!("{least}–{most}") }
            }),
            one.due.words(),
        ]
    };
    let heads = ["way", "messages", "with the producer's own buffer", "copies seen", "copies due"];
    let mut blocks: Vec<Block> = figures.copies.iter().filter_map(copied).collect();
    blocks.push(Block::Table {
        caption: "copies of a message, by where its bytes lay".to_owned(),
        heads: words(&heads),
        rows: figures.copies.iter().map(row).collect(),
    });
    blocks.push(Block::Text(
        "A buffer is told by its address, between processes by the place in the file that both have in \
         their memory. Copies seen are buffers of consumers that aren't the producer's; what a \
         middleware copies in between has no address that anybody sees. Decoys are blocks of the same \
         size, taken and held after each message: without them the allocator gives a freed block out \
         again, and another message lies where the one before it lay."
            .to_owned(),
    ));
    Section { heading: "Copies".to_owned(), blocks }
}

fn copied(one: &CopyFigures) -> Option<Block> {
    let (least, most) = one.copies?;
    if one.condition.look == (Look::Addresses { decoys: false }) {
        let text = format!(
            "{}: {} of {} messages have the producer's address, although each was serialized and \
             made anew of its bytes. Equal addresses are no proof.",
            one.name, one.matching, one.messages
        );
        return Some(Block::Claim(Mark::Beware, text));
    }
    let seen = if least == most { least.to_string() } else { format!("{least} to {most}") };
    let (mark, end) = match one.by_rule {
        Some(true) => (Mark::Shown, String::new()),
        Some(false) => (Mark::Beware, format!(", where {} are due", one.due.words())),
        None => (Mark::NotShown, String::new()),
    };
    let noun = if (least, most) == (1, 1) { "copy" } else { "copies" };
    let text = format!("{}: {seen} {noun} of each of {} messages{end}.", one.name, one.messages);
    Some(Block::Claim(mark, text))
}

fn bursts(raw: &Raw<Plan, Run>, figures: &Figures) -> Section {
    let row = |one: &BurstFigures| {
        let (least, most) = one.received_range;
        vec![
            one.name.clone(),
            one.depth.to_string(),
            one.due.to_string(),
            one.received.to_string(),
            if least == most { least.to_string() } else { format!("{least}–{most}") },
        ]
    };
    Section {
        heading: "Depth".to_owned(),
        blocks: vec![
            Block::Table {
                caption: format!(
                    "{} messages at once, to a consumer that takes {} ms over each",
                    raw.plan.messages, raw.plan.slow_ms
                ),
                heads: words(&["way", "depth", "due", "received", "received, by run"]),
                rows: figures.bursts.iter().map(row).collect(),
            },
            Block::Text(
                "A queue of a small depth loses messages inside one process, too: what waits beyond it \
                 is dropped, the oldest first (KEEP_LAST)."
                    .to_owned(),
            ),
        ],
    }
}
