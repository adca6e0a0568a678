//! What a total is made of where it matters: near its quantiles, and in its variation (METHOD 9).

use crate::decompose::Decomposition;
use hopwatch_model::{Leg, Ns};
use hopwatch_stats::{breakdown, shares};
use serde::Serialize;
use std::collections::BTreeMap;

/// What the messages near a quantile of the pipeline total are made of, in whole ns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Near {
    /// The quantile: "p50", "p95" or "p99".
    pub near: &'static str,
    /// How many messages.
    pub n: usize,
    /// The total at the quantile.
    pub quantile_ns: Ns,
    /// The smallest total of these messages.
    pub lo_ns: Ns,
    /// The largest.
    pub hi_ns: Ns,
    /// Their mean total, rounded down.
    pub mean_ns: Ns,
    /// The mean of each leg, to within 1 ns: the sum is the mean total to the last ns.
    pub legs: BTreeMap<Leg, Ns>,
}

impl Near {
    /// The mean of a leg; 0 when these messages had none.
    pub fn leg(&self, leg: Leg) -> Ns {
        self.legs.get(&leg).copied().unwrap_or(0)
    }
}

/// The quantiles that are looked at, with their thousandths.
const QUANTILES: [(&str, u32); 3] = [("p50", 500), ("p95", 950), ("p99", 990)];

/// What a lane's pipeline totals are made of.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Composition {
    /// Near each quantile.
    pub(crate) near: Vec<Near>,
    /// Which part of the variance of the total each leg makes; `None` when it doesn't vary.
    pub(crate) shares: Option<BTreeMap<Leg, f64>>,
}

impl Composition {
    /// Of (total, its legs) of each message.
    pub(crate) fn of<'a>(messages: impl Iterator<Item = (Ns, &'a Decomposition)>) -> Self {
        let messages: Vec<(Ns, &Decomposition)> = messages.collect();
        let legs = |d: &'a Decomposition| d.pipeline.iter().map(|leg| leg.leg);
        let mut columns: Vec<Leg> = messages.iter().flat_map(|(_, d)| legs(d)).collect();
        columns.sort_unstable();
        columns.dedup();
        let row = |d: &Decomposition| {
            let mut row = vec![0; columns.len()];
            for leg in &d.pipeline {
                if let Ok(at) = columns.binary_search(&leg.leg) {
                    row[at] += leg.ns;
                }
            }
            row
        };
        let rows: Vec<(Ns, Vec<Ns>)> = messages.iter().map(|(total, d)| (*total, row(d))).collect();
        let near = QUANTILES.iter().filter_map(|(name, thousandths)| {
            let found = breakdown(&rows, *thousandths)?;
            let means = whole_means(&found.leg_sums_ns, found.n)?;
            Some(Near {
                near: name,
                n: found.n,
                quantile_ns: found.quantile_ns,
                lo_ns: found.total_lo_ns,
                hi_ns: found.total_hi_ns,
                mean_ns: means.iter().sum(),
                legs: columns.iter().copied().zip(means).collect(),
            })
        });
        let near = near.collect();
        let legs: Vec<&Vec<Ns>> = rows.iter().map(|(_, legs)| legs).collect();
        let shares = shares(&legs).map(|shares| columns.iter().copied().zip(shares).collect());
        Self { near, shares }
    }
}

/// Means in whole ns that sum to the mean of all: each is what it adds to the sum so far.
fn whole_means(sums: &[i128], n: usize) -> Option<Vec<Ns>> {
    let n = i128::try_from(n).ok()?;
    let (mut sum, mut told) = (0i128, 0i128);
    sums.iter()
        .map(|of_leg| {
            sum += of_leg;
            let mean = sum.div_euclid(n) - told;
            told += mean;
            Ns::try_from(mean).ok()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decompose::LegTime;

    fn message(legs: &[(Leg, Ns)]) -> Decomposition {
        let leg = |(leg, ns): &(Leg, Ns)| LegTime { leg: *leg, ns: *ns, half_ns: 0 };
        let pipeline: Vec<LegTime> = legs.iter().map(leg).collect();
        let total = pipeline.iter().map(|leg| leg.ns).sum();
        Decomposition { pipeline, pipeline_ns: Some(total), ..Decomposition::default() }
    }

    fn of(messages: &[Decomposition]) -> Composition {
        Composition::of(messages.iter().map(|d| (d.pipeline_ns.unwrap(), d)))
    }

    /// 1000 messages of about 1 ms of AI; the slowest 2 % waited 50 ms in the queue.
    #[test]
    fn the_slowest_are_made_of_something_else() {
        let messages: Vec<Decomposition> = (0..1_000)
            .map(|i| {
                let queue = if i % 50 == 0 { 50_000_000 } else { 1_000 };
                message(&[(Leg::Queue, queue + i % 7), (Leg::AiInfer, 1_000_000 + i)])
            })
            .collect();
        let found = of(&messages);
        let [p50, p95, p99] = &found.near[..] else { panic!("{found:?}") };
        assert_eq!((p50.near, p50.n, p95.n, p99.n), ("p50", 51, 51, 11));
        assert!(p50.leg(Leg::Queue) < 1_010 && p95.leg(Leg::Queue) < 1_010);
        assert!((50_000_000..50_000_010).contains(&p99.leg(Leg::Queue)), "{p99:?}");
        assert!((1_000_000..1_001_000).contains(&p99.leg(Leg::AiInfer)));
        for near in &found.near {
            assert_eq!(near.legs.values().sum::<Ns>(), near.mean_ns);
            assert!(near.lo_ns <= near.mean_ns && near.mean_ns <= near.hi_ns);
        }
        let shares = found.shares.unwrap();
        assert!(shares[&Leg::Queue] > 0.999 && shares[&Leg::AiInfer].abs() < 1e-3, "{shares:?}");
        assert!((shares.values().sum::<f64>() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn legs_that_some_have_and_nothing_at_all() {
        let with = message(&[(Leg::Queue, 5), (Leg::AiConnect, 8)]);
        let found = of(&[message(&[(Leg::Queue, 5)]), message(&[(Leg::Queue, 6)]), with]);
        assert_eq!((found.near[2].n, found.near[2].leg(Leg::AiConnect)), (1, 8));
        assert_eq!((found.near[0].n, found.near[0].mean_ns), (3, 8));
        assert_eq!((found.near[0].leg(Leg::Queue), found.near[0].leg(Leg::AiConnect)), (5, 3));
        assert_eq!(of(&[]), Composition::default());
        assert_eq!(of(&[message(&[(Leg::Queue, 5)])]).shares, None);
    }

    proptest::proptest! {
        #[test]
        fn whole_means_sum_to_the_mean(
            sums in proptest::collection::vec(-1_000_000_000_000i128..1_000_000_000_000, 0..20),
            n in 1usize..100,
        ) {
            let means = whole_means(&sums, n).unwrap();
            let of = i128::try_from(n).unwrap();
            let total = sums.iter().sum::<i128>().div_euclid(of);
            proptest::prop_assert_eq!(means.iter().map(|m| i128::from(*m)).sum::<i128>(), total);
            for (sum, mean) in sums.iter().zip(&means) {
                proptest::prop_assert!((i128::from(*mean) * of - sum).abs() <= of);
            }
        }
    }
}
