//! BEST_EFFORT against RELIABLE: what is delivered, what a repair costs, and which one fits which
//! use (METHOD 10, 19).

use crate::contrast::{Contrast, OfArm};
use crate::effect::Metric;
use crate::experiment::{ExperimentPlan, Factor};
use crate::trial::TrialFigures;
use crate::units::maybe;
use hopwatch_model::Ns;
use hopwatch_stats::{Shift, proportion_interval_of_runs, quantile};
use serde::Serialize;

/// Beyond this many times the median, and [`LEAST`] more, the way through DDS isn't usual.
const TIMES: Ns = 10;
/// A busy machine delays messages by less than this.
const LEAST: Ns = 5_000_000;

/// What one QoS did, over all of its trials.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QosFigures {
    /// The QoS.
    pub qos: String,
    /// The arm.
    pub arm: String,
    /// Trials.
    pub runs: usize,
    /// Messages published.
    pub published: u64,
    /// Delivered, whenever.
    pub delivered: u64,
    /// Delivered within the limit.
    pub within: u64,
    /// Lost in ROS.
    pub lost_in_ros: u64,
    /// 95 % interval of the probability of delivery within the limit. The runs tell how much more
    /// it varies than by independent losses.
    pub within_ci: Option<(f64, f64)>,
    /// The same of delivery at all.
    pub delivered_ci: Option<(f64, f64)>,
    /// The median way through DDS (written → received); `null` when the clocks don't resolve it.
    pub ros_p50_ns: Option<Ns>,
    /// Its P99, of the messages that came.
    pub ros_p99_ns: Option<Ns>,
    /// Messages that came late through DDS.
    pub late: Late,
}

/// Messages whose way through DDS took far longer than usual. With RELIABLE and loss these are the
/// ones that were sent again, and those that the reader held back behind them, since it hands over
/// in order. Without loss, or with BEST_EFFORT, they are the machine's own: compare.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Late {
    /// From this time on a message is late, whichever QoS it has: ten times the median of the slower
    /// one, and 5 ms more than it at least; `null` without a median.
    pub from_ns: Option<Ns>,
    /// How many.
    pub n: usize,
    /// Of how many.
    pub of: usize,
    /// The median of their times.
    pub p50_ns: Option<Ns>,
    /// The P99.
    pub p99_ns: Option<Ns>,
    /// The longest.
    pub max_ns: Option<Ns>,
}

/// Both QoS under one condition, and which to take for what.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QosComparison {
    /// The levels of the other factors.
    pub condition: String,
    /// The injected loss between robot and gateway.
    pub loss: f64,
    /// The first level.
    pub baseline: QosFigures,
    /// The other one.
    pub alternative: QosFigures,
    /// For a sensor stream, whose newest value counts.
    pub sensor_stream: String,
    /// For commands, every one of which must arrive.
    pub command: String,
}

impl QosFigures {
    fn of(qos: &str, arm: &str, trials: &[&TrialFigures], from: Option<Ns>) -> Self {
        let sum = |of: fn(&TrialFigures) -> u64| trials.iter().map(|trial| of(trial)).sum();
        let runs = |of: fn(&TrialFigures) -> u64| {
            let each: Vec<(u64, u64)> =
                trials.iter().map(|trial| (of(trial), trial.counts.published)).collect();
            proportion_interval_of_runs(&each, 0.95)
        };
        let mut ros: Vec<Ns> =
            trials.iter().flat_map(|trial| trial.ros.sorted.iter().copied()).collect();
        ros.sort_unstable();
        let late = Late::of(&ros, from);
        Self {
            qos: qos.to_owned(),
            arm: arm.to_owned(),
            runs: trials.len(),
            published: sum(|trial| trial.counts.published),
            delivered: sum(|trial| trial.counts.delivered),
            within: sum(|trial| trial.counts.within),
            lost_in_ros: sum(|trial| trial.counts.lost_in_ros),
            within_ci: runs(|trial| trial.counts.within),
            delivered_ci: runs(|trial| trial.counts.delivered),
            ros_p50_ns: quantile(&ros, 500),
            ros_p99_ns: quantile(&ros, 990),
            late,
        }
    }

    fn is_reliable(&self) -> bool {
        self.qos.to_ascii_lowercase().starts_with("reliable")
    }

    fn delivered_said(&self) -> String {
        said(self.delivered, self.published, self.delivered_ci)
    }

    fn within_said(&self) -> String {
        said(self.within, self.published, self.within_ci)
    }
}

impl Late {
    /// Of all times through DDS, ascending.
    fn of(ros: &[Ns], from: Option<Ns>) -> Self {
        let late = from.map_or(&ros[..0], |from| &ros[ros.partition_point(|ns| *ns < from)..]);
        Self {
            from_ns: from,
            n: late.len(),
            of: ros.len(),
            p50_ns: quantile(late, 500),
            p99_ns: quantile(late, 990),
            max_ns: late.last().copied(),
        }
    }

    fn said(&self) -> String {
        if self.of == 0 {
            return "the clocks don't resolve the way through DDS".to_owned();
        }
        match self.n {
            0 => format!("none of {} messages came late through DDS", self.of),
            n => format!(
                "{n} of {} messages came late through DDS (beyond {}): P50 {}, P99 {}, at most {}",
                self.of,
                maybe(self.from_ns),
                maybe(self.p50_ns),
                maybe(self.p99_ns),
                maybe(self.max_ns)
            ),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a ratio of counts")]
fn said(n: u64, of: u64, ci: Option<(f64, f64)>) -> String {
    if of == 0 {
        return "nothing was published".to_owned();
    }
    let (lo, hi) = ci.unwrap_or((0.0, 1.0));
    format!(
        "{n} of {of} = {:.2} % (95 %: {:.2} to {:.2} %)",
        100.0 * n as f64 / of as f64,
        100.0 * lo,
        100.0 * hi
    )
}

/// Of one contrast of QoS.
pub(crate) fn qos_comparison(
    plan: &ExperimentPlan,
    contrast: &Contrast,
    of_a: &OfArm<'_>,
    of_b: &OfArm<'_>,
) -> QosComparison {
    let (a, b) = (&plan.arms[contrast.baseline], &plan.arms[contrast.alternative]);
    let from = [of_a, of_b].into_iter().filter_map(|trials| late_from(trials)).max();
    let baseline = QosFigures::of(&a.qos, &a.name, of_a, from);
    let alternative = QosFigures::of(&b.qos, &b.name, of_b, from);
    let (reliable, best) =
        if baseline.is_reliable() { (&baseline, &alternative) } else { (&alternative, &baseline) };
    // Positive when RELIABLE delivers more.
    let gain = |metric: Metric| {
        let effect = contrast.effect_of(metric)?;
        let (lower, upper) = (effect.gain_lower?.0, effect.gain_upper?.0);
        Some(if baseline.is_reliable() { (-upper, -lower) } else { (lower, upper) })
    };
    let (of_reliable, of_best) = if baseline.is_reliable() { (of_a, of_b) } else { (of_b, of_a) };
    let held = from.is_some_and(|from| holds_back(of_reliable, of_best, from));
    let (sensor_stream, command) = advise(plan, plan.ros_loss(a), (reliable, best), held, &gain);
    QosComparison {
        condition: Factor::Qos.condition(a),
        loss: plan.ros_loss(a),
        baseline,
        alternative,
        sensor_stream,
        command,
    }
}

/// From when on a message of these trials is late.
fn late_from(trials: &[&TrialFigures]) -> Option<Ns> {
    let mut ros: Vec<Ns> = trials.iter().flat_map(|t| t.ros.sorted.iter().copied()).collect();
    ros.sort_unstable();
    let middle = quantile(&ros, 500)?;
    Some(middle.max(0).saturating_mul(TIMES).max(middle.saturating_add(LEAST)))
}

/// Whether more of RELIABLE's messages are late, by runs: the lower bound of the difference of their
/// shares, one-sided 95 %, is above 0. Counts over all runs would make one bad run a rule.
#[expect(clippy::cast_precision_loss, reason = "a ratio of counts")]
fn holds_back(reliable: &[&TrialFigures], best: &[&TrialFigures], from: Ns) -> bool {
    let shares = |trials: &[&TrialFigures]| -> Vec<f64> {
        let times = trials.iter().map(|trial| &trial.ros.sorted).filter(|ros| !ros.is_empty());
        let share = |ros: &Vec<Ns>| {
            let late = ros.len() - ros.partition_point(|ns| *ns < from);
            late as f64 / ros.len() as f64
        };
        times.map(share).collect()
    };
    Shift::unpaired(&shares(reliable), &shares(best), 0.95, 0.95)
        .and_then(|shift| shift.lower)
        .is_some_and(|lower| lower > 0.0)
}

/// For a sensor stream and for commands.
fn advise(
    plan: &ExperimentPlan,
    loss: f64,
    (reliable, best): (&QosFigures, &QosFigures),
    held: bool,
    gain: &dyn Fn(Metric) -> Option<(f64, f64)>,
) -> (String, String) {
    let limit = maybe(Some(plan.limit_ns));
    let shown = gain(Metric::Delivered).is_some_and(|(lower, upper)| lower > 0.0 || upper < 0.0);
    if loss <= 0.0 && !shown {
        let none = format!(
            "nothing is shown, and BEST_EFFORT against RELIABLE without a loss arm proves nothing: \
             delivered {} and {}; measure with --loss",
            best.delivered_said(),
            reliable.delivered_said()
        );
        return (none.clone(), none);
    }
    let more_in_time = gain(Metric::DeliveredWithin);
    let sensor = match more_in_time {
        Some((lower, _)) if lower > 0.0 && !held => format!(
            "RELIABLE: it delivers more within {limit} ({} against {}) and holds nothing back: {}",
            reliable.within_said(),
            best.within_said(),
            reliable.late.said()
        ),
        _ if held => format!(
            "BEST_EFFORT: a lost value is replaced by the next one, while RELIABLE holds the newer \
             ones back behind a repair: {}, with BEST_EFFORT {}; within {limit} came {} \
             (RELIABLE {})",
            reliable.late.said(),
            best.late.n,
            best.within_said(),
            reliable.within_said()
        ),
        _ => format!(
            "BEST_EFFORT: no gain of RELIABLE is shown here, and a repair would hold newer values \
             back: within {limit} came {} (RELIABLE {})",
            best.within_said(),
            reliable.within_said()
        ),
    };
    let command = match gain(Metric::Delivered) {
        Some((lower, _)) if lower > 0.0 => format!(
            "RELIABLE: it delivered {}, BEST_EFFORT {}. It buys delivery, not the deadline: within \
             {limit} came {} and {}; {}",
            reliable.delivered_said(),
            best.delivered_said(),
            reliable.within_said(),
            best.within_said(),
            reliable.late.said()
        ),
        Some((_, upper)) if upper < 0.0 => format!(
            "neither: RELIABLE delivered fewer ({} against {}), which it should not: see what \
             became of its messages",
            reliable.delivered_said(),
            best.delivered_said()
        ),
        _ => format!(
            "RELIABLE, by what it promises: a gain is not shown by these runs (delivered {} \
             against {})",
            reliable.delivered_said(),
            best.delivered_said()
        ),
    };
    (sensor, command)
}

#[cfg(test)]
#[path = "qos_advice_tests.rs"]
mod tests;
