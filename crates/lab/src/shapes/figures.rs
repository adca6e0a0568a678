//! Figures of what was measured: the run is the unit (METHOD 15).

use super::plan::{Message, Plan, PlanError, Run, STEPS, Step, Steps, Taken, Way};
use super::statics::Static;
use crate::ratio::{Ratio, Spread, at, count, float, middle};
use crate::study::Raw;
use hopwatch_stats::Modes;
use serde::Serialize;

/// Differences within this ratio are of no importance.
pub(super) const MARGIN: f64 = 1.25;
/// Two modes are looked for in so many values.
const LEAST_FOR_MODES: usize = 30;

/// All figures of the study.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// What the definitions tell.
    pub messages: Vec<Static>,
    /// What was measured of each way and message.
    pub measured: Vec<Measured>,
    /// Arrays of structures beside their splits.
    pub contrasts: Vec<Contrast>,
    /// What should be equal and isn't.
    pub wrong: Vec<String>,
    /// Whether everything that was asked has an answer.
    #[serde(skip)]
    pub decided: bool,
}

/// A message, published one way.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// The way.
    pub way: Way,
    /// The message's type.
    #[serde(rename = "type")]
    pub of: String,
    /// How many runs.
    pub runs: usize,
    /// What each step costs.
    pub steps: Steps<Cost>,
    /// The part of the time between two messages that publishing takes: median at the rate × rate,
    /// of each run; the middle one, the smallest and the largest.
    pub budget_share: Option<Spread>,
    /// Messages that were due at the rate, in all runs.
    pub due: u64,
    /// Messages that were sent.
    pub sent: u64,
    /// Messages a second that were sent.
    pub sent_per_s: Option<Spread>,
    /// What came to the subscriber that takes bytes.
    pub raw: Delivery,
    /// What came to the one that deserializes.
    pub typed: Delivery,
    /// Bytes serialized: of all runs, which agree.
    pub bytes: u64,
    /// Whether that is what was predicted, at other lengths, too.
    pub size_as_predicted: bool,
    /// Bytes that differ from those that every language must give, padding apart.
    pub bytes_different: u64,
    /// Messages that were taken apart and compared with what went in.
    pub round_trips: u64,
    /// Two modes of publishing at the rate, over all runs.
    pub modes: Option<Modes>,
}

/// What a step costs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// Values in all runs.
    pub samples: usize,
    /// The middle one of the runs' medians, the smallest and the largest, in ns.
    pub median_ns: Spread,
    /// The same of the runs' P90.
    pub p90_ns: Spread,
}

/// What came to a subscriber.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Delivery {
    /// Messages in all runs.
    pub received: u64,
    /// Of those that were sent.
    pub received_of_sent: Option<Spread>,
    /// Messages a second between the first and the last arrival: bursts make it more than was sent.
    pub apparent_per_s: Option<Spread>,
}

/// An array of structures beside its split, one way.
#[derive(Clone, Debug, Serialize)]
pub struct Contrast {
    /// The way.
    pub way: Way,
    /// The array of structures.
    pub array: String,
    /// Its split.
    pub split: String,
    /// How many times as much the array costs.
    pub ratios: Steps<Ratio>,
}

impl Figures {
    /// Of what was measured.
    pub(super) fn of(raw: &Raw<Plan, Run>) -> Result<Self, PlanError> {
        let plan = &raw.plan;
        let messages = plan.messages.iter().map(|message| Static::of(plan, message));
        let messages = messages.collect::<Result<Vec<_>, _>>()?;
        if let Some(run) =
            raw.runs.iter().find(|run| !plan.messages.iter().any(|message| message.of == run.of))
        {
            return Err(PlanError::Unplanned(run.of.clone()));
        }
        let (mut measured, mut wrong) = (Vec::new(), Vec::new());
        for message in &plan.messages {
            for way in Way::ALL {
                let of = |run: &&Run| run.way == way && run.of == message.of;
                let runs: Vec<&Run> = raw.runs.iter().filter(of).collect();
                if !runs.is_empty() {
                    measured.push(Measured::of(plan, message, way, &runs, &mut wrong)?);
                }
            }
        }
        let mut contrasts = Vec::new();
        for (array, split) in plan.pairs() {
            for way in Way::ALL {
                contrasts.extend(Contrast::of(raw, way, &array.of, &split.of));
            }
        }
        let bounded = |one: &Contrast| {
            let of = |step| one.ratios.get(&step).is_some_and(|r: &Ratio| r.at_least.is_some());
            of(Step::Publish) && of(Step::PacedPublish)
        };
        let decided = raw.complete
            && wrong.is_empty()
            && contrasts.iter().all(bounded)
            && (plan.measuring.is_none() || !measured.is_empty());
        Ok(Self { messages, measured, contrasts, wrong, decided })
    }
}

impl Measured {
    fn of(
        plan: &Plan,
        message: &Message,
        way: Way,
        runs: &[&Run],
        wrong: &mut Vec<String>,
    ) -> Result<Self, PlanError> {
        let steps = STEPS.into_iter().filter_map(|step| Some((step, Cost::of(runs, step)?)));
        let share = |run: &&&Run| Some(middle(&run.paced.publish_ns)? * plan.rate_hz / 1e9);
        let sent_per_s = |run: &&&Run| {
            // The last one has its period, too: n messages lie n − 1 periods apart.
            let due_ns = count(run.paced.due) * 1e9 / plan.rate_hz;
            let took_ns = float(run.paced.took_ns).max(due_ns);
            (took_ns > 0.0).then(|| count(run.paced.sent) * 1e9 / took_ns)
        };
        let spread = |of: &dyn Fn(&&&Run) -> Option<f64>| {
            Spread::of(runs.iter().filter_map(|run| of(&run)).collect())
        };
        let what = || format!("{}, {}", way.name(), message.of);
        let predicted = sizes_as_predicted(plan, message, runs)?;
        if let Some(trouble) = &predicted {
            wrong.push(format!("{}: {trouble}", what()));
        }
        let nothing = |of: fn(&Run) -> &Taken| {
            runs.iter().any(|run| run.paced.sent > 0 && of(run).received == 0)
        };
        for (name, nothing) in
            [("bytes", nothing(|run| &run.raw)), ("messages", nothing(|run| &run.typed))]
        {
            if nothing {
                wrong.push(format!("{}: a subscriber to {name} got nothing at all", what()));
            }
        }
        let bytes_different = runs.iter().map(|run| run.compared.different).max().unwrap_or(0);
        if bytes_different > 0 {
            let first = runs.iter().find_map(|run| run.compared.first).unwrap_or(0);
            wrong.push(format!(
                "{}: {bytes_different} bytes are not those of the other languages, the first one \
                 at {first}",
                what()
            ));
        }
        Ok(Self {
            way,
            of: message.of.clone(),
            runs: runs.len(),
            steps: steps.collect(),
            budget_share: spread(&share),
            due: runs.iter().map(|run| run.paced.due).sum(),
            sent: runs.iter().map(|run| run.paced.sent).sum(),
            sent_per_s: spread(&sent_per_s),
            raw: Delivery::of(runs, |run| &run.raw),
            typed: Delivery::of(runs, |run| &run.typed),
            bytes: runs.iter().map(|run| run.bench.bytes).max().unwrap_or(0),
            size_as_predicted: predicted.is_none(),
            bytes_different,
            round_trips: runs.iter().map(|run| run.bench.round_trips).sum(),
            modes: modes(runs),
        })
    }
}

/// What isn't as predicted; none: all is.
fn sizes_as_predicted(
    plan: &Plan,
    message: &Message,
    runs: &[&Run],
) -> Result<Option<String>, PlanError> {
    let (schema, shape) = plan.shape(message)?;
    let paths: Vec<String> = shape
        .varying()
        .map(|(_, of)| of.into_iter().map(str::to_owned).collect())
        .unwrap_or_default();
    for run in runs {
        // The raw way makes bytes itself, and only those that are needed.
        let due = |shape: &super::shape::Shape| {
            let size = shape.size();
            size.map(|size| if run.way == Way::RustRaw { size.needed } else { size.serialized })
        };
        if due(&shape) != Some(run.bench.bytes) {
            return Ok(Some(format!(
                "{} bytes, where {} are due",
                run.bench.bytes,
                due(&shape).unwrap_or(0)
            )));
        }
        for (n, bytes) in &run.bench.sizes {
            let mut lengths = shape.given();
            lengths.extend(paths.iter().map(|path| (path.clone(), *n)));
            let due = due(&super::shape::Shape::new(&schema, &lengths)?).unwrap_or(0);
            if due != *bytes {
                return Ok(Some(format!("{bytes} bytes at N = {n}, where {due} are due")));
            }
        }
    }
    Ok(None)
}

fn modes(runs: &[&Run]) -> Option<Modes> {
    let mut all: Vec<i64> =
        runs.iter().flat_map(|run| run.paced.publish_ns.iter().copied()).collect();
    all.sort_unstable();
    (all.len() >= LEAST_FOR_MODES).then(|| Modes::find(&all, 1)).flatten()
}

impl Cost {
    fn of(runs: &[&Run], step: Step) -> Option<Self> {
        let samples = runs.iter().map(|run| run.samples(step).len()).sum();
        let of = |thousandths| {
            let each = runs.iter().filter_map(|run| at(run.samples(step), thousandths));
            Spread::of(each.collect())
        };
        Some(Self { samples, median_ns: of(500)?, p90_ns: of(900)? })
    }
}

impl Delivery {
    fn of(runs: &[&Run], of: impl Fn(&Run) -> &Taken) -> Self {
        let share = |run: &&Run| {
            (run.paced.sent > 0).then(|| count(of(run).received) / count(run.paced.sent))
        };
        let apparent = |run: &&Run| {
            let at = &of(run).at_ns;
            let took = at.last()?.checked_sub(*at.first()?).filter(|took| *took > 0)?;
            let between = u64::try_from(at.len()).ok()?.checked_sub(1)?;
            Some(count(between) * 1e9 / float(took))
        };
        Self {
            received: runs.iter().map(|run| of(run).received).sum(),
            received_of_sent: Spread::of(runs.iter().filter_map(share).collect()),
            apparent_per_s: Spread::of(runs.iter().filter_map(apparent).collect()),
        }
    }
}

impl Contrast {
    fn of(raw: &Raw<Plan, Run>, way: Way, array: &str, split: &str) -> Option<Self> {
        let medians = |of: &str, step: Step| -> Vec<f64> {
            let runs = raw.runs.iter().filter(|run| run.way == way && run.of == of);
            runs.filter_map(|run| middle(run.samples(step))).filter(|ns| *ns > 0.0).collect()
        };
        let ratios: Steps<Ratio> = STEPS
            .into_iter()
            .filter_map(|step| {
                let (a, b) = (medians(array, step), medians(split, step));
                Some((step, Ratio::of(&a, &b, raw.seed)?))
            })
            .collect();
        (!ratios.is_empty()).then(|| Self {
            way,
            array: array.to_owned(),
            split: split.to_owned(),
            ratios,
        })
    }
}
