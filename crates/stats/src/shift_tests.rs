use super::*;
use rand::Rng;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Exp1, LogNormal, StandardNormal};

const INF: f64 = f64::INFINITY;
const RUNS: u32 = 4_000;

/// Hollander & Wolfe's example of 10 and 5 permeabilities: estimate −0.305.
#[test]
fn a_published_example() {
    let x = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
    let y = [1.15, 0.88, 0.90, 0.74, 1.21];
    let shift = Shift::unpaired(&y, &x, 0.98, 0.98).unwrap();
    assert!((shift.estimate.unwrap() + 0.305).abs() < 1e-9, "{shift:?}");
    // The book's 96 % interval is (−0.76, 0.15).
    assert!((shift.lower.unwrap() + 0.76).abs() < 1e-9, "{shift:?}");
    assert!((shift.upper.unwrap() - 0.15).abs() < 1e-9, "{shift:?}");
}

/// The depression scores of the same book: estimate 0.46 before − after.
#[test]
fn a_published_example_of_pairs() {
    let before = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30];
    let after = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.13 + 0.01, 1.29];
    let shift = Shift::paired(&before, &after, 0.95, 0.95).unwrap();
    assert!((shift.estimate.unwrap() - 0.46).abs() < 1e-9, "{shift:?}");
    assert!(shift.lower.unwrap() > 0.0, "{shift:?}");
}

#[test]
fn few_values_have_no_bounds() {
    for (n, bounds) in [(1, false), (2, false), (3, true), (4, true)] {
        let a: Vec<f64> = (0..n).map(f64::from).collect();
        let shift = Shift::unpaired(&a, &a, 0.95, 0.95).unwrap();
        assert_eq!((shift.lower.is_some(), shift.upper.is_some()), (bounds, bounds), "{n}");
        assert!(Shift::unpaired(&a, &a, 0.975, 0.975).unwrap().lower.is_some() == (n == 4));
        assert!(Shift::paired(&a, &a, 0.95, 0.95).unwrap().lower.is_none(), "{n}");
    }
    assert_eq!(Shift::unpaired(&[], &[1.0], 0.95, 0.95), None);
    assert_eq!(Shift::unpaired(&[f64::NAN], &[1.0], 0.95, 0.95), None);
    assert_eq!(Shift::paired(&[1.0], &[1.0, 2.0], 0.95, 0.95), None);
}

/// Lost is +∞: what it leaves open is open in the bounds, and never a finite survivor's value.
#[test]
fn lost_runs_are_infinite() {
    let fine = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let all = [INF; 6];
    let lost = Shift::unpaired(&all, &fine, 0.95, 0.95).unwrap();
    assert_eq!(lost, Shift { estimate: Some(INF), lower: Some(INF), upper: Some(INF) });
    let gone = Shift::unpaired(&fine, &all, 0.95, 0.95).unwrap();
    assert_eq!((gone.estimate, gone.upper), (Some(-INF), Some(-INF)));
    let both = Shift::unpaired(&all, &all, 0.95, 0.95).unwrap();
    assert_eq!(both, Shift { estimate: None, lower: Some(-INF), upper: Some(INF) });
    // One lost run of six is an outlier: it changes no bound to an infinite one.
    let one = [INF, 2.0, 3.0, 4.0, 5.0, 6.0];
    let shift = Shift::unpaired(&one, &fine, 0.95, 0.95).unwrap();
    assert!(shift.lower.unwrap().is_finite() && shift.upper.unwrap().is_finite(), "{shift:?}");
    let paired = Shift::paired(&one, &fine, 0.95, 0.95).unwrap();
    assert!(paired.lower.unwrap().is_finite(), "{paired:?}");
    assert_eq!(paired.upper, Some(INF));
    // As often ∞ − finite as finite − ∞: the median lies between, and isn't made up.
    let half = [1.0, 1.0, INF, INF];
    assert_eq!(Shift::unpaired(&half, &half, 0.95, 0.95).unwrap().lower, Some(-INF));
}

#[test]
fn ties_and_constants() {
    let a = [5.0; 6];
    let shift = Shift::unpaired(&a, &a, 0.95, 0.95).unwrap();
    assert_eq!(shift, Shift { estimate: Some(0.0), lower: Some(0.0), upper: Some(0.0) });
    assert!(shift.is_within(0.1));
    assert!(!Shift { estimate: Some(0.0), lower: None, upper: Some(0.0) }.is_within(0.1));
    assert!(!Shift { estimate: Some(0.0), lower: Some(-0.1), upper: Some(0.0) }.is_within(0.1));
}

/// Simulated: each one-sided 95 % bound holds at least so often, whatever the distribution, with
/// ties, too.
#[test]
fn bounds_hold_as_often_as_they_say() {
    let mut chance = ChaCha8Rng::seed_from_u64(18);
    let log = LogNormal::new(0.0, 1.0).unwrap();
    let mut draw = |kind: usize| -> f64 {
        match kind {
            0 => StandardNormal.sample(&mut chance),
            1 => Exp1.sample(&mut chance),
            2 => log.sample(&mut chance),
            // Ties, and two modes.
            _ => f64::from(chance.random_range(0..4)) + 50.0 * f64::from(chance.random_range(0..2)),
        }
    };
    for kind in 0..4 {
        for runs in [4, 6, 9] {
            let (mut low, mut high, mut paired) = (0, 0, 0);
            for _ in 0..RUNS {
                let a: Vec<f64> = (0..runs).map(|_| draw(kind) + 3.0).collect();
                let b: Vec<f64> = (0..runs).map(|_| draw(kind)).collect();
                let shift = Shift::unpaired(&a, &b, 0.95, 0.95).unwrap();
                low += u32::from(shift.lower.unwrap() <= 3.0);
                high += u32::from(shift.upper.unwrap() >= 3.0);
                let shift = Shift::paired(&a, &b, 0.95, 0.95).unwrap();
                paired += u32::from(shift.lower.is_none_or(|lo| lo <= 3.0));
            }
            // 95 % less four standard errors of 4000 tries.
            let least = RUNS * 936 / 1000;
            assert!(low >= least && high >= least, "{kind} {runs}: {low} {high}");
            assert!(paired >= least, "{kind} {runs}: {paired}");
        }
    }
}
