//! What an experiment comes to: from its folder to its report.

use super::experiment::Experiment;
use crate::args::Usage;
use hopwatch_kit::service::exit;
use std::path::Path;

/// `hopwatch report` of an experiment's folder.
pub(crate) fn report(folder: &Path) -> anyhow::Result<u8> {
    make(folder)
}

/// Compares the trials of a folder.
pub(super) fn make(folder: &Path) -> anyhow::Result<u8> {
    let experiment = Experiment::read(folder)?
        .ok_or_else(|| Usage(format!("{} holds no experiment", folder.display())))?;
    for note in experiment.notes() {
        eprintln!("{note}");
    }
    Ok(exit::UNSTABLE)
}
