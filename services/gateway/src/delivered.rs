//! How long the newest delivered messages took, for `/healthz`: known to the gateway alone, so
//! it is told in the same way whether traces are recorded or not.

use hopwatch_model::{Hop, Ns, Outcome, Trace};
use hopwatch_stats::Summary;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// So many messages are remembered.
const REMEMBERED: usize = 10_000;

/// taken → web_acked of the newest delivered messages, on the gateway's clock.
#[derive(Default)]
pub(crate) struct Delivered(Mutex<VecDeque<Ns>>);

impl Delivered {
    /// Remembers a message, if it was delivered.
    pub(crate) fn note(&self, trace: &Trace) {
        let (Some(taken), Some(acked)) =
            (trace.stamps.get(Hop::Taken), trace.stamps.get(Hop::WebAcked))
        else {
            return;
        };
        let (Outcome::Delivered, Ok(took)) = (trace.outcome, acked.since(taken)) else { return };
        let mut newest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if newest.len() == REMEMBERED {
            newest.pop_front();
        }
        newest.push_back(took);
    }

    /// What is remembered, summed up.
    pub(crate) fn summary(&self) -> Summary {
        let newest = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Summary::of(newest.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intake::tests::arrival;
    use crate::message;
    use hopwatch_model::ClockId;

    fn trace(outcome: Outcome, took: Ns) -> Trace {
        let clock = ClockId::new("c");
        let mut trace = message::bare(&arrival(1), "lane", &clock);
        trace.outcome = outcome;
        trace.stamps.set(Hop::WebAcked, &clock, took);
        trace
    }

    #[test]
    fn only_delivered_messages_count_and_only_the_newest() {
        let delivered = Delivered::default();
        delivered.note(&trace(Outcome::Abandoned, 1));
        assert_eq!(delivered.summary().n, 0);
        for took in 0..=10_000 {
            delivered.note(&trace(Outcome::Delivered, took));
        }
        let summary = delivered.summary();
        assert_eq!((summary.n, summary.min_ns, summary.max_ns), (10_000, Some(1), Some(10_000)));
        assert_eq!(summary.p50_ns, Some(5_000));
    }
}
