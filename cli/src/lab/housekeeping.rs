//! What runs leave behind in shared memory: counted after each, and told.

use crate::doctor::memory::{FOLDER, Life, Memory};
use hopwatch_lab::Housekeeping;
use std::path::Path;

/// Looks after a run. `killed` are its processes that did not end by themselves.
pub(crate) fn after(run: &str, killed: u64) -> Housekeeping {
    let memory = Memory::look(Path::new(FOLDER));
    let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    let segments = memory.objects.iter().map(|object| object.files.len()).sum();
    let orphans = memory.objects.iter().filter(|object| object.life == Life::Left);
    let orphans = orphans.map(|object| object.files.len()).sum();
    Housekeeping { run: run.to_owned(), segments: count(segments), orphans: count(orphans), killed }
}
