//! How long the model thinks, and whether it fails.

use anyhow::{Context, ensure};
use hopwatch_kit::config::Refused;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, LogNormal};
use std::sync::{Mutex, PoisonError};

/// Draws model times and failures, the same ones for the same seed.
pub(crate) struct Model {
    /// ln(ms); a spread of 0 draws the median each time.
    time_ms: Option<LogNormal<f64>>,
    failure_rate: f64,
    rng: Mutex<ChaCha8Rng>,
}

/// One request's fate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Draw {
    pub(crate) model_ns: i64,
    pub(crate) fails: bool,
}

/// An hour: nobody waits for longer, and the sum with a clock reading can't overflow.
const LONGEST_MS: f64 = 3_600_000.0;

impl Model {
    pub(crate) fn new(
        median_ms: f64,
        sigma: f64,
        failure_rate: f64,
        seed: u64,
    ) -> anyhow::Result<Self> {
        ensure!(
            (0.0..=LONGEST_MS).contains(&median_ms),
            Refused(format!("model_ms must lie between 0 and {LONGEST_MS}, not {median_ms}"))
        );
        ensure!(
            (0.0..=5.0).contains(&sigma),
            Refused(format!("sigma must lie between 0 and 5, not {sigma}"))
        );
        ensure!(
            (0.0..=1.0).contains(&failure_rate),
            Refused(format!("failure_rate must lie between 0 and 1, not {failure_rate}"))
        );
        let time_ms = (median_ms > 0.0)
            .then(|| LogNormal::new(median_ms.ln(), sigma))
            .transpose()
            .context("configuration: model_ms and sigma make no lognormal distribution")?;
        let rng = Mutex::new(ChaCha8Rng::seed_from_u64(seed));
        Ok(Self { time_ms, failure_rate, rng })
    }

    pub(crate) fn draw(&self) -> Draw {
        let mut rng = self.rng.lock().unwrap_or_else(PoisonError::into_inner);
        let ms = self.time_ms.map_or(0.0, |time| time.sample(&mut *rng)).min(LONGEST_MS);
        #[expect(clippy::cast_possible_truncation, reason = "at most an hour in ns")]
        let model_ns = (ms * 1e6).round() as i64;
        Draw { model_ns, fails: rng.random_bool(self.failure_rate) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_is_fixed_and_lognormal_has_its_median() {
        let fixed = Model::new(10.0, 0.0, 0.0, 1).unwrap();
        assert_eq!(fixed.draw(), Draw { model_ns: 10_000_000, fails: false });
        assert_eq!(Model::new(0.0, 0.5, 1.0, 1).unwrap().draw(), Draw { model_ns: 0, fails: true });
        let spread = Model::new(10.0, 0.5, 0.0, 7).unwrap();
        let mut draws: Vec<i64> = (0..2001).map(|_| spread.draw().model_ns).collect();
        draws.sort_unstable();
        assert!((9_400_000..10_600_000).contains(&draws[1000]), "median {}", draws[1000]);
        assert!(draws[2000] > 25_000_000, "a long tail");
    }

    #[test]
    fn nonsense_is_refused() {
        for (ms, sigma, rate) in [
            (-1.0, 0.0, 0.0),
            (f64::NAN, 0.0, 0.0),
            (1.0, -1.0, 0.0),
            (1.0, 0.0, 1.1),
            (1e9, 0.0, 0.0),
        ] {
            assert!(Model::new(ms, sigma, rate, 1).is_err(), "{ms} {sigma} {rate}");
        }
    }
}
