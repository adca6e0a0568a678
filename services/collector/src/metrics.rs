//! `GET /metrics`: the run's figures for Prometheus, in its text format 0.0.4.
//!
//! docs/running.md lists them. The account is told as it stands: a message that is missing now may
//! come later, so each fate is a gauge; what only grows is a counter. Times are histograms with
//! buckets 19 % wide, four an octave: the fixed ones of most libraries put 1.03 and 1.08 s into one
//! (METHOD 13). They hold every message that was delivered, those of before a restart too.

mod text;

use crate::Shared;
use crate::samples::Times;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use hopwatch_model::{Ledger, Ns};
use std::sync::Arc;
use text::{Kind, Page};

/// The content type of the format.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";
/// The lowest bound, in ns.
const LOWEST: f64 = 10_000.0;
/// Bounds up to 10 µs · 2^(92/4) = 84 s; a gateway waits 5 s and 2 s by default.
const BOUNDS: u16 = 93;
/// Bounds an octave.
const AN_OCTAVE: f64 = 4.0;

/// Times of one class: how many lie in each bucket, the last of which has no bound.
#[derive(Clone)]
pub(crate) struct Histogram {
    counts: Vec<u64>,
    sum_ns: i128,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0; usize::from(BOUNDS) + 1], sum_ns: 0 }
    }
}

/// The upper bounds, in ns, ascending.
fn bounds() -> impl Iterator<Item = f64> {
    (0..BOUNDS).map(|n| LOWEST * (f64::from(n) / AN_OCTAVE).exp2())
}

impl Histogram {
    #[expect(clippy::cast_precision_loss, reason = "times are far below 2^53 ns")]
    fn observe(&mut self, ns: Ns) {
        let place = bounds().take_while(|bound| ns as f64 > *bound).count();
        if let Some(count) = self.counts.get_mut(place) {
            *count += 1;
        }
        self.sum_ns += i128::from(ns);
    }

    #[expect(clippy::cast_precision_loss, reason = "a sum in seconds, for people")]
    fn sum_s(&self) -> f64 {
        self.sum_ns as f64 / 1e9
    }
}

/// The times of a lane's delivered messages.
#[derive(Clone, Default)]
pub(crate) struct Latencies {
    ai: Histogram,
    transport: Histogram,
    overhead: Histogram,
    total: Histogram,
}

impl Latencies {
    pub(crate) fn observe(&mut self, times: &Times) {
        self.ai.observe(times.ai);
        self.transport.observe(times.transport);
        self.overhead.observe(times.overhead);
        self.total.observe(times.total);
    }

    fn each(&self) -> [(&'static str, &Histogram); 4] {
        let Self { ai, transport, overhead, total } = self;
        [("ai", ai), ("transport", transport), ("overhead", overhead), ("total", total)]
    }
}

/// The route.
pub(crate) async fn all(State(shared): State<Arc<Shared>>) -> Response {
    let (status, latencies) = {
        let store = shared.store();
        let of_lane =
            |(name, lane): (&String, &crate::lane::Lane)| (name.clone(), lane.latencies.clone());
        (store.status(), store.lanes.iter().map(of_lane).collect::<Vec<_>>())
    };
    let mut page = Page::default();
    page.family("hopwatch_records_total", Kind::Counter, "Records that the collector has stored.");
    page.number(&[], status.records);
    page.family("hopwatch_pages", Kind::Gauge, "Live pages that are open.");
    page.number(&[], status.clients);
    write_ledgers(&mut page, &status.lanes);
    page.family(
        "hopwatch_latency_seconds",
        Kind::Histogram,
        "Of delivered messages: the total from taken to web_acked, and its classes.",
    );
    for (lane, latencies) in &latencies {
        for (class, histogram) in latencies.each() {
            let bounds = bounds().map(|ns| ns / 1e9);
            let labels = [("lane", lane.as_str()), ("class", class)];
            page.histogram(&labels, bounds, &histogram.counts, histogram.sum_s());
        }
    }
    ([(header::CONTENT_TYPE, TEXT)], page.text()).into_response()
}

/// What became of the messages of each lane.
fn write_ledgers(page: &mut Page, lanes: &std::collections::BTreeMap<String, Ledger>) {
    let mut family = |name, kind, help, of: &dyn Fn(&Ledger) -> u64| {
        page.family(name, kind, help);
        for (lane, ledger) in lanes {
            page.number(&[("lane", lane)], of(ledger));
        }
    };
    family(
        "hopwatch_published_total",
        Kind::Counter,
        "Messages that robots have published, as far as is known.",
        &|ledger| ledger.published,
    );
    family(
        "hopwatch_delivered_total",
        Kind::Counter,
        "Messages that have gone the whole way.",
        &|ledger| ledger.delivered,
    );
    family(
        "hopwatch_duplicates_total",
        Kind::Counter,
        "Messages that were taken again, beside the account.",
        &|ledger| ledger.duplicates,
    );
    family(
        "hopwatch_reordered_total",
        Kind::Counter,
        "Messages taken after one that was published later, beside the account.",
        &|ledger| ledger.reordered,
    );
    family(
        "hopwatch_ledger_reconciles",
        Kind::Gauge,
        "1 when every independent count agrees with every other, else 0.",
        &|ledger| u64::from(ledger.reconciles),
    );
    page.family(
        "hopwatch_messages",
        Kind::Gauge,
        "Messages by what became of them; the sum of a lane's fates is what was published.",
    );
    for (lane, ledger) in lanes {
        for (fate, n) in fates(ledger) {
            page.number(&[("lane", lane), ("fate", fate)], n);
        }
    }
}

/// The summands of `published`.
fn fates(ledger: &Ledger) -> [(&'static str, u64); 10] {
    [
        ("delivered", ledger.delivered),
        ("in_flight", ledger.in_flight),
        ("lost_before_discovery", ledger.lost_before_discovery),
        ("lost_in_ros", ledger.lost_in_ros),
        ("queue_dropped", ledger.queue_dropped),
        ("undecodable", ledger.undecodable),
        ("ai_failed", ledger.ai_failed.values().sum()),
        ("web_failed", ledger.web_failed.values().sum()),
        ("abandoned", ledger.abandoned),
        ("outcome_unknown", ledger.outcome_unknown),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use hopwatch_analysis::LedgerBuilder;
    use hopwatch_model::Failure;

    #[test]
    fn fates_add_up_to_what_the_ledger_accounts_for() {
        let ledger = Ledger {
            lost_before_discovery: 1,
            lost_in_ros: 2,
            outcome_unknown: 4,
            queue_dropped: 8,
            undecodable: 16,
            ai_failed: [(Failure::TimedOut, 32)].into(),
            web_failed: [(Failure::TimedOut, 64)].into(),
            abandoned: 128,
            delivered: 256,
            in_flight: 512,
            ..LedgerBuilder::new().ledger_now()
        };
        let sum: u64 = fates(&ledger).iter().map(|(_, n)| n).sum();
        assert_eq!(sum, ledger.accounted());
    }

    #[test]
    fn times_that_a_usual_bucket_would_mix_are_told_apart() {
        let mut histogram = Histogram::default();
        for ms in [0, 1, 1_034, 1_190, 1_000_000] {
            histogram.observe(ms * 1_000_000);
        }
        let filled: Vec<usize> = histogram
            .counts
            .iter()
            .enumerate()
            .filter(|(_, n)| **n > 0)
            .map(|(place, _)| place)
            .collect();
        assert_eq!(filled.len(), 5, "{filled:?}");
        assert_eq!((filled[0], filled[4]), (0, usize::from(BOUNDS)));
        assert!((histogram.sum_s() - 1_002.225).abs() < 1e-9);
        let widths: Vec<f64> = bounds().zip(bounds().skip(1)).map(|(a, b)| b / a).collect();
        assert!(widths.iter().all(|width| (1.18..1.2).contains(width)));
    }
}
