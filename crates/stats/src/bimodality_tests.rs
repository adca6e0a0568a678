use super::*;
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Exp, LogNormal, Normal, Uniform};

fn sorted_ms(ms: &[f64]) -> Vec<i64> {
    let mut sorted: Vec<i64> = ms.iter().map(|ms| ns(*ms)).collect();
    sorted.sort_unstable();
    sorted
}

#[expect(clippy::cast_possible_truncation, reason = "simulated durations fit")]
fn ns(ms: f64) -> i64 {
    (ms * 1e6).round() as i64
}

fn draw<D: Distribution<f64>>(rng: &mut ChaCha8Rng, of: &D, n: usize) -> Vec<f64> {
    of.sample_iter(rng).take(n).collect()
}

const S3_FOUR: [f64; 5] = [12.5, 10.6, 332.0, 331.5, 330.9];
const S3_MANY: [f64; 5] = [328.7, 329.5, 330.5, 10.3, 329.6];

/// Maximum intervals of five rounds each, published: a stall in some rounds and not in others.
#[test]
fn five_rounds_look_bimodal_and_prove_nothing() {
    let four = Modes::find(&sorted_ms(&S3_FOUR), 1).unwrap();
    assert_eq!((four.low.n, four.high.n), (2, 3));
    assert_eq!((four.low.center_ns, four.high.center_ns), (10_600_000, 331_500_000));
    assert_eq!(four.valley_ns, (12_500_000, 330_900_000));
    assert_eq!(four.evidence, Evidence::Shape);
    assert!((four.low.share - 0.4).abs() < 1e-12);

    let many = Modes::find(&sorted_ms(&S3_MANY), 1).unwrap();
    assert_eq!((many.low.n, many.high.n), (1, 4));
    assert_eq!((many.low.center_ns, many.high.center_ns), (10_300_000, 329_500_000));
    assert_eq!(many.valley_ns, (10_300_000, 328_700_000));
    assert_eq!(many.evidence, Evidence::Shape);

    // Twice as many rounds of the same would be enough.
    let doubled = sorted_ms(&[S3_FOUR, S3_MANY, S3_FOUR, S3_MANY].concat());
    assert_eq!(Modes::find(&doubled, 1).unwrap().evidence, Evidence::Test);
}

#[test]
fn four_values_have_no_shape() {
    assert_eq!(Modes::find(&sorted_ms(&S3_FOUR[..4]), 1), None);
    assert_eq!(Modes::find(&[], 1), None);
    assert_eq!(Modes::find(&[5; 1000], 1), None);
}

/// Nagle's 40 ms in 5 % of a thousand sub-millisecond latencies, the valley empty or not.
#[test]
fn the_mode_of_a_delayed_acknowledgement_is_found() {
    let mut rng = ChaCha8Rng::seed_from_u64(40);
    let fast = LogNormal::new(0.3f64.ln(), 0.4).unwrap();
    let delayed = Normal::new(40.0, 0.5).unwrap();
    let between = Uniform::new(0.0, 1.0).unwrap();
    for strewn in [0, 20] {
        for _ in 0..200 {
            let mut ms = draw(&mut rng, &fast, 950 - strewn);
            ms.extend(draw(&mut rng, &delayed, 50));
            // Evenly over the logarithms from 0.5 ms to 35 ms.
            ms.extend(draw(&mut rng, &between, strewn).iter().map(|u| 0.5 * 70f64.powf(*u)));
            let modes = Modes::find(&sorted_ms(&ms), 1).unwrap();
            assert_eq!(modes.evidence, Evidence::Test);
            assert!((250_000..350_000).contains(&modes.low.center_ns), "{modes:?}");
            assert!((39_000_000..41_000_000).contains(&modes.high.center_ns), "{modes:?}");
            if strewn == 0 {
                assert_eq!((modes.low.n, modes.high.n), (950, 50));
            }
            assert!((50..=50 + strewn).contains(&modes.high.n), "{modes:?}");
            assert!(modes.low.n + modes.high.n <= 1000, "{modes:?}");
        }
    }
}

/// How many of `times` samples of `n` values of a distribution are called bimodal.
fn called_bimodal<D: Distribution<f64>>(of: &D, n: usize, times: usize) -> usize {
    let mut rng = ChaCha8Rng::seed_from_u64(n as u64);
    (0..times).filter(|_| Modes::find(&sorted_ms(&draw(&mut rng, of, n)), 1).is_some()).count()
}

/// At most 5 %, whatever the distribution of one mode and whatever the size.
#[test]
fn one_mode_is_not_two() {
    for (n, times) in [(5, 4000), (12, 4000), (30, 4000), (100, 4000), (1000, 1000)] {
        let called = [
            ("exponential", called_bimodal(&Exp::new(0.1).unwrap(), n, times)),
            ("lognormal 0.5", called_bimodal(&LogNormal::new(0.0, 0.5).unwrap(), n, times)),
            ("lognormal 1", called_bimodal(&LogNormal::new(0.0, 1.0).unwrap(), n, times)),
            ("normal", called_bimodal(&Normal::new(10.0, 1.0).unwrap(), n, times)),
            ("normal around 0", called_bimodal(&Normal::new(0.0, 1.0).unwrap(), n, times)),
            ("uniform", called_bimodal(&Uniform::new(0.0, 1.0).unwrap(), n, times)),
            ("uniform 1–2", called_bimodal(&Uniform::new(1.0, 2.0).unwrap(), n, times)),
        ];
        for (name, of) in called {
            assert!(of * 20 <= times, "{name}: {of} of {times} samples of {n}");
        }
    }
}

/// What the documentation says of the test's power, with room for another seed.
#[test]
fn overlapping_modes_are_found_when_far_enough_apart() {
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    let mut found = |n: usize, sigmas: f64| {
        let low = LogNormal::new(0.0, 0.3).unwrap();
        let high = LogNormal::new(0.3 * sigmas, 0.3).unwrap();
        (0..300)
            .filter(|_| {
                let ms: Vec<f64> = (0..n)
                    .map(|_| {
                        let of = if rng.random_bool(0.5) { &low } else { &high };
                        of.sample(&mut rng)
                    })
                    .collect();
                Modes::find(&sorted_ms(&ms), 1).is_some_and(|m| m.evidence == Evidence::Test)
            })
            .count()
    };
    assert!(found(1000, 5.0) >= 297);
    assert!(found(100, 6.0) >= 270);
    assert!(found(30, 8.0) >= 225);
    // Two equal modes 2 σ apart are one.
    assert!(found(1000, 2.0) <= 3);
}

/// A page's clock makes steps; they are not modes.
#[test]
fn steps_of_a_coarse_clock_are_not_modes() {
    let mut rng = ChaCha8Rng::seed_from_u64(100);
    let step = 100_000;
    for mean_ms in [0.05, 0.2, 1.0] {
        let exponential = Exp::new(1.0 / mean_ms).unwrap();
        let fine = sorted_ms(&draw(&mut rng, &exponential, 1000));
        let stepped: Vec<i64> = fine.iter().map(|v| v / step * step).collect();
        assert_eq!(Modes::find(&stepped, step), None, "{mean_ms}");
    }
    // Taken for a fine clock's, the values of one step would be a mode each.
    let two_steps: Vec<i64> =
        (0..1000).map(|i| if i < 700 { 16_600_000 } else { 16_700_000 }).collect();
    assert_eq!(Modes::find(&two_steps, step), None);
    assert!(Modes::find(&two_steps, 1).is_some());
}

#[test]
fn negative_values_are_looked_at_as_they_are() {
    // Legs between clocks that disagree, by 5 ms for a part of the run.
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let leg = Normal::new(0.2, 0.05).unwrap();
    let mut ms = draw(&mut rng, &leg, 300);
    ms[..100].iter_mut().for_each(|v| *v -= 5.0);
    let modes = Modes::find(&sorted_ms(&ms), 1).unwrap();
    assert_eq!((modes.low.n, modes.high.n, modes.evidence), (100, 200, Evidence::Test));
    assert!(modes.low.center_ns < -4_000_000);
}

#[test]
fn json_names_what_it_rests_on() {
    let json = serde_json::to_value(Modes::find(&sorted_ms(&S3_FOUR), 1)).unwrap();
    assert_eq!(json["evidence"], "shape");
    assert_eq!(json["valley_ns"], serde_json::json!([12_500_000, 330_900_000]));
    assert_eq!(json["high"]["n"], 3);
}

proptest! {
    #[test]
    fn whatever_comes_the_parts_fit(
        mut values in prop::collection::vec(
            prop_oneof![0i64..1000, any::<i64>(), 40_000_000i64..40_001_000],
            0..200,
        ),
        step in any::<i64>(),
    ) {
        values.sort_unstable();
        if let Some(modes) = Modes::find(&values, step) {
            let (lo, hi) = modes.valley_ns;
            prop_assert!(lo < hi);
            prop_assert!(modes.low.center_ns <= lo && hi <= modes.high.center_ns);
            // Ties with an end of the valley are all on its side.
            prop_assert_eq!(values.iter().filter(|v| **v <= lo).count(), modes.low.n);
            prop_assert_eq!(values.iter().filter(|v| **v >= hi).count(), modes.high.n);
            prop_assert!(modes.low.share + modes.high.share <= 1.0 + 1e-12);
        }
    }
}
