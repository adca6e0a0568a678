//! Whether intervals hold the true quantile as often as they say, on data whose quantiles are known.

use crate::{
    Autocorrelation, Interval, effective_size, interval_coverage, lower_bound_rank,
    quantile_interval, quantile_interval_effective, quantile_lower_bound, quantile_upper_bound,
    shortest_interval_ranks, upper_bound_rank,
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Exp1, StandardNormal};
use statrs::distribution::{ContinuousCDF, Normal};

const SIMULATIONS: u32 = 4000;

/// A distribution that can be drawn from and whose quantiles are known, in ns.
struct Known {
    draw: fn(&mut ChaCha8Rng) -> f64,
    quantile: fn(f64) -> f64,
}

fn standard_normal(rng: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(rng)
}

fn normal_quantile(p: f64) -> f64 {
    Normal::new(0.0, 1.0).unwrap().inverse_cdf(p)
}

const EXPONENTIAL: Known = Known {
    draw: |rng| {
        let x: f64 = Exp1.sample(rng);
        10e6 * x
    },
    quantile: |p| -10e6 * (1.0 - p).ln(),
};

const LOGNORMAL: Known = Known {
    draw: |rng| 10e6 * (0.5 * standard_normal(rng)).exp(),
    quantile: |p| 10e6 * (0.5 * normal_quantile(p)).exp(),
};

/// Four fifths around 0.5 ms and one fifth at 40 ms, so far apart that no value is of both.
const BIMODAL: Known = Known {
    draw: |rng| {
        let x = standard_normal(rng);
        if rng.random_bool(0.8) { 0.5e6 * (0.5 * x).exp() } else { 40e6 + 1e6 * x }
    },
    quantile: |p| {
        if p < 0.8 {
            0.5e6 * (0.5 * normal_quantile(p / 0.8)).exp()
        } else {
            40e6 + 1e6 * normal_quantile((p - 0.8) / 0.2)
        }
    },
};

#[expect(clippy::cast_possible_truncation, reason = "simulated durations fit")]
fn ns(value: f64) -> i64 {
    value.round() as i64
}

/// Simulates samples of `n` values and counts in how many each statement is true.
fn simulate(known: &Known, n: usize, cases: &mut [Case]) {
    let mut rng = ChaCha8Rng::seed_from_u64(n as u64);
    for _ in 0..SIMULATIONS {
        let mut values: Vec<i64> = (0..n).map(|_| ns((known.draw)(&mut rng))).collect();
        values.sort_unstable();
        for case in cases.iter_mut() {
            let truth = ns((known.quantile)(f64::from(case.thousandths) / 1000.0));
            case.held += u32::from((case.holds)(&values, truth));
        }
    }
}

/// Whether a statement about a true quantile holds, given the sorted values and that quantile.
type Holds = Box<dyn Fn(&[i64], i64) -> bool>;

/// One statement about a quantile, and how often it turned out true.
struct Case {
    name: &'static str,
    thousandths: u32,
    /// The probability of the statement by the binomial distribution.
    exact: f64,
    holds: Holds,
    held: u32,
}

impl Case {
    fn coverage(&self) -> f64 {
        f64::from(self.held) / f64::from(SIMULATIONS)
    }

    /// Four standard errors of a share simulated so often.
    fn tolerance(&self) -> f64 {
        4.0 * (self.exact * (1.0 - self.exact) / f64::from(SIMULATIONS)).sqrt()
    }
}

fn encloses(interval: Interval, truth: i64) -> bool {
    interval.lo.is_some_and(|lo| lo <= truth) && interval.hi.is_some_and(|hi| truth <= hi)
}

fn two_sided(n: usize, thousandths: u32) -> Case {
    let p = f64::from(thousandths) / 1000.0;
    let (lo, hi) = crate::interval_ranks(n, p, 0.95);
    Case {
        name: "even tails",
        thousandths,
        exact: interval_coverage(n, p, (lo.unwrap(), hi.unwrap())).unwrap(),
        holds: Box::new(move |v, truth| encloses(quantile_interval(v, thousandths, 0.95), truth)),
        held: 0,
    }
}

fn shortest(n: usize, thousandths: u32) -> Case {
    let p = f64::from(thousandths) / 1000.0;
    let (lo, hi) = shortest_interval_ranks(n, p, 0.95).unwrap();
    Case {
        name: "shortest",
        thousandths,
        exact: interval_coverage(n, p, (lo, hi)).unwrap(),
        holds: Box::new(move |v, truth| v[lo - 1] <= truth && truth <= v[hi - 1]),
        held: 0,
    }
}

fn one_sided(n: usize, thousandths: u32) -> [Case; 2] {
    let p = f64::from(thousandths) / 1000.0;
    let below = |rank| interval_coverage(n, p, (1, rank)).unwrap() + (1.0 - p).powf(f64_of(n));
    let upper = below(upper_bound_rank(n, p, 0.95).unwrap());
    let lower = 1.0 - below(lower_bound_rank(n, p, 0.95).unwrap());
    [
        Case {
            name: "upper bound",
            thousandths,
            exact: upper,
            holds: Box::new(move |v, truth| {
                quantile_upper_bound(v, thousandths, 0.95).is_some_and(|hi| truth <= hi)
            }),
            held: 0,
        },
        Case {
            name: "lower bound",
            thousandths,
            exact: lower,
            holds: Box::new(move |v, truth| {
                quantile_lower_bound(v, thousandths, 0.95).is_some_and(|lo| lo <= truth)
            }),
            held: 0,
        },
    ]
}

fn f64_of(n: usize) -> f64 {
    f64::from(u32::try_from(n).unwrap())
}

/// Two-sided intervals hold the truth in 93–97 % wherever the ranks' steps are fine enough for
/// that, and all statements hold as often as the binomial distribution says.
fn check(known: &Known) {
    let mut near_nominal = vec![
        two_sided(1000, 500),
        two_sided(1000, 950),
        shortest(1000, 500),
        shortest(1000, 950),
        shortest(1000, 990),
    ];
    simulate(known, 1000, &mut near_nominal);
    let mut of_2000 = vec![two_sided(2000, 990)];
    simulate(known, 2000, &mut of_2000);
    near_nominal.append(&mut of_2000);
    for case in &near_nominal {
        let coverage = case.coverage();
        assert!(
            (0.93..=0.97).contains(&coverage),
            "{} P{}: {coverage}",
            case.name,
            case.thousandths
        );
    }

    // The published ranks of P99, 983–997, hold 97.6 %.
    let mut others = vec![two_sided(1000, 990)];
    assert!((0.976..0.977).contains(&others[0].exact));
    for thousandths in [500, 950, 990] {
        others.extend(one_sided(1000, thousandths));
    }
    simulate(known, 1000, &mut others);
    // The smallest n that has an upper bound of P99.
    let mut of_299 = one_sided(299, 990);
    simulate(known, 299, &mut of_299);

    for case in near_nominal.iter().chain(&others).chain(&of_299) {
        let (coverage, exact) = (case.coverage(), case.exact);
        assert!(exact >= 0.95, "{} P{}: {exact}", case.name, case.thousandths);
        assert!(
            (coverage - exact).abs() <= case.tolerance(),
            "{} P{}: {coverage}, by the binomial distribution {exact}",
            case.name,
            case.thousandths
        );
    }
}

#[test]
fn exponential_intervals_hold_the_truth_as_often_as_they_say() {
    check(&EXPONENTIAL);
}

#[test]
fn lognormal_intervals_hold_the_truth_as_often_as_they_say() {
    check(&LOGNORMAL);
}

#[test]
fn bimodal_intervals_hold_the_truth_as_often_as_they_say() {
    check(&BIMODAL);
}

/// How often the ordinary and the effective interval of P50 and of P95 hold the truth in series
/// of 1000 lognormal values (σ 0.5) whose logarithms are AR(1) with this φ; and the mean n_eff.
fn of_series(phi: f64) -> ([[u32; 2]; 2], usize) {
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let quantiles = [500, 950];
    let (mut held, mut worth) = ([[0; 2]; 2], 0);
    for _ in 0..1000 {
        let mut x = standard_normal(&mut rng);
        let series: Vec<i64> = (0..1000)
            .map(|_| {
                x = phi * x + (1.0 - phi * phi).sqrt() * standard_normal(&mut rng);
                ns(10e6 * (0.5 * x).exp())
            })
            .collect();
        let n_eff = Autocorrelation::of(&series).unwrap().n_eff;
        worth += n_eff;
        let mut sorted = series;
        sorted.sort_unstable();
        for (held, thousandths) in held.iter_mut().zip(quantiles) {
            let truth = ns((LOGNORMAL.quantile)(f64::from(thousandths) / 1000.0));
            let ordinary = quantile_interval(&sorted, thousandths, 0.95);
            let effective = quantile_interval_effective(&sorted, thousandths, n_eff, 0.95);
            held[0] += u32::from(encloses(ordinary, truth));
            held[1] += u32::from(encloses(effective, truth));
        }
    }
    (held, worth / 1000)
}

#[test]
fn a_series_that_depends_on_itself_has_the_interval_of_fewer_values() {
    let (held, worth) = of_series(0.8);
    // r₁ of the values is (e^0.2 − 1) / (e^0.25 − 1) = 0.78: 1000 · 0.22 / 1.78 = 124.
    assert!((110..150).contains(&worth), "{worth}");
    for [ordinary, effective] in held {
        assert!(ordinary < 850, "{held:?}");
        assert!(effective >= 950, "{held:?}");
    }
}

#[test]
fn a_series_that_does_not_is_worth_about_all_its_values() {
    let (held, worth) = of_series(0.0);
    assert!((950..=1000).contains(&worth), "{worth}");
    for [_, effective] in held {
        assert!(effective >= 930, "{held:?}");
    }
}

/// Robots that take turns, each AR(1) with φ = 0.8 of its own: how often the interval of the
/// median holds the truth by [`effective_size`], and the mean of what 1000 values are worth.
fn taking_turns(robots: usize) -> (u32, usize) {
    let mut rng = ChaCha8Rng::seed_from_u64(15);
    let (mut held, mut worth) = (0, 0);
    let truth = ns((LOGNORMAL.quantile)(0.5));
    for _ in 0..500 {
        let mut states: Vec<f64> = (0..robots).map(|_| standard_normal(&mut rng)).collect();
        let series: Vec<(usize, i64)> = (0..1000)
            .map(|i| {
                let x = &mut states[i % robots];
                *x = 0.8 * *x + 0.6 * standard_normal(&mut rng);
                (i % robots, ns(10e6 * (0.5 * *x).exp()))
            })
            .collect();
        let n_eff = effective_size(&series);
        worth += n_eff;
        let mut sorted: Vec<i64> = series.iter().map(|(_, value)| *value).collect();
        sorted.sort_unstable();
        let interval = quantile_interval_effective(&sorted, 500, n_eff, 0.95);
        held += u32::from(encloses(interval, truth));
    }
    (held, worth / 500)
}

/// From one message to the next they look independent.
#[test]
fn robots_that_take_turns_are_series_of_their_own() {
    for robots in [1, 2, 3, 10] {
        let (held, worth) = taking_turns(robots);
        // As of one robot: 124 of 1000; a short series looks a little less dependent than it is.
        assert!((110..190).contains(&worth), "{robots}: {worth}");
        assert!(held >= 475, "{robots}: {held} of 500");
    }
}

/// Where they share a queue, the series as a whole tells what they are worth.
#[test]
fn robots_that_share_a_queue_are_worth_no_more_than_the_whole() {
    let mut rng = ChaCha8Rng::seed_from_u64(16);
    let mut x = standard_normal(&mut rng);
    let series: Vec<(usize, i64)> = (0..1000)
        .map(|i| {
            x = 0.8 * x + 0.6 * standard_normal(&mut rng);
            (i % 10, ns(10e6 * (0.5 * x).exp()))
        })
        .collect();
    let values: Vec<i64> = series.iter().map(|(_, value)| *value).collect();
    assert_eq!(effective_size(&series), Autocorrelation::of(&values).unwrap().n_eff);
    // Robots that differ, and are independent otherwise, are worth what they are.
    let mut noise = || ns(1e6 * (10.0 + standard_normal(&mut rng)));
    let apart: Vec<(i64, i64)> =
        (0..1000).map(|i| (i % 2, i % 2 * 100_000_000 + noise())).collect();
    assert!(effective_size(&apart) > 850);
    assert_eq!(effective_size::<u8>(&[]), 0);
}
