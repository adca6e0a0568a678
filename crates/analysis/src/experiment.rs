//! The plan of an experiment: its arms, and which of them are compared (METHOD 15, 19).

use hopwatch_model::Ns;
use serde::{Deserialize, Serialize};

/// Half a percent of the messages: an alternative that is faster must not deliver fewer by that.
pub const DEFAULT_DELIVERY_MARGIN: f64 = 0.005;

/// One condition of an experiment: a level of each factor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Arm {
    /// Its name, as in the folders of its trials.
    pub name: String,
    /// `best-effort` or `reliable`.
    pub qos: String,
    /// The link to the services: `http1`, `udp`, …
    pub link: String,
    /// The share of packets that the chosen legs lose, from 0 to 1.
    pub loss: f64,
    /// Messages a second.
    pub rate_hz: f64,
    /// The size of a message.
    pub payload_bytes: u32,
    /// Whether it repeats the first arm, to see what the experiment finds where nothing differs.
    pub is_control: bool,
}

/// What is compared, how often, and by which margin. Fixed before the first trial (METHOD 17).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExperimentPlan {
    /// The arms; the first one has the first level of each factor: the baseline.
    pub arms: Vec<Arm>,
    /// How often every arm is run.
    pub blocks: u32,
    /// What the order of the arms in each block, and every draw of the analysis, comes from.
    pub seed: u64,
    /// A gain below this changes nothing: 10 ms unless told otherwise.
    pub margin_ns: Ns,
    /// A message delivered later than this is not delivered in time: 2 s.
    pub limit_ns: Ns,
    /// A SWITCH may cost so much of the delivery within the limit: [`DEFAULT_DELIVERY_MARGIN`].
    pub delivery_margin: f64,
    /// Messages of this time after the first take are left out.
    pub warm_up_ns: Ns,
    /// The legs that packets are lost on, where an arm has loss: `ros`, `ai`, `web`.
    pub loss_legs: Vec<String>,
}

/// What two arms differ in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Factor {
    /// The link to the services: a choice.
    Link,
    /// BEST_EFFORT or RELIABLE: a choice.
    Qos,
    /// Loss on the way: a condition.
    Loss,
    /// The rate of the messages: a condition.
    Rate,
    /// Their size: a condition.
    Payload,
}

impl Factor {
    /// All, in the order in which they are told.
    pub const ALL: [Self; 5] = [Self::Link, Self::Qos, Self::Loss, Self::Rate, Self::Payload];

    /// As in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Link => "link",
            Self::Qos => "qos",
            Self::Loss => "loss",
            Self::Rate => "rate",
            Self::Payload => "payload",
        }
    }

    /// What a difference between two of its levels is called: never a link effect, unless links
    /// differ (METHOD 20).
    pub const fn effect(self) -> &'static str {
        match self {
            Self::Link => "link effect",
            Self::Qos => "QoS effect",
            Self::Loss => "loss effect",
            Self::Rate => "rate effect",
            Self::Payload => "payload effect",
        }
    }

    /// The level that an arm has.
    pub fn level(self, arm: &Arm) -> String {
        match self {
            Self::Link => arm.link.clone(),
            Self::Qos => arm.qos.clone(),
            Self::Loss => format!("{} % loss", number(arm.loss * 100.0)),
            Self::Rate => format!("{} Hz", number(arm.rate_hz)),
            Self::Payload => format!("{} bytes", arm.payload_bytes),
        }
    }

    /// The arm's levels of all other factors.
    pub(crate) fn condition(self, arm: &Arm) -> String {
        let others = Self::ALL.iter().filter(|factor| **factor != self);
        others.map(|factor| factor.level(arm)).collect::<Vec<_>>().join(", ")
    }

    fn same(self, a: &Arm, b: &Arm) -> bool {
        match self {
            Self::Link => a.link == b.link,
            Self::Qos => a.qos == b.qos,
            Self::Loss => a.loss.total_cmp(&b.loss).is_eq(),
            Self::Rate => a.rate_hz.total_cmp(&b.rate_hz).is_eq(),
            Self::Payload => a.payload_bytes == b.payload_bytes,
        }
    }
}

/// Without digits that a level doesn't have: 0.01 × 100 is 1, not 1.0000000000000002.
fn number(value: f64) -> String {
    format!("{}", (value * 1e6).round() / 1e6)
}

impl ExperimentPlan {
    /// The pairs (factor, baseline, alternative) of arms that differ in exactly one factor, of
    /// which the baseline has the first level: the first arm's. By factor, then in the plan's
    /// order. The control is in none.
    pub fn contrasts(&self) -> Vec<(Factor, usize, usize)> {
        let Some(first) = self.arms.first() else { return Vec::new() };
        let arms = || self.arms.iter().enumerate().filter(|(_, arm)| !arm.is_control);
        let mut pairs = Vec::new();
        for factor in Factor::ALL {
            for (i, a) in arms().filter(|(_, a)| factor.same(a, first)) {
                for (j, b) in arms().filter(|(_, b)| !factor.same(a, b)) {
                    let mut others = Factor::ALL.iter().filter(|other| **other != factor);
                    if others.all(|other| other.same(a, b)) {
                        pairs.push((factor, i, j));
                    }
                }
            }
        }
        pairs
    }

    /// The share of packets that an arm loses between robot and gateway: loss on the way to the
    /// services is none of QoS, which ends before.
    pub fn ros_loss(&self, arm: &Arm) -> f64 {
        if self.loss_legs.iter().any(|leg| leg == "ros") { arm.loss } else { 0.0 }
    }

    /// The arm that repeats the first one.
    pub fn control(&self) -> Option<usize> {
        self.arms.iter().position(|arm| arm.is_control)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn arm(qos: &str, link: &str, loss: f64) -> Arm {
        Arm {
            name: format!("{qos}-{link}-{loss}"),
            qos: qos.into(),
            link: link.into(),
            loss,
            rate_hz: 10.0,
            payload_bytes: 300,
            is_control: false,
        }
    }

    pub(crate) fn plan(arms: Vec<Arm>, blocks: u32) -> ExperimentPlan {
        const MS: Ns = 1_000_000;
        let (margin_ns, limit_ns, warm_up_ns) = (10 * MS, 2_000 * MS, 2_000 * MS);
        let loss_legs = ["ros", "ai", "web"].map(str::to_owned).to_vec();
        let delivery_margin = DEFAULT_DELIVERY_MARGIN;
        ExperimentPlan {
            arms,
            blocks,
            seed: 7,
            margin_ns,
            limit_ns,
            delivery_margin,
            warm_up_ns,
            loss_legs,
        }
    }

    #[test]
    fn contrasts_differ_in_one_factor() {
        let mut arms = Vec::new();
        for qos in ["best-effort", "reliable"] {
            for link in ["http1", "udp"] {
                arms.extend([0.0, 0.01].map(|loss| arm(qos, link, loss)));
            }
        }
        arms.push(Arm { is_control: true, ..arms[0].clone() });
        let plan = plan(arms, 6);
        let pairs = plan.contrasts();
        let of = |factor| pairs.iter().filter(|pair| pair.0 == factor).count();
        assert_eq!([Factor::Link, Factor::Qos, Factor::Loss, Factor::Rate].map(of), [4, 4, 4, 0]);
        assert_eq!(pairs[0], (Factor::Link, 0, 2));
        assert!(pairs.iter().all(|(_, i, j)| *i != 8 && *j != 8));
        assert_eq!(plan.control(), Some(8));
        assert_eq!(Factor::Loss.level(&plan.arms[1]), "1 % loss");
        assert_eq!(
            Factor::Link.condition(&plan.arms[1]),
            "best-effort, 1 % loss, 10 Hz, 300 bytes"
        );
    }
}
