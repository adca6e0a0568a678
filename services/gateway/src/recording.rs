//! What becomes of a trace: a record for the collector, unless that was turned off, and a mark in
//! how long messages took, which the gateway alone knows and tells in `/healthz`.
//!
//! What recording costs is a few µs in a total that differs by a hundred from start to start of
//! the same programs. So the gateway can record in every other phase only, and tells of the
//! messages of even and of odd phases apart: those have all else in common (METHOD 21).

use crate::config::RecordTraces;
use hopwatch_link::RecordSender;
use hopwatch_model::{Hop, Ns, Outcome, Trace};
use hopwatch_stats::Summary;
use hopwatch_wire::record::{Record, TraceRecord};
use serde::Serialize;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// So many messages are remembered of each kind of phase.
const REMEMBERED: usize = 10_000;
/// How long a phase lasts, on the gateway's clock.
const PHASE_NS: Ns = 2_000_000_000;
/// In the first part of a phase, records of the one before are still sent.
const SETTLING_NS: Ns = 500_000_000;

/// Where traces end.
pub(crate) struct Recording {
    which: RecordTraces,
    records: RecordSender,
    even: Newest,
    odd: Newest,
}

/// taken → web_acked of the newest delivered messages, by the phase that they were taken in; none
/// of a phase's first quarter.
#[derive(Serialize)]
pub(crate) struct TakenToAcked {
    /// With [`RecordTraces::Alternate`], those whose traces were recorded.
    even: Summary,
    odd: Summary,
}

impl Recording {
    pub(crate) fn new(which: RecordTraces, records: RecordSender) -> Self {
        Self { which, records, even: Newest::default(), odd: Newest::default() }
    }

    pub(crate) fn take(&self, trace: Trace) {
        let taken = trace.stamps.get(Hop::Taken);
        let taken_ns = taken.map_or(0, |stamp| stamp.ns);
        let is_even = taken_ns.div_euclid(PHASE_NS) % 2 == 0;
        let took = taken
            .zip(trace.stamps.get(Hop::WebAcked))
            .filter(|_| trace.outcome == Outcome::Delivered)
            .and_then(|(taken, acked)| acked.since(taken).ok());
        if let Some(took) = took.filter(|_| taken_ns.rem_euclid(PHASE_NS) >= SETTLING_NS) {
            if is_even { &self.even } else { &self.odd }.push(took);
        }
        let is_recorded = match self.which {
            RecordTraces::Always => true,
            RecordTraces::Never => false,
            RecordTraces::Alternate => is_even,
        };
        if is_recorded {
            self.records.send(Record::Trace(Box::new(TraceRecord::from(trace))));
        }
    }

    pub(crate) fn taken_to_acked(&self) -> TakenToAcked {
        TakenToAcked { even: self.even.summary(), odd: self.odd.summary() }
    }
}

/// The newest durations.
#[derive(Default)]
struct Newest(Mutex<VecDeque<Ns>>);

impl Newest {
    fn push(&self, took: Ns) {
        let mut newest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if newest.len() == REMEMBERED {
            newest.pop_front();
        }
        newest.push_back(took);
    }

    fn summary(&self) -> Summary {
        let newest = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Summary::of(newest.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intake::tests::arrival;
    use crate::message;
    use hopwatch_kit::{Shutdown, SystemClock};
    use hopwatch_link::{Http1, Http1Config, RecordSenderConfig, Target};
    use hopwatch_model::ClockId;
    use std::sync::Arc;

    /// A recording whose sender drops every record that it gets, and counts them.
    fn recording(which: RecordTraces) -> Recording {
        let target = Target::parse("http://127.0.0.1:9/").unwrap();
        let link = Http1::new(Http1Config::new(target), Arc::new(SystemClock::default())).unwrap();
        let config = RecordSenderConfig { spool: 0, ..RecordSenderConfig::new("s".to_owned()) };
        Recording::new(which, RecordSender::start(link, config, Shutdown::new()).0)
    }

    fn trace(outcome: Outcome, taken: Ns, took: Ns) -> Trace {
        let clock = ClockId::new("c");
        let mut trace = message::bare(&arrival(1), "lane", &clock);
        trace.outcome = outcome;
        trace.stamps.set(Hop::Taken, &clock, taken);
        trace.stamps.set(Hop::WebAcked, &clock, taken + took);
        trace
    }

    #[tokio::test]
    async fn what_is_recorded_is_as_configured_and_all_of_it_is_timed() {
        for (which, recorded) in
            [(RecordTraces::Always, 4), (RecordTraces::Never, 0), (RecordTraces::Alternate, 2)]
        {
            let recording = recording(which);
            for phase in 0..4 {
                let late_in_it = phase * PHASE_NS + PHASE_NS / 2;
                recording.take(trace(Outcome::Delivered, late_in_it, phase));
            }
            assert_eq!(recording.records.dropped(), recorded, "{which:?}");
            let TakenToAcked { even, odd } = recording.taken_to_acked();
            assert_eq!((even.n, even.min_ns, even.max_ns), (2, Some(0), Some(2)));
            assert_eq!((odd.n, odd.min_ns, odd.max_ns), (2, Some(1), Some(3)));
        }
    }

    #[tokio::test]
    async fn only_the_newest_delivered_messages_of_settled_phases_are_timed() {
        let recording = recording(RecordTraces::Never);
        recording.take(trace(Outcome::Abandoned, SETTLING_NS, 1));
        recording.take(trace(Outcome::Delivered, SETTLING_NS - 1, 1));
        assert_eq!(recording.taken_to_acked().even.n, 0);
        for took in 0..=10_000 {
            recording.take(trace(Outcome::Delivered, SETTLING_NS, took));
        }
        let even = recording.taken_to_acked().even;
        assert_eq!((even.n, even.min_ns, even.p50_ns), (10_000, Some(1), Some(5_000)));
    }
}
