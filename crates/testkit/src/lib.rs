//! A simulated world for tests: true time, clocks that lie about it, and paths that delay and
//! lose. Whoever makes the world knows the truth, so a test can hold a measurement against it.
//!
//! Everything comes from a seed: a test that fails fails again.

use hopwatch_model::Ns;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The source of all chance of a world.
pub fn chance(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// A clock that is off, drifts and is set now and then.
#[derive(Clone, Debug, Default)]
pub struct FalseClock {
    /// What it shows at true time 0.
    pub offset_ns: Ns,
    /// How much faster than true time it runs, in parts per million.
    pub skew_ppm: f64,
    /// (true time, by how much it was set ahead), in order.
    pub steps: Vec<(Ns, Ns)>,
}

impl FalseClock {
    /// Ahead by `offset_ns` at true time 0, and faster by `skew_ppm`.
    pub fn new(offset_ns: Ns, skew_ppm: f64) -> Self {
        Self { offset_ns, skew_ppm, steps: Vec::new() }
    }

    /// The same, set ahead by `by` at a true time.
    #[must_use]
    pub fn set_at(mut self, true_ns: Ns, by: Ns) -> Self {
        self.steps.push((true_ns, by));
        self
    }

    /// How far it is ahead of true time: the truth that an offset's interval must hold.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "runs are hours long, not centuries"
    )]
    pub fn ahead(&self, true_ns: Ns) -> Ns {
        let set: Ns = self.steps.iter().filter(|(at, _)| *at <= true_ns).map(|(_, by)| by).sum();
        self.offset_ns + set + (true_ns as f64 * self.skew_ppm / 1e6).round() as Ns
    }

    /// What it shows at a true time.
    pub fn read(&self, true_ns: Ns) -> Ns {
        true_ns + self.ahead(true_ns)
    }
}

/// One way between two hosts.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// No message is faster.
    pub least_ns: Ns,
    /// Mean of the exponential delay on top.
    pub jitter_ns: f64,
    /// The share of messages that never arrive.
    pub loss: f64,
}

impl Path {
    /// How long a message takes; `None` when it is lost.
    #[expect(clippy::cast_possible_truncation, reason = "a delay is far below 2^53 ns")]
    pub fn delay(&self, chance: &mut impl Rng) -> Option<Ns> {
        if chance.random_bool(self.loss) {
            return None;
        }
        let uniform: f64 = chance.random();
        let jitter = -(1.0 - uniform).ln() * self.jitter_ns;
        Some(self.least_ns + jitter.round() as Ns)
    }
}

/// A request and its reply, as the two hosts stamp it and as it truly was.
#[derive(Clone, Copy, Debug)]
pub struct RoundTrip {
    /// Near clock: sent; far clock: received, answered; near clock: reply received.
    pub stamps: [Ns; 4],
    /// The same four in true time.
    pub truth: [Ns; 4],
}

/// Asks at true time `at`; `None` when request or reply is lost.
pub fn round_trip(
    at: Ns,
    (near, far): (&FalseClock, &FalseClock),
    (there, back): (Path, Path),
    work_ns: Ns,
    chance: &mut impl Rng,
) -> Option<RoundTrip> {
    let received = at + there.delay(chance)?;
    let answered = received + work_ns;
    let ended = answered + back.delay(chance)?;
    Some(RoundTrip {
        stamps: [near.read(at), far.read(received), far.read(answered), near.read(ended)],
        truth: [at, received, answered, ended],
    })
}
