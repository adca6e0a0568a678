//! How long the model thinks, and whether it fails.

use anyhow::ensure;
use hopwatch_kit::config::Refused;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, LogNormal};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Draws model times and failures, the same ones for the same seed.
pub(crate) struct Model {
    sigma: f64,
    failure_rate: f64,
    state: Mutex<State>,
}

struct State {
    median_ms: f64,
    time_ms: ModelTime,
    rng: ChaCha8Rng,
}

/// ln(ms); a spread of 0 draws the median each time. `None`: no time at all.
type ModelTime = Option<LogNormal<f64>>;

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
            (0.0..=5.0).contains(&sigma),
            Refused(format!("sigma must lie between 0 and 5, not {sigma}"))
        );
        ensure!(
            (0.0..=1.0).contains(&failure_rate),
            Refused(format!("failure_rate must lie between 0 and 1, not {failure_rate}"))
        );
        let time_ms = model_time(median_ms, sigma)?;
        let rng = ChaCha8Rng::seed_from_u64(seed);
        Ok(Self { sigma, failure_rate, state: Mutex::new(State { median_ms, time_ms, rng }) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn median_ms(&self) -> f64 {
        self.state().median_ms
    }

    /// From the next draw on; what was drawn stays.
    pub(crate) fn set_median(&self, median_ms: f64) -> Result<(), Refused> {
        let time_ms = model_time(median_ms, self.sigma)?;
        let mut state = self.state();
        (state.median_ms, state.time_ms) = (median_ms, time_ms);
        Ok(())
    }

    pub(crate) fn draw(&self) -> Draw {
        let mut state = self.state();
        let State { time_ms, rng, .. } = &mut *state;
        let ms = time_ms.map_or(0.0, |time| time.sample(rng)).min(LONGEST_MS);
        #[expect(clippy::cast_possible_truncation, reason = "at most an hour in ns")]
        let model_ns = (ms * 1e6).round() as i64;
        Draw { model_ns, fails: rng.random_bool(self.failure_rate) }
    }
}

fn model_time(median_ms: f64, sigma: f64) -> Result<ModelTime, Refused> {
    if !(0.0..=LONGEST_MS).contains(&median_ms) {
        let why = format!("model_ms must lie between 0 and {LONGEST_MS}, not {median_ms}");
        return Err(Refused(why));
    }
    let time = (median_ms > 0.0).then(|| LogNormal::new(median_ms.ln(), sigma)).transpose();
    time.map_err(|error| Refused(format!("model_ms {median_ms} and sigma {sigma}: {error}")))
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
    fn a_new_median_holds_from_the_next_draw_on() {
        let model = Model::new(10.0, 0.0, 0.0, 1).unwrap();
        assert_eq!(model.draw().model_ns, 10_000_000);
        for (median_ms, model_ns) in [(210.0, 210_000_000), (0.0, 0), (0.25, 250_000)] {
            model.set_median(median_ms).unwrap();
            assert_eq!((model.draw().model_ns, model.median_ms()), (model_ns, median_ms));
        }
        for bad in [-1.0, f64::NAN, f64::INFINITY, 3_600_001.0] {
            let why = model.set_median(bad).unwrap_err().to_string();
            assert!(why.contains("between 0 and 3600000"), "{why}");
            assert_eq!((model.draw().model_ns, model.median_ms()), (250_000, 0.25), "{bad}");
        }
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
