//! How long to wait before something is sent again, learned from how long it took (RFC 6298).

use std::time::Duration;

/// The smoothed time and its variation, of one kind of answer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Patience(Option<(Duration, Duration)>);

impl Patience {
    /// An answer took so long. It must be known to which attempt it was (Karn's rule).
    pub(crate) fn learn(&mut self, took: Duration) {
        self.0 = Some(match self.0 {
            None => (took, took / 2),
            Some((smooth, vary)) => {
                let off = smooth.abs_diff(took);
                ((smooth * 7 + took) / 8, (vary * 3 + off) / 4)
            }
        });
    }

    /// How long to wait; `unknown` while nothing has been learned.
    pub(crate) fn wait(self, unknown: Duration) -> Duration {
        self.0.map_or(unknown, |(smooth, vary)| smooth + vary * 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_settles_a_little_above_what_is_usual_and_gives_more_when_times_vary() {
        let ms = Duration::from_millis;
        let mut patience = Patience::default();
        assert_eq!(patience.wait(ms(100)), ms(100));
        patience.learn(ms(1000));
        assert_eq!(patience.wait(ms(100)), ms(3000));
        for _ in 0..100 {
            patience.learn(ms(1000));
        }
        assert!((ms(1000)..ms(1010)).contains(&patience.wait(ms(100))), "{patience:?}");
        for i in 0..100 {
            patience.learn(ms(if i % 2 == 0 { 1000 } else { 1200 }));
        }
        assert!((ms(1300)..ms(1700)).contains(&patience.wait(ms(100))), "{patience:?}");
    }
}
