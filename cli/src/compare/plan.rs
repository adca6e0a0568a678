//! What an experiment is to be: factors with their levels, how often, how long.

use super::args::{Compare, time};
use crate::args::{Usage, duration, name};
use crate::network::{Leg, share};
use hopwatch_analysis::Arm;
use hopwatch_link::LinkKind;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

/// More than that is a slip of the pen, unless `--yes` is said.
const MOST_TRIALS: usize = 1000;
/// More than that isn't meant, whatever is said.
const ALL_TRIALS: usize = 100_000;
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// A plan, as experiment.json keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Plan {
    pub(super) qos: Vec<String>,
    pub(super) link: Vec<String>,
    /// Shares of packets.
    pub(super) loss: Vec<f64>,
    pub(super) rate_hz: Vec<f64>,
    pub(super) payload_bytes: Vec<u32>,
    /// Blocks: trials of each arm.
    pub(super) trials: u32,
    pub(super) for_ns: u64,
    pub(super) warm_up_ns: u64,
    pub(super) margin_ns: u64,
    /// What takes longer is as good as lost.
    pub(super) limit_ns: u64,
    pub(super) ai_ms: f64,
    pub(super) ai_sigma: f64,
    pub(super) robots: u32,
    pub(super) in_flight: Option<u32>,
    pub(super) serial: bool,
    pub(super) loss_legs: Vec<String>,
    pub(super) control: bool,
    pub(super) seed: u64,
}

/// The same as a TOML file has it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanFile {
    qos: Option<Vec<String>>,
    link: Option<Vec<String>>,
    loss: Option<Vec<Share>>,
    rate: Option<Vec<f64>>,
    payload_bytes: Option<Vec<u32>>,
    trials: Option<u32>,
    r#for: Option<Span>,
    warm_up: Option<WarmUp>,
    margin_ms: Option<f64>,
    budget_total_ms: Option<f64>,
    ai_ms: Option<f64>,
    ai_sigma: Option<f64>,
    robots: Option<u32>,
    in_flight: Option<u32>,
    serial: Option<bool>,
    loss_legs: Option<Vec<String>>,
    control: Option<bool>,
    seed: Option<u64>,
}

/// A share in a file: `0.01`, or `"1%"`.
#[derive(Debug)]
struct Share(f64);

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = match toml::Value::deserialize(from)? {
            toml::Value::String(text) => text,
            number => number.to_string(),
        };
        share(&text).map(Self).map_err(D::Error::custom)
    }
}

#[derive(Debug)]
struct Span(Duration);

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        duration(&String::deserialize(from)?).map(Self).map_err(D::Error::custom)
    }
}

#[derive(Debug)]
struct WarmUp(Duration);

impl<'de> Deserialize<'de> for WarmUp {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        time(&String::deserialize(from)?).map(Self).map_err(D::Error::custom)
    }
}

impl Plan {
    /// From flags, a file and the defaults; without a seed, `seed` is it.
    pub(super) fn of(args: &Compare, seed: u64) -> Result<Self, Usage> {
        let file = args.plan.as_deref().map_or_else(|| Ok(PlanFile::default()), read)?;
        let loss = file.loss.map(|levels| levels.into_iter().map(|share| share.0).collect());
        let ms = |flag: Option<f64>, file: Option<f64>, key: &str, default: f64| {
            ns_of_ms(key, flag.or(file).unwrap_or(default))
        };
        let plan = Self {
            qos: levels(
                args.qos.iter().map(name).collect(),
                file.qos,
                &["best-effort", "reliable"].map(str::to_owned),
            ),
            link: levels(args.link.clone(), file.link, &["http1".to_owned()]),
            loss: levels(args.loss.clone(), loss, &[0.0]),
            rate_hz: levels(args.rate.clone(), file.rate, &[20.0]),
            payload_bytes: levels(args.payload_bytes.clone(), file.payload_bytes, &[0]),
            trials: args.trials.or(file.trials).unwrap_or(6),
            for_ns: ns(args
                .duration
                .or(file.r#for.map(|s| s.0))
                .unwrap_or(Duration::from_secs(20))),
            warm_up_ns: ns(args
                .warm_up
                .or(file.warm_up.map(|s| s.0))
                .unwrap_or(Duration::from_secs(2))),
            margin_ns: ms(args.margin_ms, file.margin_ms, "margin_ms", 10.0)?,
            limit_ns: ms(args.budget_total_ms, file.budget_total_ms, "budget_total_ms", 2000.0)?,
            ai_ms: args.ai_ms.or(file.ai_ms).unwrap_or(10.0),
            ai_sigma: args.ai_sigma.or(file.ai_sigma).unwrap_or(0.0),
            robots: args.robots.or(file.robots).unwrap_or(1),
            in_flight: args.in_flight.or(file.in_flight),
            serial: args.serial || file.serial.unwrap_or(false),
            loss_legs: levels(
                args.loss_legs.iter().map(name).collect(),
                file.loss_legs,
                &Leg::ALL.map(|leg| leg.name().to_owned()),
            ),
            control: !args.no_control && file.control.unwrap_or(true),
            seed: args.seed.or(file.seed).unwrap_or(seed),
        };
        plan.check(args.yes)?;
        Ok(plan)
    }

    /// Whether the seed was given.
    pub(super) fn seed_is_given(args: &Compare) -> Result<bool, Usage> {
        let file = args.plan.as_deref().map_or_else(|| Ok(PlanFile::default()), read)?;
        Ok(args.seed.or(file.seed).is_some())
    }

    fn check(&self, yes: bool) -> Result<(), Usage> {
        let refuse = |text: String| Err(Usage(format!("the plan can't be used: {text}")));
        for (key, levels) in self.factors() {
            if levels.is_empty() {
                return refuse(format!("{key} has no level"));
            }
            let twice = levels.iter().enumerate().find(|(i, level)| levels[..*i].contains(level));
            if let Some((_, level)) = twice {
                return refuse(format!("{key} has the level {level} twice"));
            }
        }
        let unknown = |levels: &[String], known: &[&str]| {
            levels.iter().find(|level| !known.contains(&level.as_str())).cloned()
        };
        for (key, levels, known) in [
            ("qos", &self.qos, &["best-effort", "reliable"][..]),
            ("link", &self.link, &LinkKind::ALL.map(LinkKind::name)[..]),
            ("loss_legs", &self.loss_legs, &Leg::ALL.map(Leg::name)[..]),
        ] {
            if let Some(level) = unknown(levels, known) {
                return refuse(format!("{key} knows {}, and not {level}", known.join(", ")));
            }
        }
        if let Some(rate) = self.rate_hz.iter().find(|hz| !(**hz > 0.0 && **hz <= 100_000.0)) {
            return refuse(format!("a rate is above 0 and at most 100000 Hz, not {rate}"));
        }
        if let Some(bytes) = self.payload_bytes.iter().find(|bytes| **bytes > 4_000_000) {
            return refuse(format!("payload_bytes is at most 4000000, not {bytes}"));
        }
        if !(self.ai_ms.is_finite() && self.ai_ms >= 0.0) {
            return refuse(format!("ai_ms is 0 or more, not {}", self.ai_ms));
        }
        if self.trials == 0 || self.robots == 0 {
            return refuse("trials and robots are 1 or more".to_owned());
        }
        if self.warm_up_ns >= self.for_ns {
            let text = "nothing is left of a trial: warm_up must be shorter than for";
            return refuse(text.to_owned());
        }
        let combinations = self.factors().iter().map(|(_, levels)| levels.len()).product::<usize>();
        if combinations == 1 {
            let text = "there is nothing to compare: give a factor two levels (--link http1,udp)";
            return refuse(text.to_owned());
        }
        let arms = combinations.saturating_add(usize::from(self.control));
        let trials = arms.saturating_mul(usize::try_from(self.trials).unwrap_or(usize::MAX));
        if trials > ALL_TRIALS {
            return refuse(format!(
                "{trials} trials are more than anybody can wait for: at most {ALL_TRIALS}"
            ));
        }
        let each = Duration::from_nanos(self.for_ns);
        let longest = u32::try_from(trials).ok().and_then(|trials| each.checked_mul(trials));
        if !yes && (trials > MOST_TRIALS || longest.is_none_or(|time| time > LONGEST)) {
            let of = self.for_ns / 1_000_000_000;
            return refuse(format!(
                "{trials} trials of {of} s are more than {MOST_TRIALS} or than a day; say --yes if \
                 they are meant"
            ));
        }
        Ok(())
    }

    /// A word of warning when a trial has too few messages for a P99 (below 100 it is the largest),
    /// since nothing will be decided on one.
    #[expect(clippy::cast_precision_loss, reason = "a time of a day is far below 2⁵³ ns")]
    pub(super) fn few_messages(&self) -> Option<String> {
        let seconds = self.for_ns.saturating_sub(self.warm_up_ns) as f64 / 1e9;
        let slowest = self.rate_hz.iter().copied().fold(f64::INFINITY, f64::min);
        let n = slowest * f64::from(self.robots) * seconds;
        (n < 100.0).then(|| {
            format!(
                "at {slowest} Hz a trial counts about {n:.0} messages; below 100 its P99 is its \
                 largest value, and no link is decided on: make trials longer (--for)"
            )
        })
    }

    /// The factors with their levels, as texts.
    fn factors(&self) -> [(&'static str, Vec<String>); 5] {
        fn texts<T: ToString>(levels: &[T]) -> Vec<String> {
            levels.iter().map(T::to_string).collect()
        }
        [
            ("qos", self.qos.clone()),
            ("link", self.link.clone()),
            ("loss", texts(&self.loss)),
            ("rate", texts(&self.rate_hz)),
            ("payload_bytes", texts(&self.payload_bytes)),
        ]
    }

    /// The combinations of levels, the first levels first, and the control behind them.
    pub(super) fn arms(&self) -> Vec<Arm> {
        let mut arms = Vec::new();
        for qos in &self.qos {
            for link in &self.link {
                for loss in &self.loss {
                    for rate_hz in &self.rate_hz {
                        for payload_bytes in &self.payload_bytes {
                            arms.push(Arm {
                                name: self.name(qos, link, *loss, *rate_hz, *payload_bytes),
                                qos: qos.clone(),
                                link: link.clone(),
                                loss: *loss,
                                rate_hz: *rate_hz,
                                payload_bytes: *payload_bytes,
                                is_control: false,
                            });
                        }
                    }
                }
            }
        }
        let first = arms.first().filter(|_| self.control).cloned();
        arms.extend(first.map(|first| Arm {
            name: format!("{}-control", first.name),
            is_control: true,
            ..first
        }));
        arms
    }

    /// What an arm is called: its QoS and link, and what else tells it from others.
    fn name(&self, qos: &str, link: &str, loss: f64, rate_hz: f64, payload_bytes: u32) -> String {
        let mut name = format!("{qos}-{link}");
        if self.loss.len() > 1 {
            // 0.07 × 100 is 7.000000000000001.
            let _infallible = write!(name, "-loss{}pct", (loss * 1e8).round() / 1e6);
        }
        if self.rate_hz.len() > 1 {
            let _infallible = write!(name, "-{rate_hz}hz");
        }
        if self.payload_bytes.len() > 1 {
            let _infallible = write!(name, "-{payload_bytes}b");
        }
        name
    }

    /// Where this plan differs from another: the key and both values.
    pub(super) fn difference(&self, other: &Self) -> Option<(String, String, String)> {
        let values = |plan: &Self| match serde_json::to_value(plan) {
            Ok(serde_json::Value::Object(map)) => map,
            _ => serde_json::Map::new(),
        };
        let (own, others) = (values(self), values(other));
        own.into_iter().find_map(|(key, value)| {
            let there = others.get(&key)?;
            (*there != value).then(|| (key, value.to_string(), there.to_string()))
        })
    }
}

fn levels<T: Clone>(flags: Vec<T>, file: Option<Vec<T>>, default: &[T]) -> Vec<T> {
    if flags.is_empty() { file.unwrap_or_else(|| default.to_vec()) } else { flags }
}

fn read(path: &Path) -> Result<PlanFile, Usage> {
    let at = |what: String| Usage(format!("the plan {} can't be used: {what}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| at(error.to_string()))?;
    toml::from_str(&text).map_err(|error| at(error.to_string().trim().to_owned()))
}

fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn ns_of_ms(key: &str, ms: f64) -> Result<u64, Usage> {
    match Duration::try_from_secs_f64(ms / 1e3) {
        Ok(time) if !time.is_zero() && time < Duration::from_secs(86_400) => Ok(ns(time)),
        _ => Err(Usage(format!("{key} must be a number of milliseconds above 0, not {ms}"))),
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
