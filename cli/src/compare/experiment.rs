//! experiment.json: the plan, the order, and which trials are done.

use super::plan::Plan;
use crate::args::Usage;
use crate::order::order;
use anyhow::Context;
use hopwatch_analysis::{Arm, DEFAULT_DELIVERY_MARGIN, ExperimentPlan, FailedTrial};
use hopwatch_kit::service::exit;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// The file.
pub(crate) const NAME: &str = "experiment.json";
const SCHEMA: &str = "hopwatch.experiment/1";

/// What differs from run to run without saying anything on what was measured.
const NO_PART: [&str; 2] = ["load_before", "ROS_DOMAIN_ID"];

/// What a trial takes besides its time: programs start, find each other and end.
const START_AND_END: Duration = Duration::from_secs(3);
/// How much longer robots stay where packets of theirs are lost.
const REPAIRS: Duration = Duration::from_secs(6);

/// An experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Experiment {
    schema: String,
    /// When it began, RFC 3339.
    pub(super) started: String,
    pub(super) plan: Plan,
    /// Every trial runs in network namespaces, those without loss too: then nothing but the loss
    /// tells them apart.
    pub(super) namespaces: bool,
    /// Arms that can't be had here.
    pub(super) skipped: Vec<Skipped>,
    /// The names of the arms, block by block.
    pub(super) order: Vec<Vec<String>>,
    /// Where the first trial was measured. The others must have been measured in the same place.
    pub(super) fingerprint: Option<BTreeMap<String, String>>,
    pub(super) trials: Vec<Done>,
    /// Trials that were begun and did not become one that is done, over all starts of the
    /// experiment.
    #[serde(default)]
    pub(super) failed: Vec<Failed>,
}

/// A trial that was begun, and run anew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Failed {
    pub(super) block: u32,
    pub(super) arm: String,
    /// Where what it left is kept, in the folder of the experiment; `null`: it was stopped, and is
    /// gone.
    pub(super) folder: Option<String>,
    pub(super) why: String,
    /// Somebody stopped it, or all of the experiment ended: that is none of its arm's doing.
    pub(super) stopped: bool,
    /// How many messages it had delivered; `null`: that can't be read.
    pub(super) delivered: Option<u64>,
}

impl Failed {
    /// It measured something, and then failed: that it is run anew selects data.
    fn selects(&self) -> bool {
        !self.stopped && self.delivered != Some(0)
    }
}

/// An arm without trials.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Skipped {
    pub(super) arm: String,
    pub(super) why: String,
}

/// A trial that is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Done {
    /// Its block, from 1.
    pub(super) block: u32,
    pub(super) arm: String,
    /// Its folder, in that of the experiment.
    pub(super) folder: String,
    /// Of its run: 3 is one without a steady state, which is kept.
    pub(super) exit_code: u8,
    /// How often it was begun.
    pub(super) attempts: u32,
    pub(super) took_ns: u64,
}

#[derive(Deserialize)]
struct Named {
    schema: String,
}

impl Experiment {
    /// A new one; arms with loss are skipped where it can't be had, for the reason given.
    pub(super) fn new(plan: Plan, started: String, no_loss: Option<&str>) -> Result<Self, Usage> {
        let arms = plan.arms();
        let skipped: Vec<Skipped> = arms
            .iter()
            .filter(|arm| arm.loss > 0.0)
            .filter_map(|arm| Some((arm, no_loss?)))
            .map(|(arm, why)| Skipped { arm: arm.name.clone(), why: why.to_owned() })
            .collect();
        let namespaces = plan.loss.iter().any(|loss| *loss > 0.0) && no_loss.is_none();
        let mut new = Self {
            schema: SCHEMA.to_owned(),
            started,
            plan,
            namespaces,
            skipped,
            order: Vec::new(),
            fingerprint: None,
            trials: Vec::new(),
            failed: Vec::new(),
        };
        new.order = new.drawn();
        if let Some(first) = new.skipped.first()
            && new.arms().iter().filter(|arm| !arm.is_control).count() < 2
        {
            let text = format!("without loss there is nothing to compare here: {}", first.why);
            return Err(Usage(text));
        }
        Ok(new)
    }

    /// Whether this experiment is the one that a command line asks for, and can go on here.
    pub(super) fn goes_on_with(
        &self,
        mut plan: Plan,
        seed_is_given: bool,
        folder: &Path,
        no_loss: Option<&str>,
    ) -> Result<(), Usage> {
        if !seed_is_given {
            plan.seed = self.plan.seed;
        }
        if let Some((key, asked, stored)) = plan.difference(&self.plan) {
            return Err(Usage(format!(
                "{} holds an experiment with another plan: {key} is {asked}, and was {stored} \
                 there; choose another --out, or ask for the same",
                folder.display()
            )));
        }
        match no_loss.filter(|_| self.namespaces && !self.left().is_empty()) {
            Some(why) => Err(Usage(format!("the experiment can't go on here: {why}"))),
            None => Ok(()),
        }
    }

    /// How long what is left may take, before anything is known of it.
    pub(super) fn estimate(&self) -> Duration {
        let lossy_ros = self.plan.loss_legs.iter().any(|leg| leg == "ros");
        let of = |(_, arm): &(u32, Arm)| {
            let repairs = if arm.loss > 0.0 && lossy_ros { REPAIRS } else { Duration::ZERO };
            Duration::from_nanos(self.plan.for_ns) + START_AND_END + repairs
        };
        self.left().iter().map(of).sum()
    }

    /// The order by the seed.
    fn drawn(&self) -> Vec<Vec<String>> {
        let arms = self.arms();
        let numbers: Vec<usize> = (0..arms.len()).collect();
        let named = |block: Vec<usize>| block.iter().map(|arm| arms[*arm].name.clone()).collect();
        order(&numbers, self.plan.trials, self.plan.seed).into_iter().map(named).collect()
    }

    /// The arms that have trials.
    pub(super) fn arms(&self) -> Vec<Arm> {
        let mut arms = self.plan.arms();
        arms.retain(|arm| self.skipped.iter().all(|skipped| skipped.arm != arm.name));
        arms
    }

    /// The plan as the analysis knows it: of the arms that have trials.
    pub(super) fn comparison_plan(&self) -> ExperimentPlan {
        let ns = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
        ExperimentPlan {
            arms: self.arms(),
            blocks: self.plan.trials,
            seed: self.plan.seed,
            margin_ns: ns(self.plan.margin_ns),
            limit_ns: ns(self.plan.limit_ns),
            delivery_margin: DEFAULT_DELIVERY_MARGIN,
            warm_up_ns: ns(self.plan.warm_up_ns),
            loss_legs: self.plan.loss_legs.clone(),
        }
    }

    /// The trials in their order: block, from 1, and arm.
    pub(super) fn turns(&self) -> Vec<(u32, Arm)> {
        let arms = self.arms();
        let of_block = |(block, names): (u32, &Vec<String>)| {
            let named = |name: &String| arms.iter().find(|arm| arm.name == *name).cloned();
            names.iter().filter_map(named).map(move |arm| (block, arm)).collect::<Vec<_>>()
        };
        (1..).zip(&self.order).flat_map(of_block).collect()
    }

    /// Those that aren't done.
    pub(super) fn left(&self) -> Vec<(u32, Arm)> {
        let mut turns = self.turns();
        turns.retain(|(block, arm)| {
            !self.trials.iter().any(|done| done.block == *block && done.arm == arm.name)
        });
        turns
    }

    /// What is to be known of the trials beside their figures.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = self
            .skipped
            .iter()
            .map(|skipped| format!("skipped: {}: {}", skipped.arm, skipped.why))
            .collect();
        for done in &self.trials {
            if done.exit_code == exit::UNSTABLE {
                // One whose account doesn't add up is never done.
                notes.push(format!("trial {} had no steady state; it is kept", done.folder));
            }
        }
        for failed in &self.failed {
            let delivered =
                failed.delivered.map_or("an unknown number of".to_owned(), |n| n.to_string());
            let kept =
                failed.folder.as_deref().map_or(String::new(), |at| format!(", kept in {at}"));
            notes.push(format!(
                "trial {:02}-{} was begun anew: {} (it had {delivered} messages delivered{kept})",
                failed.block, failed.arm, failed.why
            ));
        }
        notes
    }

    /// How often a trial was begun without becoming one that is done.
    pub(super) fn failures(&self, block: u32, arm: &str) -> u32 {
        let of_it = self.failed.iter().filter(|f| f.block == block && f.arm == arm);
        u32::try_from(of_it.count()).unwrap_or(u32::MAX)
    }

    /// Those that failed after they had measured something.
    pub(super) fn selected(&self, plan: &ExperimentPlan) -> Vec<FailedTrial> {
        let of = |failed: &Failed| {
            let arm = plan.arms.iter().position(|arm| arm.name == failed.arm)?;
            let name = failed.folder.clone().unwrap_or_else(|| failed.arm.clone());
            Some(FailedTrial { arm, name, why: failed.why.clone() })
        };
        self.failed.iter().filter(|failed| failed.selects()).filter_map(of).collect()
    }

    /// Keeps where the first trial was measured, and refuses one that was measured elsewhere.
    pub(super) fn same_place(
        &mut self,
        environment: BTreeMap<String, String>,
    ) -> Result<(), Usage> {
        let mut found = environment;
        found.retain(|key, _| !NO_PART.contains(&key.as_str()));
        let Some(first) = &self.fingerprint else {
            self.fingerprint = Some(found);
            return Ok(());
        };
        let keys = first.keys().chain(found.keys());
        let differs = keys.into_iter().find(|key| first.get(*key) != found.get(*key));
        let Some(key) = differs else { return Ok(()) };
        let shown = |of: &BTreeMap<String, String>| {
            of.get(key).map_or_else(|| "nothing".to_owned(), |value| format!("{value:?}"))
        };
        Err(Usage(format!(
            "the trials can't be compared: {key} was {} and is {}; measure all in one place, or \
             choose another --out",
            shown(first),
            shown(&found)
        )))
    }

    /// Reads the one of a folder; `None` when there is none.
    pub(super) fn read(folder: &Path) -> Result<Option<Self>, Usage> {
        let path = folder.join(NAME);
        let wrong = |what: String| Usage(format!("{} can't be read: {what}", path.display()));
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(wrong(error.to_string())),
        };
        // First the schema: of another one, nothing else is known.
        let named: Named = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        if named.schema != SCHEMA {
            let text = format!("it is {:?}, and this Hopwatch knows {SCHEMA:?}", named.schema);
            return Err(wrong(text));
        }
        let read: Self = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        if read.order != read.drawn() {
            return Err(wrong("its order is not the one that its seed gives".to_owned()));
        }
        Ok(Some(read))
    }

    pub(super) fn write(&self, folder: &Path) -> anyhow::Result<()> {
        let mut text = serde_json::to_string_pretty(self).context("failed to write JSON")?;
        text.push('\n');
        Ok(hopwatch_folder::replace(&folder.join(NAME), &text)?)
    }
}

/// Whether a folder is that of an experiment.
pub(crate) fn is_in(folder: &Path) -> bool {
    folder.join(NAME).exists()
}

#[cfg(test)]
#[path = "experiment_tests.rs"]
mod tests;
