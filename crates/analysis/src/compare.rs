//! An experiment's trials compared: its JSON is report.json of `hopwatch compare`.
//!
//! The same plan and trials give the same comparison, byte for byte, in whatever order they come.

use crate::artefacts::{ArtefactKind, State};
use crate::contrast::{
    Contrast, Decision, FEWEST_FOR_P99, OfArm, contrast, correct, effects, first_to_fix, holm,
    is_shifted, pairs,
};
use crate::effect::{Amount, Effect, Metric};
use crate::experiment::{ExperimentPlan, Factor};
use crate::qos_advice::{QosComparison, qos_comparison};
use crate::short_cut::of_trials;
use crate::trial::{Dropped, TrialFigures};
use hopwatch_model::Ns;
use hopwatch_stats::{fewest_runs, proportion_interval_of_runs, quantile};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The schema of a comparison.
pub const COMPARISON_SCHEMA: &str = "hopwatch.comparison/1";

/// What an experiment says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// [`COMPARISON_SCHEMA`].
    pub schema: &'static str,
    /// What was planned.
    pub plan: ExperimentPlan,
    /// Must HTTP be replaced?
    pub verdict: ComparisonVerdict,
    /// Each pair of arms that differ in one factor.
    pub contrasts: Vec<Contrast>,
    /// The first arm against its twin; `null` when the plan has none.
    pub control: Option<Control>,
    /// Each arm by itself.
    pub arms: Vec<ArmFigures>,
    /// BEST_EFFORT against RELIABLE, under each condition.
    pub qos: Vec<QosComparison>,
    /// What was found or ruled out besides the link, in each arm.
    pub artefacts: Vec<ArmArtefact>,
    /// What else has to be known to read this.
    pub notes: Vec<String>,
}

/// Must HTTP be replaced?
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparisonVerdict {
    /// SWITCH, KEEP or INCONCLUSIVE.
    pub decision: Decision,
    /// Why.
    pub reason: String,
    /// What is to be put right before any transport is thought of.
    pub fix_first: Vec<String>,
    /// How many blocks more than this one a new experiment needs, for a chance of 80 % each;
    /// `null`: decided, or none would do.
    pub more_runs: Option<usize>,
    /// How many that are in all.
    pub blocks_needed: Option<usize>,
}

/// The A/A control: two arms that are the same.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Control {
    /// The first arm's name.
    pub baseline_name: String,
    /// Its twin's.
    pub control_name: String,
    /// Blocks that both have.
    pub runs: usize,
    /// What was compared.
    pub effects: Vec<Effect>,
    /// Whether so few runs can tell anything: 4 pairs, more when more is looked at.
    pub can_tell: bool,
    /// Something that the contrasts are decided on differs, or delivery does (p corrected by Holm):
    /// by chance in at most one of twenty experiments, else because trials influence each other or
    /// the machine changed. Then nothing here is to be relied on.
    pub differs: bool,
    /// What differs.
    pub differs_in: Vec<Metric>,
    /// In a sentence.
    pub said: String,
}

/// One arm by itself.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArmFigures {
    /// Its place in the plan.
    pub arm: usize,
    /// Its name.
    pub name: String,
    /// Its trials.
    pub runs: usize,
    /// Published, over all trials.
    pub published: u64,
    /// Delivered.
    pub delivered: u64,
    /// Delivered within the limit.
    pub within: u64,
    /// 95 % interval of the probability of delivery. The runs tell how much more it varies than by
    /// independent losses; `null`: nothing was published.
    pub delivered_ci: Option<(f64, f64)>,
    /// The same of delivery within the limit.
    pub within_ci: Option<(f64, f64)>,
    /// What its trials left out.
    pub dropped: Dropped,
    /// The median over trials of the P50 communication, in ns.
    pub communication_p50_ns: Option<Amount>,
    /// The same of P95.
    pub communication_p95_ns: Option<Amount>,
    /// The same of P99.
    pub communication_p99_ns: Option<Amount>,
    /// The P99 of each trial, in the order of the blocks; `null` of an unstable one.
    pub communication_p99s_ns: Vec<Option<Amount>>,
    /// The median over trials of the P50 total.
    pub total_p50_ns: Option<Ns>,
    /// The median over trials of the P50 of transport.
    pub transport_p50_ns: Option<Ns>,
    /// Trials without a steady state.
    pub unstable: Vec<String>,
}

/// One artefact in one arm.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArmArtefact {
    /// The arm's place in the plan.
    pub arm: usize,
    /// Its name.
    pub arm_name: String,
    /// Which.
    pub kind: ArtefactKind,
    /// Found in a trial, ruled out in all, or neither.
    pub state: State,
    /// In how many trials it was found.
    pub trials: usize,
    /// Of how many.
    pub of: usize,
    /// What was seen in the trial where it costs most.
    pub evidence: String,
    /// What to do about it; empty unless found.
    pub fix: String,
    /// The median over the trials with it of what the communication's P50 would gain.
    pub gain_p50_ns: Option<Ns>,
    /// The same of the P99.
    pub gain_p99_ns: Option<Ns>,
}

/// Compares the trials of a plan.
pub fn compare(plan: &ExperimentPlan, trials: &[TrialFigures]) -> Comparison {
    let mut notes = Vec::new();
    let arms = by_arm(plan, trials, &mut notes);
    let wanted = plan.contrasts();
    let mut contrasts: Vec<Contrast> = wanted
        .iter()
        .map(|&(factor, a, b)| {
            let family = wanted.iter().filter(|other| other.0 == factor).count();
            contrast(plan, (factor, a, b), (&arms[a], &arms[b]), family)
        })
        .collect();
    correct(&mut contrasts);
    let control = control(plan, &arms, &contrasts);
    let qos: Vec<QosComparison> = contrasts
        .iter()
        .filter(|c| c.factor == Factor::Qos)
        .map(|c| qos_comparison(plan, c, &arms[c.baseline], &arms[c.alternative]))
        .collect();
    if !qos.is_empty() && qos.iter().all(|qos| qos.loss <= 0.0) {
        notes.push(
            "BEST_EFFORT against RELIABLE without a loss arm proves nothing: add --loss, on the leg \
             ros"
                .to_owned(),
        );
    }
    for contrast in &contrasts {
        let of_b = &arms[contrast.alternative];
        notes.extend(contrast_notes(contrast, &first_to_fix(of_b)));
    }
    notes.sort();
    notes.dedup();
    let mut artefacts: Vec<ArmArtefact> =
        arms.iter().enumerate().flat_map(|(i, of_arm)| arm_artefacts(plan, i, of_arm)).collect();
    artefacts.extend(rate_effects(&contrasts));
    let verdict = verdict(plan, &arms, &contrasts, control.as_ref());
    Comparison {
        schema: COMPARISON_SCHEMA,
        plan: plan.clone(),
        verdict,
        control,
        arms: arms.iter().enumerate().map(|(i, of_arm)| arm_figures(plan, i, of_arm)).collect(),
        qos,
        artefacts,
        notes,
        contrasts,
    }
}

impl Comparison {
    /// 0: decided, 3: inconclusive. An experiment without two links is decided when each of its
    /// contrasts is; those of QoS without loss on the way to the gateway decide nothing.
    pub fn exit_code(&self) -> u8 {
        let links = self.contrasts.iter().any(|c| c.factor == Factor::Link);
        let open = |c: &&Contrast| c.decision == Decision::Inconclusive;
        // Without loss, BEST_EFFORT and RELIABLE do the same: that decides nothing (METHOD 19).
        let proves = |c: &&Contrast| {
            let arm = self.plan.arms.get(c.baseline);
            c.factor != Factor::Qos || arm.is_some_and(|arm| self.plan.ros_loss(arm) > 0.0)
        };
        let mut counted = self.contrasts.iter().filter(proves).peekable();
        let others = counted.peek().is_some() && !counted.any(|c| open(&c));
        let sound = self.control.as_ref().is_none_or(|control| !control.differs);
        let decided = self.verdict.decision != Decision::Inconclusive;
        if decided || (!links && others && sound) { 0 } else { 3 }
    }
}

/// The trials of each arm in the order of the blocks, each block once.
fn by_arm<'a>(
    plan: &ExperimentPlan,
    trials: &'a [TrialFigures],
    notes: &mut Vec<String>,
) -> Vec<OfArm<'a>> {
    let mut arms: Vec<OfArm<'a>> = vec![Vec::new(); plan.arms.len()];
    let mut sorted: Vec<&TrialFigures> = trials.iter().collect();
    sorted.sort_by(|a, b| (a.arm, a.block, &a.name).cmp(&(b.arm, b.block, &b.name)));
    for trial in sorted {
        match arms.get_mut(trial.arm) {
            None => notes.push(format!("trial {} is of no arm of the plan: left out", trial.name)),
            Some(of_arm) if of_arm.last().is_some_and(|last| last.block == trial.block) => {
                notes.push(format!(
                    "trial {} repeats block {} of its arm: left out",
                    trial.name, trial.block
                ));
            }
            Some(of_arm) => of_arm.push(trial),
        }
    }
    for (arm, of_arm) in plan.arms.iter().zip(&arms) {
        let blocks = usize::try_from(plan.blocks).unwrap_or(usize::MAX);
        if of_arm.len() < blocks {
            notes.push(format!("arm {} has {} of {blocks} trials", arm.name, of_arm.len()));
        }
    }
    arms
}

/// What has to be known to read a contrast.
fn contrast_notes(contrast: &Contrast, first: &[&crate::Artefact]) -> Vec<String> {
    let mut notes = Vec::new();
    if contrast.factor == Factor::Link {
        // That is what KEEP looks at, too: a gain that the alternative's own faults hide may be had.
        for artefact in first {
            notes.push(format!(
                "arm {} has {}: without it, it might gain more; {}",
                contrast.alternative_name,
                artefact.kind.title(),
                artefact.fix
            ));
        }
    }
    if let Some(n) = contrast.too_few_for_p99() {
        notes.push(format!(
            "{} and {}: a trial has {n} messages, and below {FEWEST_FOR_P99} its P99 is its \
             largest value",
            contrast.baseline_name, contrast.alternative_name
        ));
    }
    let Some(effect) = contrast.headline_effect() else { return notes };
    for (name, modes) in [
        (&contrast.baseline_name, &effect.baseline_modes),
        (&contrast.alternative_name, &effect.alternative_modes),
    ] {
        let Some(modes) = modes else { continue };
        notes.push(format!(
            "arm {name} has two kinds of runs: {} of {} with a {} of about {}, {} of about {}; \
             what makes the difference comes before any mean",
            modes.low.n,
            effect.baseline.len(),
            effect.metric.title(),
            crate::units::maybe(Some(modes.low.center_ns)),
            modes.high.n,
            crate::units::maybe(Some(modes.high.center_ns)),
        ));
    }
    notes
}

/// The first arm against its twin, in all that the contrasts are decided on and in delivery.
fn control(plan: &ExperimentPlan, arms: &[OfArm<'_>], contrasts: &[Contrast]) -> Option<Control> {
    let twin = plan.control().filter(|twin| *twin > 0)?;
    let pairs = pairs(&arms[0], &arms[twin]);
    let effects = effects(plan, (0, twin), &pairs, Metric::CommunicationP99);
    let used = contrasts.iter().flat_map(|c| c.tests.iter().map(|test| test.metric));
    let mut used: Vec<Metric> = used.chain([Metric::DeliveredWithin]).collect();
    if contrasts.is_empty() {
        used.push(Metric::CommunicationP99);
    }
    // What is the same in every run is no test, whichever run is whose.
    let varies = |effect: &&Effect| {
        let mut all = effect.baseline.iter().chain(&effect.alternative);
        let first = all.next().copied();
        used.contains(&effect.metric) && all.any(|amount| Some(*amount) != first)
    };
    let tried: Vec<&Effect> = effects.iter().filter(varies).collect();
    let ps: Vec<Option<f64>> = tried.iter().map(|effect| effect.p).collect();
    let ps = holm(&ps);
    let runs = tried.iter().map(|effect| effect.baseline.len()).min().unwrap_or(pairs.len());
    let number = f64::from(u32::try_from(tried.len().max(1)).unwrap_or(u32::MAX));
    let fewest = fewest_runs(0.05 / number);
    let found: Vec<(&Effect, f64)> = tried
        .iter()
        .zip(&ps)
        .filter_map(|(effect, p)| Some((*effect, (*p).filter(|p| *p <= 0.05)?)))
        .filter(|(effect, _)| is_shifted(effect))
        .collect();
    let can_tell = runs >= fewest;
    let size = |effect: &Effect| {
        let lost = effect.infinite_said("the first arm", "its twin");
        lost.unwrap_or_else(|| format!("{} {}", effect.metric.title(), effect.said()))
    };
    let sizes = |some: &mut dyn Iterator<Item = (&Effect, Option<f64>)>| {
        let p = |p: Option<f64>| p.map_or("–".to_owned(), |p| format!("{p:.3}"));
        let one = |(effect, of)| format!("{} (p = {})", size(effect), p(of));
        some.map(one).collect::<Vec<_>>().join("; ")
    };
    let said = if !can_tell {
        format!("the control says nothing: {runs} pairs of runs, below {fewest}")
    } else if found.is_empty() {
        let all = sizes(&mut tried.iter().copied().zip(ps.iter().copied()));
        let all = if all.is_empty() { "nothing varies".to_owned() } else { all };
        format!("the control shows no difference from its twin: {all}")
    } else {
        let some = sizes(&mut found.iter().map(|(effect, p)| (*effect, Some(*p))));
        format!("the control differs from its twin: {some}")
    };
    Some(Control {
        baseline_name: plan.arms[0].name.clone(),
        control_name: plan.arms[twin].name.clone(),
        runs,
        can_tell,
        differs: !found.is_empty(),
        differs_in: found.iter().map(|(effect, _)| effect.metric).collect(),
        said,
        effects,
    })
}

/// Over the link contrasts: SWITCH when one gains more than the margin, KEEP when none can.
fn verdict(
    plan: &ExperimentPlan,
    arms: &[OfArm<'_>],
    contrasts: &[Contrast],
    control: Option<&Control>,
) -> ComparisonVerdict {
    let links: Vec<&Contrast> = contrasts.iter().filter(|c| c.factor == Factor::Link).collect();
    let mut baselines: Vec<usize> = links.iter().map(|c| c.baseline).collect();
    if baselines.is_empty() {
        // Without two links, every arm has something to say of the one that there is.
        let first = plan.arms.first().map(|arm| arm.link.as_str());
        let arms = plan.arms.iter().enumerate();
        let with_it = arms.filter(|(_, arm)| !arm.is_control && Some(arm.link.as_str()) == first);
        baselines.extend(with_it.map(|(i, _)| i));
    }
    baselines.sort_unstable();
    baselines.dedup();
    let of_baselines: Vec<&TrialFigures> =
        baselines.iter().flat_map(|arm| arms[*arm].iter().copied()).collect();
    let mut fix_first: Vec<String> = Vec::new();
    for arm in &baselines {
        for artefact in first_to_fix(&arms[*arm]) {
            let text =
                format!("{} ({}): {}", artefact.kind.title(), plan.arms[*arm].name, artefact.fix);
            fix_first.push(text);
        }
    }
    let of = |decision| links.iter().filter(move |c| c.decision == decision).copied();
    let reasons = |some: &mut dyn Iterator<Item = &Contrast>| {
        let said = some.map(|c| format!("{} ({}): {}", c.effect, c.condition, c.reason));
        said.collect::<Vec<_>>().join("; ")
    };
    let missing = baselines.iter().any(|arm| arms[*arm].is_empty());
    let names: Vec<&str> = baselines.iter().map(|arm| plan.arms[*arm].name.as_str()).collect();
    let short_cut = if missing { None } else { of_trials(&of_baselines, &names, plan.margin_ns) };
    let explained = |c: &&Contrast| {
        let mended = c.mended_lower.or(c.mended_upper);
        mended.is_some() && c.decision == Decision::Inconclusive
    };
    let (decision, reason) = if let Some(control) = control.filter(|control| control.differs) {
        let said = format!(
            "{}. Two arms that are the same differ: by chance in at most one of twenty \
             experiments, else the machine changed or trials influence each other; repeat it on a quiet machine",
            control.said
        );
        (Decision::Inconclusive, said)
    } else if of(Decision::Switch).next().is_some() {
        let mut reason = reasons(&mut of(Decision::Switch));
        if let Some(kept) = of(Decision::Keep).next() {
            let (level, condition) = (&kept.alternative_level, &kept.condition);
            let _infallible = write!(reason, "; kept elsewhere: {level} ({condition})");
        }
        (Decision::Switch, reason)
    } else if !links.is_empty() && of(Decision::Keep).count() == links.len() {
        (Decision::Keep, reasons(&mut of(Decision::Keep)))
    } else if let Some(reason) = short_cut {
        (Decision::Keep, reason)
    } else if links.is_empty() {
        (Decision::Inconclusive, "no two links were compared: nothing is said on HTTP".to_owned())
    } else if links.iter().any(explained) {
        let mut found = links.iter().filter(|c| explained(c)).copied();
        (Decision::Inconclusive, format!("fix first: {}", reasons(&mut found)))
    } else {
        (Decision::Inconclusive, reasons(&mut of(Decision::Inconclusive)))
    };
    let open = decision == Decision::Inconclusive;
    let needed = of(Decision::Inconclusive).filter_map(|c| Some((c.more_runs?, c.runs)));
    let needed = needed.max().filter(|_| open);
    let more_runs = needed.map(|(more, _)| more);
    let blocks_needed = needed.map(|(more, runs)| runs + more);
    ComparisonVerdict { decision, reason, fix_first, more_runs, blocks_needed }
}

fn arm_figures(plan: &ExperimentPlan, arm: usize, trials: &OfArm<'_>) -> ArmFigures {
    let sum = |of: fn(&TrialFigures) -> u64| trials.iter().map(|trial| of(trial)).sum();
    let quantile_of = |thousandths: u32| {
        let stable = trials.iter().filter(|trial| trial.unstable.is_none());
        let of = |trial: &&TrialFigures| {
            trial.communication.over(trial.counts.reached).quantile(thousandths)
        };
        let mut values: Vec<f64> = stable.filter_map(of).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len().checked_sub(1)? / 2).copied().map(Amount)
    };
    let interval = |of: fn(&TrialFigures) -> u64| {
        let each: Vec<(u64, u64)> =
            trials.iter().map(|trial| (of(trial), trial.counts.published)).collect();
        proportion_interval_of_runs(&each, 0.95)
    };
    let middle = |of: fn(&TrialFigures) -> Option<Ns>| {
        let mut values: Vec<Ns> = trials.iter().filter_map(|trial| of(trial)).collect();
        values.sort_unstable();
        quantile(&values, 500)
    };
    ArmFigures {
        arm,
        name: plan.arms[arm].name.clone(),
        runs: trials.len(),
        published: sum(|trial| trial.counts.published),
        delivered: sum(|trial| trial.counts.delivered),
        within: sum(|trial| trial.counts.within),
        delivered_ci: interval(|trial| trial.counts.delivered),
        within_ci: interval(|trial| trial.counts.within),
        dropped: Dropped {
            warm_up: sum(|trial| trial.counts.dropped.warm_up),
            before_discovery: sum(|trial| trial.counts.dropped.before_discovery),
            in_flight: sum(|trial| trial.counts.dropped.in_flight),
            untimed: sum(|trial| trial.counts.dropped.untimed),
        },
        communication_p50_ns: quantile_of(500),
        communication_p95_ns: quantile_of(950),
        communication_p99_ns: quantile_of(990),
        communication_p99s_ns: trials
            .iter()
            .map(|trial| Metric::CommunicationP99.of(trial).map(Amount))
            .collect(),
        total_p50_ns: middle(|trial| quantile(&trial.total.sorted, 500)),
        transport_p50_ns: middle(|trial| quantile(&trial.transport.sorted, 500)),
        unstable: trials
            .iter()
            .filter(|trial| trial.unstable.is_some())
            .map(|trial| trial.name.clone())
            .collect(),
    }
}

fn arm_artefacts(plan: &ExperimentPlan, arm: usize, trials: &OfArm<'_>) -> Vec<ArmArtefact> {
    let mut kinds: BTreeMap<ArtefactKind, Vec<&crate::Artefact>> = BTreeMap::new();
    for artefact in trials.iter().flat_map(|trial| &trial.artefacts) {
        kinds.entry(artefact.kind).or_default().push(artefact);
    }
    kinds
        .into_iter()
        .map(|(kind, of_kind)| {
            let found: Vec<&crate::Artefact> =
                of_kind.iter().copied().filter(|a| a.state == State::Found).collect();
            let worst = found.iter().rev().max_by_key(|a| (a.gain_p99_ns, a.n)).copied();
            let middle = |of: fn(&crate::Artefact) -> Option<Ns>| {
                let mut gains: Vec<Ns> = found.iter().filter_map(|a| of(a)).collect();
                gains.sort_unstable();
                quantile(&gains, 500)
            };
            let ruled_out = of_kind.iter().all(|a| a.state == State::RuledOut);
            let shown = worst.or(of_kind.first().copied());
            ArmArtefact {
                arm,
                arm_name: plan.arms[arm].name.clone(),
                kind,
                state: match (found.is_empty(), ruled_out) {
                    (false, _) => State::Found,
                    (true, true) => State::RuledOut,
                    (true, false) => State::Unknown,
                },
                trials: found.len(),
                of: trials.len(),
                evidence: shown.map_or(String::new(), |a| a.evidence.clone()),
                fix: worst.map_or(String::new(), |a| a.fix.clone()),
                gain_p50_ns: middle(|a| a.gain_p50_ns),
                gain_p99_ns: middle(|a| a.gain_p99_ns),
            }
        })
        .collect()
}

/// The same call at another rate takes another time: no link effect (METHOD 20).
fn rate_effects(contrasts: &[Contrast]) -> Vec<ArmArtefact> {
    let rates = contrasts.iter().filter(|c| c.factor == Factor::Rate);
    rates
        .map(|c| ArmArtefact {
            arm: c.alternative,
            arm_name: c.alternative_name.clone(),
            kind: ArtefactKind::RateEffect,
            state: if c.differs { State::Found } else { State::Unknown },
            trials: if c.differs { c.runs } else { 0 },
            of: c.runs,
            evidence: c.said(),
            fix: if c.differs {
                "compare links at one rate only, the one they will have".to_owned()
            } else {
                String::new()
            },
            gain_p50_ns: None,
            gain_p99_ns: None,
        })
        .collect()
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
