//! How sure a share of successes is.

use statrs::distribution::{Beta, ContinuousCDF};

/// The two-sided interval of the probability behind `hits` of `of`, with at least `confidence`.
///
/// By C. J. Clopper and E. S. Pearson, Biometrika 26 (1934): it holds the truth at least as often
/// as it says, for any n and any probability, if the trials are independent. Losses that come in
/// bursts aren't: then it is too narrow. `None` when nothing was tried, or more hit than tried.
pub fn proportion_interval(hits: u64, of: u64, confidence: f64) -> Option<(f64, f64)> {
    if of == 0 || hits > of {
        return None;
    }
    let tail = (1.0 - confidence) / 2.0;
    let lo = if hits == 0 { 0.0 } else { beta(hits, of - hits + 1)?.inverse_cdf(tail) };
    let hi = if hits == of { 1.0 } else { beta(hits + 1, of - hits)?.inverse_cdf(1.0 - tail) };
    Some((lo, hi))
}

#[expect(clippy::cast_precision_loss, reason = "counts of messages are far below 2⁵²")]
fn beta(a: u64, b: u64) -> Option<Beta> {
    Beta::new(a as f64, b as f64).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use statrs::distribution::{Binomial, DiscreteCDF};

    /// The ends are where the binomial tails are 2.5 %, by definition.
    #[test]
    fn the_tails_are_what_is_left() {
        for (hits, of) in [(1, 10), (294, 300), (98, 100), (999_000, 1_000_000), (50, 100)] {
            let (lo, hi) = proportion_interval(hits, of, 0.95).unwrap();
            let above = 1.0 - Binomial::new(lo, of).unwrap().cdf(hits - 1);
            let below = Binomial::new(hi, of).unwrap().cdf(hits);
            assert!((above - 0.025).abs() < 1e-6, "{hits} of {of}: {above}");
            assert!((below - 0.025).abs() < 1e-6, "{hits} of {of}: {below}");
        }
    }

    #[test]
    fn all_and_nothing() {
        // 1 − 0.025^(1/n).
        let (lo, hi) = proportion_interval(60, 60, 0.95).unwrap();
        assert!((lo - 0.025f64.powf(1.0 / 60.0)).abs() < 1e-9 && hi >= 1.0, "{lo} {hi}");
        let (lo, hi) = proportion_interval(0, 60, 0.95).unwrap();
        assert!((hi - (1.0 - 0.025f64.powf(1.0 / 60.0))).abs() < 1e-9 && lo <= 0.0, "{lo} {hi}");
        assert_eq!(proportion_interval(0, 0, 0.95), None);
        assert_eq!(proportion_interval(2, 1, 0.95), None);
    }
}
