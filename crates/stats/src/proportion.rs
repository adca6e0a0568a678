//! How sure a share of successes is.

use statrs::distribution::{Beta, Binomial, ContinuousCDF, DiscreteCDF};

/// P(B ≥ `hits`) of B ~ Bin(`of`, `p`): how likely so many are by chance. 1 for a `p` that is no
/// probability.
pub fn binomial_tail(of: usize, hits: usize, p: f64) -> f64 {
    let (Some(below), Ok(binomial)) = (hits.checked_sub(1), Binomial::new(p, of as u64)) else {
        return 1.0;
    };
    binomial.sf(below as u64)
}

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

/// The same of hits counted in several runs, each (hits, of): runs that differ by more than chance
/// make it wider.
///
/// The counts are divided by the design effect, the variance between the runs over the binomial
/// one, at least 1 (J. N. K. Rao, A. J. Scott, Biometrics 48, 1992), and the interval is that of so
/// many. Of one run it is [`proportion_interval`]. `None` when nothing was tried, or more hit than
/// tried.
#[expect(clippy::cast_precision_loss, reason = "counts of messages are far below 2⁵²")]
pub fn proportion_interval_of_runs(runs: &[(u64, u64)], confidence: f64) -> Option<(f64, f64)> {
    let runs: Vec<(u64, u64)> = runs.iter().copied().filter(|(_, of)| *of > 0).collect();
    if runs.iter().any(|(hits, of)| hits > of) {
        return None;
    }
    let (hits, of) = runs.iter().fold((0, 0), |sum: (u64, u64), run| {
        (sum.0.saturating_add(run.0), sum.1.saturating_add(run.1))
    });
    let effect = design_effect(&runs, hits, of).unwrap_or(1.0).max(1.0);
    let (hits, of) = (hits as f64 / effect, of as f64 / effect);
    let tail = (1.0 - confidence) / 2.0;
    if of <= 0.0 {
        return None;
    }
    let lo =
        if hits <= 0.0 { 0.0 } else { Beta::new(hits, of - hits + 1.0).ok()?.inverse_cdf(tail) };
    let misses = of - hits;
    let hi = if misses <= 0.0 {
        1.0
    } else {
        Beta::new(hits + 1.0, misses).ok()?.inverse_cdf(1.0 - tail)
    };
    Some((lo, hi))
}

/// By the variance of a ratio estimator; `None` where there is nothing to compare.
#[expect(clippy::cast_precision_loss, reason = "counts of messages are far below 2⁵²")]
fn design_effect(runs: &[(u64, u64)], hits: u64, of: u64) -> Option<f64> {
    let n = runs.len() as f64;
    let ratio = hits as f64 / of as f64;
    let binomial = ratio * (1.0 - ratio) / of as f64;
    let off = runs.iter().map(|(hits, of)| (*hits as f64 - *of as f64 * ratio).powi(2));
    let between = n / (n - 1.0) * off.sum::<f64>() / (of as f64).powi(2);
    (runs.len() > 1 && binomial > 0.0).then(|| between / binomial)
}

#[expect(clippy::cast_precision_loss, reason = "counts of messages are far below 2⁵²")]
fn beta(a: u64, b: u64) -> Option<Beta> {
    Beta::new(a as f64, b as f64).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn tails_of_counts() {
        assert!((binomial_tail(5, 3, 0.1) - 0.00856).abs() < 1e-9);
        assert!((binomial_tail(2, 2, 0.5) - 0.25).abs() < 1e-9);
        assert!(binomial_tail(3, 0, 0.5) >= 1.0 && binomial_tail(3, 4, 0.5) <= 0.0);
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

    #[test]
    fn runs_that_differ_make_it_wider() {
        let width = |runs: &[(u64, u64)]| {
            let (lo, hi) = proportion_interval_of_runs(runs, 0.95).unwrap();
            hi - lo
        };
        let (alike, apart) = ([(90, 100); 6], [(100, 100), (100, 100), (70, 100)]);
        let (lo, hi) = proportion_interval(540, 600, 0.95).unwrap();
        assert!((width(&alike) - (hi - lo)).abs() < 1e-9);
        let (lo, hi) = proportion_interval(270, 300, 0.95).unwrap();
        assert!(width(&apart) > 2.0 * (hi - lo), "{}", width(&apart));
        assert_eq!(
            proportion_interval_of_runs(&[(300, 300)], 0.95),
            proportion_interval(300, 300, 0.95)
        );
        assert_eq!(proportion_interval_of_runs(&[], 0.95), None);
        assert_eq!(proportion_interval_of_runs(&[(2, 1)], 0.95), None);
    }
}
