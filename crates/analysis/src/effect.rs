//! What a difference between two arms is: one figure a run, runs compared (METHOD 15, 16, 18).

use crate::trial::TrialFigures;
use crate::units::duration;
use hopwatch_model::Ns;
use hopwatch_stats::{
    CliffsDelta, Modes, Moments, RunSample, Shift, Welch, nested_bootstrap, permutation_test,
    sign_flip_test,
};
use serde::{Serialize, Serializer};

/// Draws of the nested bootstrap.
const DRAWS: usize = 1_000;

/// A figure that may be infinite: a quantile that was lost, or a gain over one.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Amount(pub f64);

impl Serialize for Amount {
    /// A number, or the words "inf" and "-inf", which JSON has no numbers for.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_finite() {
            serializer.serialize_f64(self.0)
        } else {
            serializer.serialize_str(if self.0 > 0.0 { "inf" } else { "-inf" })
        }
    }
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// P99 of the communication (taken → web_acked less AI) of all messages that reached the
    /// gateway's host; those that got lost behind it took forever.
    CommunicationP99,
    /// The same of its P50.
    CommunicationP50,
    /// P99 from publication (published → web_acked less AI) of all that were published; lost ones
    /// took forever.
    FromPublicationP99,
    /// The same of its P50.
    FromPublicationP50,
    /// Delivered within the limit, of all that were published.
    DeliveredWithin,
    /// Delivered, of all that were published.
    Delivered,
}

impl Metric {
    /// All, in the order in which they are told.
    pub const ALL: [Self; 6] = [
        Self::CommunicationP99,
        Self::CommunicationP50,
        Self::FromPublicationP99,
        Self::FromPublicationP50,
        Self::DeliveredWithin,
        Self::Delivered,
    ];

    /// For a sentence.
    pub const fn title(self) -> &'static str {
        match self {
            Self::CommunicationP99 => "P99 communication",
            Self::CommunicationP50 => "P50 communication",
            Self::FromPublicationP99 => "P99 from publication",
            Self::FromPublicationP50 => "P50 from publication",
            Self::DeliveredWithin => "delivered within the limit",
            Self::Delivered => "delivered",
        }
    }

    /// Whether it is a part of the messages, from 0 to 1, and no time in ns.
    pub const fn is_share(self) -> bool {
        matches!(self, Self::DeliveredWithin | Self::Delivered)
    }

    const fn quantile(self) -> u32 {
        match self {
            Self::CommunicationP50 | Self::FromPublicationP50 => 500,
            _ => 990,
        }
    }

    /// The messages that its quantile is of; `None` for a share, an unstable trial, and where
    /// publication isn't known.
    fn sample(self, trial: &TrialFigures) -> Option<RunSample<'_>> {
        if trial.unstable.is_some() {
            return None;
        }
        let counts = &trial.counts;
        let sample = match self {
            Self::CommunicationP99 | Self::CommunicationP50 => {
                trial.communication.over(counts.reached)
            }
            Self::FromPublicationP99 | Self::FromPublicationP50 => {
                trial.from_publication.as_ref()?.over(counts.published)
            }
            Self::DeliveredWithin | Self::Delivered => return None,
        };
        (sample.of > 0).then_some(sample)
    }

    /// How many messages its quantile is of; `None` where it has none.
    pub(crate) fn counted(self, trial: &TrialFigures) -> Option<usize> {
        self.sample(trial).map(|sample| sample.of)
    }

    /// Of one trial: ns, which may be infinite, or a share.
    #[expect(clippy::cast_precision_loss, reason = "counts of messages are far below 2⁵²")]
    pub(crate) fn of(self, trial: &TrialFigures) -> Option<f64> {
        let counts = &trial.counts;
        let share = |n: u64| (counts.published > 0).then(|| n as f64 / counts.published as f64);
        match self {
            Self::DeliveredWithin => share(counts.within),
            Self::Delivered => share(counts.delivered),
            _ => self.sample(trial)?.quantile(self.quantile()),
        }
    }

    /// Of one trial as it would be without the artefacts that can be put right; `None` where that
    /// isn't examined: those lie behind the take.
    pub(crate) fn of_mended(self, trial: &TrialFigures) -> Option<f64> {
        if trial.unstable.is_some() {
            return None;
        }
        match self {
            Self::CommunicationP99 | Self::CommunicationP50 => {
                trial.mended.over(trial.counts.reached).quantile(self.quantile())
            }
            _ => None,
        }
    }

    /// A figure of it in words.
    pub fn said(self, value: f64) -> String {
        match value {
            v if v == f64::INFINITY && !self.is_share() => "lost".to_owned(),
            v if self.is_share() => format!("{:.2} %", v * 100.0),
            v => duration(v),
        }
    }

    /// A difference of it in words.
    pub fn said_gain(self, value: f64) -> String {
        match value {
            v if v == f64::INFINITY => "∞ (lost on one side)".to_owned(),
            v if v == f64::NEG_INFINITY => "−∞ (lost on one side)".to_owned(),
            v if self.is_share() => format!("{:+.2} points", v * 100.0),
            v => duration(v),
        }
    }
}

/// Welch's comparison of the runs' figures: for information, no verdict rests on it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WelchFigures {
    /// Student's t of the gain.
    pub t: f64,
    /// Degrees of freedom.
    pub df: f64,
    /// Two-sided.
    pub p: f64,
    /// 95 % interval of the gain of the means.
    pub ci: (f64, f64),
    /// "a difference" or "no difference shown".
    pub said: &'static str,
}

/// One metric of a contrast. Gains are positive when the alternative is better: its times
/// shorter, its shares larger.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Effect {
    /// Which.
    pub metric: Metric,
    /// "ns" or "share".
    pub unit: &'static str,
    /// The baseline's figure in each block that both arms have.
    pub baseline: Vec<Amount>,
    /// The alternative's, in the same blocks.
    pub alternative: Vec<Amount>,
    /// The Hodges–Lehmann shift: the median of all differences of runs; `null` when lost runs
    /// leave it open.
    pub gain: Option<Amount>,
    /// The gain is at least this: one-sided, 95 %; `null`: too few runs.
    pub gain_lower: Option<Amount>,
    /// The gain is at most this, likewise.
    pub gain_upper: Option<Amount>,
    /// The gain in percent of the baseline's P50 total; `null` for shares, and when infinite.
    pub gain_percent_of_total: Option<f64>,
    /// Two-sided p of the exact permutation test of the means over runs; of ranks, when a run is
    /// lost.
    pub p: Option<f64>,
    /// The same of the sign-flip test of the blocks, which takes out what blocks differ by.
    pub p_paired: Option<f64>,
    /// 95 % interval of the difference of the middle runs' quantiles, by the nested bootstrap.
    pub bootstrap_ci: Option<(Amount, Amount)>,
    /// How much more often the alternative's runs are better than worse, from −1 to 1.
    pub cliffs_delta: Option<f64>,
    /// Its 95 % interval.
    pub cliffs_delta_ci: Option<(f64, f64)>,
    /// Welch's t; `null` when a run is lost or nothing varies.
    pub welch: Option<WelchFigures>,
    /// The baseline's runs have two modes: read no mean of them.
    pub baseline_modes: Option<Modes>,
    /// The same of the alternative's.
    pub alternative_modes: Option<Modes>,
}

impl Effect {
    /// Of pairs (baseline, alternative) of one block each, in the order of the blocks.
    pub(crate) fn of(metric: Metric, pairs: &[(&TrialFigures, &TrialFigures)], seed: u64) -> Self {
        let both = |(a, b): &(&TrialFigures, &TrialFigures)| Some((metric.of(a)?, metric.of(b)?));
        let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().filter_map(both).unzip();
        // A gain is what is worse less what is better.
        let (worse, better) = if metric.is_share() { (&b, &a) } else { (&a, &b) };
        let shift = Shift::unpaired(worse, better, 0.95, 0.95);
        let samples: Vec<_> = pairs
            .iter()
            .filter_map(|(a, b)| Some((metric.sample(a)?, metric.sample(b)?)))
            .collect();
        let (of_a, of_b): (Vec<_>, Vec<_>) = samples.into_iter().unzip();
        let bootstrap = nested_bootstrap(&of_a, &of_b, metric.quantile(), DRAWS, seed);
        let delta = CliffsDelta::of(worse, better);
        let moments = Moments::of(worse).zip(Moments::of(better));
        let welch = moments.and_then(|(worse, better)| Welch::of(&worse, &better));
        let total = middle_total(pairs.iter().map(|(a, _)| *a));
        let gain = shift.and_then(|shift| shift.estimate);
        let share = gain.filter(|gain| gain.is_finite() && !metric.is_share());
        Self {
            metric,
            unit: if metric.is_share() { "share" } else { "ns" },
            gain: gain.map(Amount),
            gain_lower: shift.and_then(|shift| shift.lower).map(Amount),
            gain_upper: shift.and_then(|shift| shift.upper).map(Amount),
            gain_percent_of_total: share.zip(total).map(|(gain, total)| 100.0 * gain / total),
            p: permutation_test(worse, better, seed).map(|test| test.p),
            p_paired: sign_flip_test(worse, better, seed).map(|test| test.p),
            bootstrap_ci: bootstrap.map(|(lo, hi)| (Amount(lo), Amount(hi))),
            cliffs_delta: delta.map(|delta| delta.delta),
            cliffs_delta_ci: delta.and_then(|delta| delta.ci),
            welch: welch.map(|welch| WelchFigures {
                t: welch.t,
                df: welch.df,
                p: welch.p,
                ci: welch.ci,
                said: welch.said(),
            }),
            baseline_modes: modes(&a),
            alternative_modes: modes(&b),
            baseline: a.into_iter().map(Amount).collect(),
            alternative: b.into_iter().map(Amount).collect(),
        }
    }

    /// The runs' figures as (what is worse when the gain is positive, the other).
    pub(crate) fn sides(&self) -> (Vec<f64>, Vec<f64>) {
        let plain = |side: &[Amount]| side.iter().map(|x| x.0).collect::<Vec<f64>>();
        let (a, b) = (plain(&self.baseline), plain(&self.alternative));
        if self.metric.is_share() { (b, a) } else { (a, b) }
    }

    /// Whether one arm's runs are of two kinds, at least two of each, farther apart than `margin`.
    ///
    /// A link that makes the bad kind rarer gains by that, and the shift, being that of like runs,
    /// doesn't tell. One odd run alone may be anything.
    pub(crate) fn two_kinds(&self, margin: Ns) -> bool {
        [&self.baseline_modes, &self.alternative_modes].into_iter().flatten().any(|modes| {
            let apart = modes.high.center_ns.saturating_sub(modes.low.center_ns);
            modes.low.n.min(modes.high.n) >= 2 && apart > margin
        })
    }

    /// A gain that is infinite is no length: which side is lost, how often, and what the other one
    /// has. `None` for one that is finite or open.
    ///
    /// "P99 communication is lost with http1 in 5 of 6 runs (more than 1 % of the messages) and
    /// 12.30 ms with udp".
    pub(crate) fn infinite_said(&self, baseline: &str, alternative: &str) -> Option<String> {
        let gain = self.gain.filter(|gain| gain.0.is_infinite())?.0;
        let sides = [(&self.baseline, baseline), (&self.alternative, alternative)];
        let [lost, kept] = if gain > 0.0 { sides } else { [sides[1], sides[0]] };
        let n = lost.0.iter().filter(|run| run.0.is_infinite()).count();
        let runs = match lost.0.len() {
            of if of == n => String::new(),
            of => format!(" in {n} of {of} runs"),
        };
        let part = if self.metric.quantile() == 500 { "half" } else { "1 %" };
        let mut others: Vec<f64> = kept.0.iter().map(|run| run.0).collect();
        others.sort_by(f64::total_cmp);
        let middle = others.get(others.len().checked_sub(1)? / 2)?;
        Some(format!(
            "{} is lost with {}{runs} (more than {part} of the messages) and {} with {}",
            self.metric.title(),
            lost.1,
            self.metric.said(*middle),
            kept.1
        ))
    }

    /// In how many of how many baseline runs the quantile was lost, unless it was lost in every run
    /// of the alternative, too; `None` when in none.
    ///
    /// The upper bound of the shift leaves a few largest differences out, and may leave out just
    /// these: it says nothing of how often a run loses its quantile, which is what may be gained.
    pub(crate) fn lost_by_baseline(&self) -> Option<(usize, usize)> {
        let lost = |side: &[Amount]| side.iter().filter(|x| x.0 == f64::INFINITY).count();
        let (n, of) = (lost(&self.baseline), self.baseline.len());
        let always = lost(&self.alternative) == self.alternative.len();
        (n > 0 && !always && !self.metric.is_share()).then_some((n, of))
    }

    /// "1.2 ms (95 %: 0.9 ms to 1.6 ms)".
    pub fn said(&self) -> String {
        let bound = |bound: Option<Amount>| match bound {
            Some(bound) if bound.0.is_infinite() => "no bound, since runs were lost".to_owned(),
            Some(bound) => self.metric.said_gain(bound.0),
            None => "no bound".to_owned(),
        };
        let gain = self.gain.map_or("open".to_owned(), |gain| self.metric.said_gain(gain.0));
        let percent = self.gain_percent_of_total.map(|p| format!(", {p:.2} % of the total"));
        format!(
            "{gain} (one-sided 95 %: at least {}, at most {}){}",
            bound(self.gain_lower),
            bound(self.gain_upper),
            percent.unwrap_or_default()
        )
    }
}

/// The median over runs of the median total, in ns.
#[expect(clippy::cast_precision_loss, reason = "a time in ns is far below 2⁵²")]
fn middle_total<'a>(trials: impl Iterator<Item = &'a TrialFigures>) -> Option<f64> {
    let of = |trial: &TrialFigures| hopwatch_stats::quantile(&trial.total.sorted, 500);
    let mut totals: Vec<i64> = trials.filter_map(of).collect();
    totals.sort_unstable();
    hopwatch_stats::quantile(&totals, 500).map(|ns| ns as f64).filter(|ns| *ns > 0.0)
}

/// Of runs' times; of shares and of lost runs none.
#[expect(clippy::cast_possible_truncation, reason = "whole ns, far below 2⁵³")]
fn modes(values: &[f64]) -> Option<Modes> {
    if values.iter().any(|x| !x.is_finite() || x.abs() < 2.0) {
        return None;
    }
    let mut sorted: Vec<i64> = values.iter().map(|x| x.round() as i64).collect();
    sorted.sort_unstable();
    Modes::find(&sorted, 1)
}
