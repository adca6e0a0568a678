//! Delivery over what was published: a message that is lost took forever (METHOD 10).

use crate::decompose::Decomposition;
use crate::units::maybe;
use crate::width::{SAID, sorted_by};
use hopwatch_model::{Hop, Ledger, Ns, Stamp, Trace};
use hopwatch_stats::{nearest_rank, proportion_interval};
use serde::{Serialize, Serializer};
use std::fmt::Write;

/// How long a message took, when it may never have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Latency {
    /// So many ns.
    Ns(Ns),
    /// It was lost: forever.
    Lost,
}

impl Serialize for Latency {
    /// A number, or the word "lost".
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Ns(ns) => serializer.serialize_i64(*ns),
            Self::Lost => serializer.serialize_str("lost"),
        }
    }
}

impl std::fmt::Display for Latency {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ns(ns) => f.write_str(&maybe(Some(*ns))),
            Self::Lost => f.write_str("lost"),
        }
    }
}

/// How many messages came in time.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Within {
    /// How many, of all that were published. One whose time isn't exact counts when it certainly
    /// was in time.
    pub n: u64,
    /// The same and those that may have been in time; `n` when all times are exact.
    pub n_possibly: u64,
    /// The part of `n`, from 0 to 1.
    pub ratio: f64,
    /// 95 % interval of the probability behind it (Clopper–Pearson), if losses are independent:
    /// its lower end is that of `n`, its upper end that of `n_possibly`.
    pub ratio_ci: (f64, f64),
}

/// One span over what was published. Its quantiles are of the middles where times aren't exact.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct SpanOverPublished {
    /// Delivered within the limit.
    pub delivered_within: Within,
    /// The median, "lost" when half of the messages are; `null` for an unstable lane.
    #[cfg_attr(feature = "ts", ts(type = "number | \"lost\" | null"))]
    pub p50_ns: Option<Latency>,
    /// The 95th percentile, likewise.
    #[cfg_attr(feature = "ts", ts(type = "number | \"lost\" | null"))]
    pub p95_ns: Option<Latency>,
    /// The 99th percentile, likewise.
    #[cfg_attr(feature = "ts", ts(type = "number | \"lost\" | null"))]
    pub p99_ns: Option<Latency>,
    /// The true median lies in here: those of the lower and of the upper ends; `null` when exact.
    #[cfg_attr(feature = "ts", ts(type = "[number | \"lost\", number | \"lost\"] | null"))]
    pub p50_within_ns: Option<(Latency, Latency)>,
    /// The same of the 95th percentile.
    #[cfg_attr(feature = "ts", ts(type = "[number | \"lost\", number | \"lost\"] | null"))]
    pub p95_within_ns: Option<(Latency, Latency)>,
    /// The same of the 99th percentile.
    #[cfg_attr(feature = "ts", ts(type = "[number | \"lost\", number | \"lost\"] | null"))]
    pub p99_within_ns: Option<(Latency, Latency)>,
}

/// A lane over what was published.
///
/// A message counts as lost that isn't delivered by the end of the run, or that any time-out on
/// the way gave up: there is no other one.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct OverPublished {
    /// The limit: the budget of the total.
    pub limit_ns: Ns,
    /// The denominator: published, without those in flight, those without a time and those before
    /// discovery.
    pub of: u64,
    /// Of these, not delivered.
    pub lost: u64,
    /// Not in the denominator: what becomes of them isn't known yet.
    pub in_flight: u64,
    /// Not in the denominator: delivered, but their stamps don't tell the time.
    pub untimed: u64,
    /// Not in the denominator: published before writer and reader had found each other, which says
    /// nothing of the link (METHOD 14).
    pub before_discovery: u64,
    /// taken → web_acked; the way to the gateway isn't in its time.
    pub pipeline: SpanOverPublished,
    /// published → web_acked; `null` unless it is known of every message.
    pub published: Option<SpanOverPublished>,
}

impl OverPublished {
    /// From the delivered messages. `None` when nothing was published, and when some of those
    /// that the ledger counts as delivered are no longer kept: of them only the loss is known.
    pub(crate) fn of(
        whole: &[&Decomposition],
        kept_delivered: usize,
        ledger: &Ledger,
        limit_ns: Ns,
    ) -> Option<Self> {
        let (timed, kept) = (u64::try_from(whole.len()).ok()?, u64::try_from(kept_delivered).ok()?);
        let untimed = ledger.delivered.checked_sub(timed)?;
        let before_discovery = ledger.lost_before_discovery;
        let left_out = [ledger.in_flight, untimed, before_discovery];
        let of = left_out.iter().try_fold(ledger.published, |of, n| of.checked_sub(*n))?;
        let lost = of.checked_sub(timed)?;
        if kept != ledger.delivered || of == 0 {
            return None;
        }
        let span = |times: Option<Vec<(Ns, Ns)>>| of_span(&times?, of, limit_ns);
        Some(Self {
            limit_ns,
            of,
            lost,
            in_flight: ledger.in_flight,
            untimed,
            before_discovery,
            pipeline: span(whole.iter().map(|d| Some((d.pipeline_ns?, 0))).collect())?,
            published: span(whole.iter().map(|d| d.published).collect()).filter(|_| timed > 0),
        })
    }

    /// An unstable lane has no percentiles; what came in time came in time.
    pub(crate) fn drop_quantiles(&mut self) {
        for span in [Some(&mut self.pipeline), self.published.as_mut()].into_iter().flatten() {
            (span.p50_ns, span.p95_ns, span.p99_ns) = (None, None, None);
            (span.p50_within_ns, span.p95_within_ns, span.p99_within_ns) = (None, None, None);
        }
    }

    /// The span that begins earliest of those that are known, and what it begins with.
    pub fn widest(&self) -> (&'static str, &SpanOverPublished) {
        match &self.published {
            Some(span) => ("publication", span),
            None => ("the take", &self.pipeline),
        }
    }

    /// In sentences.
    pub(crate) fn said(&self) -> Vec<String> {
        let (from, span) = self.widest();
        let within = &span.delivered_within;
        let percent = |part: f64| format!("{:.2} %", part * 100.0);
        let [n, ratio] = if within.n == within.n_possibly {
            [within.n.to_string(), percent(within.ratio)]
        } else {
            let possibly = part(within.n_possibly, self.of);
            [
                format!("{} to {}", within.n, within.n_possibly),
                format!("{} to {}", percent(within.ratio), percent(possibly)),
            ]
        };
        let (lo, hi) = within.ratio_ci;
        let mut first = format!(
            "delivered within {} of {from}: {n} of {} published = {ratio} (95 %: {} to {})",
            maybe(Some(self.limit_ns)),
            self.of,
            percent(lo),
            percent(hi),
        );
        if within.n != within.n_possibly {
            first.push_str(", as the clocks leave it open");
        }
        for (n, why) in [
            (self.before_discovery, "before discovery"),
            (self.in_flight, "in flight"),
            (self.untimed, "delivered without a time"),
        ] {
            if n > 0 {
                let _infallible = write!(first, "; {n} {why} are left out");
            }
        }
        let [p50, p95, p99] = [
            (span.p50_ns, span.p50_within_ns),
            (span.p95_ns, span.p95_within_ns),
            (span.p99_ns, span.p99_within_ns),
        ]
        .map(|(middle, within)| Some(quantile_said(middle?, within)));
        let quantiles = p50.zip(p95).zip(p99);
        let second = quantiles.filter(|_| self.lost > 0).map(|((p50, p95), p99)| {
            format!(
                "P99 over published: {p99} (P95 {p95}, P50 {p50}); a lost message takes forever"
            )
        });
        [first].into_iter().chain(second).collect()
    }
}

/// A quantile, or between what it lies when the clocks leave that open by more than is nothing.
fn quantile_said(middle: Latency, within: Option<(Latency, Latency)>) -> String {
    match within {
        Some((Latency::Ns(lo), Latency::Ns(hi))) if hi.saturating_sub(lo) < 2 * SAID => {
            middle.to_string()
        }
        Some((lo, hi)) if lo != hi => format!("{lo} to {hi}"),
        _ => middle.to_string(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a ratio of counts")]
fn part(n: u64, of: u64) -> f64 {
    n as f64 / of as f64
}

/// From (time, half-width of its interval) of the messages delivered.
fn of_span(times: &[(Ns, Ns)], of: u64, limit_ns: Ns) -> Option<SpanOverPublished> {
    let in_time = |ends: &[Ns]| u64::try_from(ends.partition_point(|ns| *ns <= limit_ns)).ok();
    let sorted = |of| sorted_by(times, of);
    let (earliest, latest) = (sorted(Ns::saturating_sub), sorted(Ns::saturating_add));
    let (n, n_possibly) = (in_time(&latest)?, in_time(&earliest)?);
    let (lo, _) = proportion_interval(n, of, 0.95)?;
    let (_, hi) = proportion_interval(n_possibly, of, 0.95)?;
    let middles = sorted(|ns, _| ns);
    let exact = times.iter().all(|(_, half)| *half == 0);
    let published = usize::try_from(of).ok()?;
    // The lost ones come last, being infinite.
    let p = |sorted: &[Ns], thousandths| {
        let rank = nearest_rank(published, thousandths);
        sorted.get(rank - 1).map_or(Latency::Lost, |ns| Latency::Ns(*ns))
    };
    let within =
        |thousandths| (!exact).then(|| (p(&earliest, thousandths), p(&latest, thousandths)));
    Some(SpanOverPublished {
        delivered_within: Within { n, n_possibly, ratio: part(n, of), ratio_ci: (lo, hi) },
        p50_ns: Some(p(&middles, 500)),
        p95_ns: Some(p(&middles, 950)),
        p99_ns: Some(p(&middles, 990)),
        p50_within_ns: within(500),
        p95_within_ns: within(950),
        p99_within_ns: within(990),
    })
}

/// The longest time without a delivery, from one message to the next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct DeliveryGap {
    /// How long it was.
    pub longest_gap_ns: Ns,
    /// When it began: the web_acked of the message before, on the gateway's clock.
    pub began_ns: Ns,
    /// The same since the lane's first take.
    pub after_ns: Ns,
    /// The median time from one delivery to the next.
    pub median_gap_ns: Ns,
}

/// Gaps below this are no stall, whatever is usual: 1 s.
const STALL: Ns = 1_000_000_000;

impl DeliveryGap {
    /// Of a lane's messages in the order in which they were taken; `None` for fewer than two
    /// deliveries. A gap across two clocks (another gateway came) has no length.
    pub(crate) fn of(whole: &[&Trace]) -> Option<Self> {
        let first = whole.first()?.stamps.get(Hop::Taken)?;
        let mut ends: Vec<&Stamp> =
            whole.iter().filter_map(|trace| trace.stamps.get(Hop::WebAcked)).collect();
        ends.sort_by_key(|stamp| stamp.ns);
        let gaps = ends.windows(2).filter_map(|pair| Some((pair[1].since(pair[0]).ok()?, pair[0])));
        let mut gaps: Vec<(Ns, &Stamp)> = gaps.collect();
        // The first of equals.
        gaps.sort_by_key(|(gap, began)| (*gap, std::cmp::Reverse(began.ns)));
        let (median, (longest, began)) = (gaps.get(gaps.len() / 2)?.0, *gaps.last()?);
        Some(Self {
            longest_gap_ns: longest,
            began_ns: began.ns,
            after_ns: began.since(first).unwrap_or(0),
            median_gap_ns: median,
        })
    }

    /// When it is much longer than usual: a stall that no mean shows.
    pub(crate) fn said(&self) -> Option<String> {
        let stall = self.longest_gap_ns > STALL
            && self.longest_gap_ns > self.median_gap_ns.saturating_mul(5);
        stall.then(|| {
            format!(
                "nothing was delivered for {}, from {} after the first take on; usual are {} from \
                 one delivery to the next",
                maybe(Some(self.longest_gap_ns)),
                maybe(Some(self.after_ns)),
                maybe(Some(self.median_gap_ns)),
            )
        })
    }
}

#[cfg(test)]
#[path = "delivery_tests.rs"]
mod tests;
