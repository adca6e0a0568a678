//! Two arms that differ in one factor, and what is decided on them (METHOD 17).

use crate::artefacts::{Artefact, State};
use crate::effect::{Amount, Effect, Metric};
use crate::experiment::{ExperimentPlan, Factor};
use crate::trial::TrialFigures;
use crate::units::{duration, maybe};
use hopwatch_model::Ns;
use hopwatch_stats::{Moments, Shift, fewest_runs, runs_needed};
use serde::Serialize;

/// What is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Decision {
    /// The alternative gains more than the margin.
    Switch,
    /// The alternative gains less than the margin: shown, and not only "not shown otherwise".
    Keep,
    /// Neither is shown.
    Inconclusive,
}

impl Decision {
    /// As in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Switch => "SWITCH",
            Self::Keep => "KEEP",
            Self::Inconclusive => "INCONCLUSIVE",
        }
    }
}

/// A test of one metric.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Tested {
    /// Of what.
    pub metric: Metric,
    /// p, corrected for all tests.
    pub p: Option<f64>,
    /// Whether it differs.
    pub differs: bool,
}

/// Fewer messages have no P99 but their largest value.
pub(crate) const FEWEST_FOR_P99: usize = 100;

/// Two arms that differ in one factor.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Contrast {
    /// The factor.
    pub factor: Factor,
    /// "link effect", "rate effect", …
    pub effect: &'static str,
    /// The arm with the factor's first level, from 0 in the plan's order.
    pub baseline: usize,
    /// The other one.
    pub alternative: usize,
    /// The baseline's name.
    pub baseline_name: String,
    /// The alternative's.
    pub alternative_name: String,
    /// The baseline's level of the factor.
    pub baseline_level: String,
    /// The alternative's.
    pub alternative_level: String,
    /// The levels of all other factors, which both share.
    pub condition: String,
    /// Blocks that both arms have: runs a side.
    pub runs: usize,
    /// What is decided on: P99 of the communication; where QoS or loss differ, P99 from
    /// publication, since their effect lies before the take; where rates differ, P50, since their
    /// effect is one of each call (METHOD 20).
    pub headline: Metric,
    /// How many messages the smallest of its trials counts. Below 100 the P99 of a trial is its
    /// largest value, and nothing is decided on it.
    pub fewest_messages: Option<usize>,
    /// Each metric; the headline's first.
    pub effects: Vec<Effect>,
    /// The confidence of the lower bound that a SWITCH has to pass: 95 %, shared among all
    /// contrasts of this factor (Bonferroni), so that one false SWITCH among them all is as seldom.
    pub switch_confidence: f64,
    /// That lower bound of the headline's gain; `null`: too few runs.
    pub switch_lower: Option<Amount>,
    /// The lower bound, one-sided 95 %, of the gain in delivery within the limit, of those messages
    /// that reached the gateway's host. A SWITCH must not lose more than the plan's
    /// `delivery_margin`, for sure; `null`: too few runs.
    pub delivery_lower: Option<Amount>,
    /// The headline differs, or where rates differ the P99 of trials of 100 messages or more: p,
    /// corrected for all that is tested in all contrasts (S. Holm, 1979), is 0.05 at most; the
    /// two-sided 95 % interval of the shift leaves 0 out, since one run that is far off moves a
    /// mean; and of 6 blocks or more, the sign-flip test within blocks says the same. So alike arms
    /// are called different in less than 5 % of experiments.
    pub differs: bool,
    /// That p of the headline.
    pub p_corrected: Option<f64>,
    /// What is tested, the headline first.
    pub tests: Vec<Tested>,
    /// The lower bound, as for a SWITCH, of the gain that is left when both arms are without the
    /// artefacts that can be put right; `null` when the baseline has none, when it was not examined
    /// (where QoS or loss differ), or with too few runs.
    pub mended_lower: Option<Amount>,
    /// The upper bound of the same, one-sided 95 %; `null` when the alternative has none, likewise.
    pub mended_upper: Option<Amount>,
    /// What is decided. Of a rate, a payload or a loss: whether the other level is faster by more
    /// than the margin; nobody switches to one.
    pub decision: Decision,
    /// Why, in a sentence.
    pub reason: String,
    /// How many runs a side more than these a new experiment needs, for a chance of 80 %; `null`:
    /// decided, or no number would do. Going on with this one until it looks decided would find
    /// what isn't there.
    pub more_runs: Option<usize>,
}

impl Contrast {
    /// The effect that is decided on.
    pub fn headline_effect(&self) -> Option<&Effect> {
        self.effect_of(self.headline)
    }

    /// The effect on a metric.
    pub fn effect_of(&self, metric: Metric) -> Option<&Effect> {
        self.effects.iter().find(|effect| effect.metric == metric)
    }
}

/// The trials of an arm, in the order of the blocks.
pub(crate) type OfArm<'a> = Vec<&'a TrialFigures>;

/// The pairs of trials in one block.
pub(crate) fn pairs<'a>(a: &OfArm<'a>, b: &OfArm<'a>) -> Vec<(&'a TrialFigures, &'a TrialFigures)> {
    let partner = |trial: &&'a TrialFigures| {
        let other = b.iter().find(|other| other.block == trial.block)?;
        Some((*trial, *other))
    };
    a.iter().filter_map(partner).collect()
}

/// A draw's seed of its own for each contrast.
fn seed(plan: &ExperimentPlan, a: usize, b: usize) -> u64 {
    let number = |n: usize| u64::try_from(n).unwrap_or(0);
    plan.seed ^ (number(a) << 32 | number(b)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The effects of a pair of arms.
pub(crate) fn effects(
    plan: &ExperimentPlan,
    (a, b): (usize, usize),
    pairs: &[(&TrialFigures, &TrialFigures)],
    headline: Metric,
) -> Vec<Effect> {
    let others = Metric::ALL.into_iter().filter(|metric| *metric != headline);
    [headline].into_iter().chain(others).map(|m| Effect::of(m, pairs, seed(plan, a, b))).collect()
}

/// What is decided on, where these trials are compared.
pub(crate) fn headline(factor: Factor, pairs: &[(&TrialFigures, &TrialFigures)]) -> Metric {
    let before_the_take = matches!(factor, Factor::Qos | Factor::Loss);
    let known = |(a, b): &(&TrialFigures, &TrialFigures)| {
        a.from_publication.is_some() && b.from_publication.is_some()
    };
    if before_the_take && !pairs.is_empty() && pairs.iter().all(known) {
        Metric::FromPublicationP99
    } else if factor == Factor::Rate {
        Metric::CommunicationP50
    } else {
        Metric::CommunicationP99
    }
}

/// The metrics that are tested: of rates, the P99 beside the P50, where it is one.
fn tested(factor: Factor, pairs: &[(&TrialFigures, &TrialFigures)]) -> Vec<Metric> {
    let mut metrics = vec![headline(factor, pairs)];
    let p99 = Metric::CommunicationP99;
    if factor == Factor::Rate && fewest(p99, pairs).is_some_and(|n| n >= FEWEST_FOR_P99) {
        metrics.push(p99);
    }
    metrics
}

/// How many messages the smallest of these trials counts for a metric.
fn fewest(metric: Metric, pairs: &[(&TrialFigures, &TrialFigures)]) -> Option<usize> {
    pairs.iter().flat_map(|(a, b)| [a, b]).filter_map(|trial| metric.counted(trial)).min()
}

/// One contrast, of `family` ones of its factor, not corrected yet.
pub(crate) fn contrast(
    plan: &ExperimentPlan,
    (factor, a, b): (Factor, usize, usize),
    (of_a, of_b): (&OfArm<'_>, &OfArm<'_>),
    family: usize,
) -> Contrast {
    let (arm_a, arm_b) = (&plan.arms[a], &plan.arms[b]);
    let pairs = pairs(of_a, of_b);
    let headline = headline(factor, &pairs);
    let effects = effects(plan, (a, b), &pairs, headline);
    let family = f64::from(u32::try_from(family.max(1)).unwrap_or(u32::MAX));
    let switch_confidence = 1.0 - 0.05 / family;
    let (worse, better) = effects[0].sides();
    let lower = |worse: &[f64], better: &[f64]| {
        Shift::unpaired(worse, better, switch_confidence, 0.95)?.lower.map(Amount)
    };
    let mut contrast = Contrast {
        factor,
        effect: factor.effect(),
        baseline: a,
        alternative: b,
        baseline_name: arm_a.name.clone(),
        alternative_name: arm_b.name.clone(),
        baseline_level: factor.level(arm_a),
        alternative_level: factor.level(arm_b),
        condition: factor.condition(arm_a),
        runs: worse.len(),
        headline,
        fewest_messages: fewest(headline, &pairs),
        switch_confidence,
        switch_lower: lower(&worse, &better),
        delivery_lower: delivery_lower(&pairs),
        differs: false,
        p_corrected: None,
        tests: tested(factor, &pairs)
            .into_iter()
            .map(|metric| Tested { metric, p: None, differs: false })
            .collect(),
        mended_lower: None,
        mended_upper: None,
        decision: Decision::Inconclusive,
        reason: String::new(),
        more_runs: None,
        effects,
    };
    let first = [first_to_fix(of_a), first_to_fix(of_b)];
    // Both as they would be: an arm that is put right is compared with one that is, too.
    let mended = |(a, b): &(&TrialFigures, &TrialFigures)| {
        Some((headline.of_mended(a)?, headline.of_mended(b)?))
    };
    let (mended_a, mended_b): (Vec<f64>, Vec<f64>) = pairs.iter().filter_map(mended).unzip();
    let mended = Shift::unpaired(&mended_a, &mended_b, switch_confidence, 0.95);
    let [of_baseline, of_alternative] =
        [&first[0], &first[1]].map(|found| mended.filter(|_| !found.is_empty()));
    contrast.mended_lower = of_baseline.and_then(|shift| shift.lower).map(Amount);
    contrast.mended_upper = of_alternative.and_then(|shift| shift.upper).map(Amount);
    contrast.decide(plan, (of_a, of_b), &first);
    contrast
}

/// The lower bound of what the alternative gains in delivery within the limit, over what a link can
/// deliver.
#[expect(clippy::cast_precision_loss, reason = "counts of messages are far below 2⁵²")]
fn delivery_lower(pairs: &[(&TrialFigures, &TrialFigures)]) -> Option<Amount> {
    let share = |trial: &TrialFigures| {
        let counts = &trial.counts;
        (counts.reached > 0).then(|| counts.within as f64 / counts.reached as f64)
    };
    let both = |(a, b): &(&TrialFigures, &TrialFigures)| Some((share(a)?, share(b)?));
    let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().filter_map(both).unzip();
    Shift::unpaired(&b, &a, 0.95, 0.95)?.lower.map(Amount)
}

/// Artefacts found in at least half of an arm's trials that come before any transport, one of
/// each kind: that with the largest gain.
pub(crate) fn first_to_fix<'a>(trials: &[&'a TrialFigures]) -> Vec<&'a Artefact> {
    let found = |trial: &&'a TrialFigures| {
        let artefacts: &'a [Artefact] = &trial.artefacts;
        artefacts.iter().filter(|a| a.state == State::Found && a.kind.comes_first())
    };
    let mut all: Vec<&Artefact> = trials.iter().flat_map(found).collect();
    all.sort_by_key(|a| (a.kind, std::cmp::Reverse(a.gain_p99_ns)));
    let often = |kind| 2 * all.iter().filter(|a| a.kind == kind).count() >= trials.len();
    let mut first: Vec<&Artefact> = all.iter().copied().filter(|a| often(a.kind)).collect();
    first.dedup_by_key(|a| a.kind);
    first
}

impl Contrast {
    /// `first` is what the baseline, and what the alternative has to put right.
    fn decide(
        &mut self,
        plan: &ExperimentPlan,
        (of_a, of_b): (&OfArm<'_>, &OfArm<'_>),
        [first, of_alternative]: &[Vec<&Artefact>; 2],
    ) {
        let Some(effect) = self.headline_effect().cloned() else { return };
        let margin = float(plan.margin_ns);
        let margin_said = maybe(Some(plan.margin_ns));
        let what = self.what(&effect);
        let unstable = of_a.iter().chain(of_b).find(|trial| trial.unstable.is_some());
        let beyond = |bound: Option<Amount>| bound.is_some_and(|bound| bound.0 > margin);
        let within = |bound: Option<Amount>| bound.is_some_and(|bound| bound.0 < margin);
        let (below, mended_below) = (within(effect.gain_upper), within(self.mended_upper));
        let names = |found: &[&Artefact]| {
            found.iter().map(|a| a.kind.title()).collect::<Vec<_>>().join(" and ")
        };
        // Fewer runs can't show anything, whatever they say (METHOD 16).
        let few = self.runs < fewest_runs(0.05);
        let delivers_less = self
            .effect_of(Metric::DeliveredWithin)
            .and_then(|effect| effect.gain_upper)
            .is_some_and(|upper| upper.0 < 0.0);
        // Faster is not enough: an arm that loses what is slow is fast (METHOD 10).
        let delivers = self.delivery_lower.is_some_and(|bound| bound.0 > -plan.delivery_margin);
        if let Some(trial) = unstable {
            let why = trial.unstable.as_deref().unwrap_or_default();
            self.reason = format!("trial {} was unstable: {why}", trial.name);
        } else if few {
            self.more_runs = Some(fewest_runs(0.05) - self.runs);
            self.reason = format!(
                "{} runs a side: below {} nothing can be shown at 5 %",
                self.runs,
                fewest_runs(0.05)
            );
        } else if let Some(n) = self.too_few_for_p99() {
            self.reason = format!(
                "{what}, but a trial has {n} messages only: below {FEWEST_FOR_P99} its P99 is its \
                 largest value, and nothing is decided on that; longer trials"
            );
        } else if beyond(self.switch_lower) && !first.is_empty() && self.mended_lower.is_none() {
            self.reason = format!(
                "{what}, but the baseline has {}, and how much of it that explains is not \
                 examined: put it right first",
                names(first)
            );
        } else if beyond(self.switch_lower) && !first.is_empty() && !beyond(self.mended_lower) {
            self.reason = format!(
                "{what}, but the baseline has {}: that explains it, and comes first",
                names(first)
            );
        } else if beyond(self.switch_lower) && delivers_less {
            self.reason = format!(
                "{what}, more than the margin of {margin_said}, but it delivers fewer messages \
                 within {}: faster and worse",
                maybe(Some(plan.limit_ns))
            );
        } else if beyond(self.switch_lower) && !delivers {
            let points = |share: f64| Metric::DeliveredWithin.said_gain(share);
            let bound = self.delivery_lower.map_or("no bound".to_owned(), |b| points(b.0));
            self.reason = format!(
                "{what}, more than the margin of {margin_said}, but that it delivers as many \
                 messages within {} is not shown: at least {bound}, where {} are allowed; more or \
                 longer runs",
                maybe(Some(plan.limit_ns)),
                points(-plan.delivery_margin)
            );
        } else if beyond(self.switch_lower) {
            self.decision = Decision::Switch;
            self.reason = format!("{what}: more than the margin of {margin_said}");
        } else if let Some((lost, of)) = effect.lost_by_baseline().filter(|_| below) {
            self.reason = format!(
                "{what}, but with {} {lost} of {of} runs lost their {}, which no bound on the \
                 other runs tells: how often that happens is what the alternative might change; \
                 find out what is lost, or measure more runs",
                self.baseline_level,
                effect.metric.title()
            );
        } else if below && effect.two_kinds(plan.margin_ns) {
            self.reason = format!(
                "{what}, but runs are of two kinds that are farther apart than the margin of \
                 {margin_said}: how often each comes is no shift, and more than the bound tells; \
                 find out what makes them"
            );
        } else if below && !of_alternative.is_empty() && !mended_below {
            let (names, to) = (names(of_alternative), &self.alternative_level);
            let might = match self.mended_upper {
                Some(bound) => {
                    format!("without it {to} might gain up to {}", effect.metric.said_gain(bound.0))
                }
                None => format!("what {to} would gain without it is not examined"),
            };
            self.reason =
                format!("{what}, but {to} has {names}: {might}; put that right there first");
        } else if below {
            self.decision = Decision::Keep;
            self.reason = format!("{what}: less than the margin of {margin_said}, proven");
        } else {
            self.undecided(&effect, &what, plan.margin_ns);
        }
    }

    /// What was found, in the beginning of a sentence.
    fn what(&self, effect: &Effect) -> String {
        let (from, to) = (&self.baseline_level, &self.alternative_level);
        match (effect.infinite_said(from, to), effect.gain) {
            (Some(said), _) => format!("{to} instead of {from}: {said}"),
            (None, None) => format!(
                "{to} instead of {from}: {} is lost with both, which leaves the gain open",
                effect.metric.title()
            ),
            (None, Some(_)) => format!(
                "{to} instead of {from} gains {} at {}",
                effect.said(),
                effect.metric.title()
            ),
        }
    }

    /// Neither is proven: how many runs might do.
    fn undecided(&mut self, effect: &Effect, what: &str, margin_ns: Ns) {
        let (margin, margin_said) = (float(margin_ns), maybe(Some(margin_ns)));
        let (worse, better) = effect.sides();
        let moments = Moments::of(&worse).zip(Moments::of(&better));
        let needed = moments.and_then(|(a, b)| {
            // A SWITCH has to pass the bound that is corrected for the family.
            let switch = a.mean - b.mean > margin;
            let confidence = if switch { self.switch_confidence } else { 0.95 };
            runs_needed(&a, &b, margin, confidence)
        });
        // What is not decided by as many as should do needs more than that.
        let more = needed.map(|n| n.saturating_sub(self.runs).max(self.runs.div_ceil(2)));
        self.more_runs = more;
        let hint = match more {
            Some(more) => format!(
                "a new experiment of about {} blocks would decide (4 of 5 times)",
                self.runs + more
            ),
            None if moments.is_none() => {
                "quantiles were lost in some runs, which leaves them open: longer runs or less \
                 loss"
                    .to_owned()
            }
            None => "the gain lies about at the margin: no number of runs decides".to_owned(),
        };
        self.reason = format!("{what}: on neither side of {margin_said} for sure; {hint}");
    }

    /// How many messages its smallest trial has, when they are too few for the P99 that would be
    /// decided on.
    pub(crate) fn too_few_for_p99(&self) -> Option<usize> {
        let p99 = matches!(self.headline, Metric::CommunicationP99 | Metric::FromPublicationP99);
        self.fewest_messages.filter(|n| p99 && *n < FEWEST_FOR_P99)
    }

    /// How large an effect is, and in which direction.
    fn size_said(&self, effect: &Effect) -> String {
        let (base, to) = (&self.baseline_level, &self.alternative_level);
        let title = effect.metric.title();
        let gain = match (effect.infinite_said(base, to), effect.gain) {
            (Some(said), _) => return said,
            (None, None) => return format!("{title} is lost with {base} and with {to}"),
            (None, Some(gain)) => gain.0,
        };
        let (size, which) =
            (effect.metric.said_gain(gain.abs()), if gain < 0.0 { "longer" } else { "shorter" });
        let bound = |bound: Amount, least: &str| {
            let finite = bound.0.is_finite().then(|| gain_said(effect.metric, Some(bound)));
            finite.map_or("no bound".to_owned(), |ns| format!("{least} {ns}"))
        };
        let bounds = match (effect.gain_lower, effect.gain_upper) {
            (Some(lo), Some(hi)) => format!(
                " (one-sided 95 %: shorter by {}, {})",
                bound(lo, "at least"),
                bound(hi, "at most")
            ),
            _ => String::new(),
        };
        format!("with {to}, {title} is {size} {which} than with {base}{bounds}")
    }

    /// As what it is: of a condition, that nobody can choose, an effect and no verdict.
    pub fn said(&self) -> String {
        if self.factor == Factor::Link || self.headline_effect().is_none() {
            return self.reason.clone();
        }
        let one = |test: &Tested| {
            let p = test.p.map_or("–".to_owned(), |p| format!("{p:.3}"));
            let shown = if test.differs { "a difference" } else { "no difference shown" };
            let size = self.size_said(self.effect_of(test.metric)?);
            Some(format!("{size}: {shown} (p = {p}, corrected for all contrasts)"))
        };
        let said: Vec<String> = self.tests.iter().filter_map(one).collect();
        let no_link = if self.factor == Factor::Qos { "" } else { "; no link effect" };
        format!("{}: {}{no_link}", self.effect, said.join("; "))
    }
}

#[expect(clippy::cast_precision_loss, reason = "margins are far below 2⁵³ ns")]
pub(crate) fn float(ns: Ns) -> f64 {
    ns as f64
}

/// Whether the two-sided 95 % interval of the shift leaves 0 out.
pub(crate) fn is_shifted(effect: &Effect) -> bool {
    let (worse, better) = effect.sides();
    Shift::unpaired(&worse, &better, 0.975, 0.975).is_some_and(|shift| {
        shift.lower.is_some_and(|lo| lo > 0.0) || shift.upper.is_some_and(|hi| hi < 0.0)
    })
}

/// From so many blocks on, the sign-flip test can say anything at 5 % (METHOD 16).
const PAIRED: usize = 6;

/// The p of several tests, corrected for their number (S. Holm, 1979), in their order; a test
/// without a p is none.
pub(crate) fn holm(ps: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut order: Vec<(f64, usize)> =
        ps.iter().enumerate().filter_map(|(i, p)| Some(((*p)?, i))).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut corrected = vec![None; ps.len()];
    let mut largest: f64 = 0.0;
    let mut left = f64::from(u32::try_from(order.len()).unwrap_or(u32::MAX));
    for (p, i) in order {
        largest = largest.max((p * left).min(1.0));
        left -= 1.0;
        corrected[i] = Some(largest);
    }
    corrected
}

/// Corrects the p of all that is tested in all contrasts for their number.
pub(crate) fn correct(contrasts: &mut [Contrast]) {
    let p = |contrast: &Contrast, metric| contrast.effect_of(metric).and_then(|effect| effect.p);
    let of = |contrast: &Contrast| -> Vec<Option<f64>> {
        contrast.tests.iter().map(|test| p(contrast, test.metric)).collect()
    };
    let ps: Vec<Option<f64>> = contrasts.iter().flat_map(of).collect();
    let mut corrected = holm(&ps).into_iter();
    for contrast in contrasts {
        let agree = |effect: &Effect| {
            let paired =
                effect.baseline.len() < PAIRED || effect.p_paired.is_some_and(|p| p <= 0.05);
            is_shifted(effect) && paired
        };
        let agrees: Vec<bool> = contrast
            .tests
            .iter()
            .map(|test| contrast.effect_of(test.metric).is_some_and(agree))
            .collect();
        for (test, agrees) in contrast.tests.iter_mut().zip(agrees) {
            test.p = corrected.next().flatten();
            test.differs = agrees && test.p.is_some_and(|p| p <= 0.05);
        }
        contrast.p_corrected = contrast.tests.first().and_then(|test| test.p);
        contrast.differs = contrast.tests.iter().any(|test| test.differs);
    }
}

/// A gain in words, for tables.
pub(crate) fn gain_said(metric: Metric, amount: Option<Amount>) -> String {
    match amount {
        None => "–".to_owned(),
        Some(Amount(v)) if v.is_infinite() => {
            if v > 0.0 {
                "∞".to_owned()
            } else {
                "−∞".to_owned()
            }
        }
        Some(Amount(v)) if metric.is_share() => format!("{:+.2} pt", v * 100.0),
        Some(Amount(v)) => duration(v),
    }
}
