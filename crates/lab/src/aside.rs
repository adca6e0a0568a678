//! What stands beside the figures of a study: what was not done, what runs left behind, and where it was
//! measured.

use crate::study::Raw;
use crate::{Block, Housekeeping, Mark, Section};

/// The section.
pub(crate) fn aside<P, R>(raw: &Raw<P, R>) -> Section {
    let mut blocks: Vec<Block> = raw
        .skipped
        .iter()
        .map(|skipped| Block::Claim(Mark::Beware, format!("{}: {}.", skipped.what, skipped.why)))
        .collect();
    if !raw.complete {
        let text = "The study was stopped before all of its runs were done.";
        blocks.push(Block::Claim(Mark::Beware, text.to_owned()));
    }
    let killed: u64 = raw.housekeeping.iter().map(|run| run.killed).sum();
    let most =
        |pick: fn(&Housekeeping) -> u64| raw.housekeeping.iter().map(pick).max().unwrap_or(0);
    let before = raw.housekeeping.first().map_or(0, |run| run.orphans);
    blocks.push(Block::Text(format!(
        "Files of Fast DDS in /dev/shm, before the first run and after each: at most {}, of which at most {} \
         were nobody's any more, {before} of them before. Processes that had to be killed: {killed}. Seed \
         {}.",
        most(|run| run.segments),
        most(|run| run.orphans),
        raw.seed
    )));
    if !raw.environment.is_empty() {
        blocks.push(Block::Text("Where it was measured:".to_owned()));
        let lines = raw.environment.iter().map(|(key, value)| format!("{key}: {value}"));
        blocks.push(Block::Code(lines.collect::<Vec<_>>().join("\n")));
    }
    Section { heading: "Beside".to_owned(), blocks }
}
