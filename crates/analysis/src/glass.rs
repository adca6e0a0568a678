//! What happens at the browsers: across two clocks, so the push leg is an interval.

use crate::clocks::Clocks;
use crate::decompose::Decomposition;
use hopwatch_clocksync::{Bounds, Exchange, Offset};
use hopwatch_model::{ClientTrace, Hop, Ns, Trace};
use std::collections::BTreeMap;

/// One message at one browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glass {
    /// The page.
    pub client: String,
    /// The smallest and the largest that frame_sent → browser_received can have been.
    pub push_ns: (Ns, Ns),
    /// web_received → frame_sent, when the trace is known and the clock is one.
    pub fanout_ns: Option<Ns>,
    /// browser_received → painted, on the browser's clock; `None` when it did not paint.
    pub paint_ns: Option<Ns>,
    /// published → painted, as an interval.
    pub glass_ns: Option<(Ns, Ns)>,
    /// The smallest step of the browser's clock.
    pub resolution_ns: Ns,
}

impl Glass {
    /// What an acknowledgement tells of its message: the trace and its legs, if they are known
    /// already.
    pub fn of(
        ack: &ClientTrace,
        push_ns: (Ns, Ns),
        message: Option<(&Trace, &Decomposition)>,
        clocks: &Clocks,
    ) -> Self {
        let received = message.and_then(|(trace, _)| trace.stamps.get(Hop::WebReceived));
        let paint_ns = ack.painted.as_ref().and_then(|p| p.since(&ack.received).ok());
        let glass_ns = message.zip(paint_ns).and_then(|((trace, parts), paint)| {
            let (published, half) = parts.published?;
            let acked = trace.stamps.get(Hop::WebAcked)?;
            // The broadcaster may run on another clock than the gateway.
            let sent = clocks.place(&ack.frame_sent, &acked.clock, acked.ns).ok()?;
            let known =
                published.checked_add(sent.ns.checked_sub(acked.ns)?)?.checked_add(paint)?;
            let open = half.saturating_add(sent.half_ns);
            Some((
                known.saturating_add(push_ns.0).saturating_sub(open),
                known.saturating_add(push_ns.1).saturating_add(open),
            ))
        });
        Self {
            client: ack.client.clone(),
            push_ns,
            fanout_ns: received.and_then(|received| ack.frame_sent.since(received).ok()),
            paint_ns,
            glass_ns,
            resolution_ns: ack.resolution_ns,
        }
    }

    /// The middle of published → painted, and its half-width.
    pub fn whole(&self) -> Option<(Ns, Ns)> {
        self.glass_ns.map(middle)
    }

    /// The middle of the push leg's interval, and its half-width.
    pub fn push(&self) -> (Ns, Ns) {
        middle(self.push_ns)
    }
}

fn middle((lo, hi): (Ns, Ns)) -> (Ns, Ns) {
    let bounds = Bounds { lo, hi };
    (bounds.middle(), bounds.half_width())
}

/// Relates each browser's clock to its broadcaster's, exchange by exchange.
///
/// Every acknowledged frame is an exchange: frame_sent (broadcaster), received and ack_sent
/// (browser), ack_received (broadcaster). Acknowledgements come in the order of ack_received.
#[derive(Clone, Debug, Default)]
pub struct GlassTracker {
    offsets: BTreeMap<String, Offset>,
}

impl GlassTracker {
    /// No browser yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes an acknowledgement in: the interval of its push leg (frame_sent →
    /// browser_received), as far as all exchanges so far prove it.
    pub fn observe(&mut self, ack: &ClientTrace) -> (Ns, Ns) {
        let offset = self.offsets.entry(ack.client.clone()).or_default();
        // A browser's clock goes in steps: a reading may be a step too low (it is rounded down),
        // or, where it is jittered against timing attacks, a step too high. Each reading is an
        // interval, and both ends count.
        let step = ack.resolution_ns.max(0);
        let exchange = Exchange {
            near_sent: ack.frame_sent.ns,
            far_received: ack.received.ns.saturating_add(step),
            far_sent: ack.ack_sent.ns.saturating_sub(step),
            near_received: ack.ack_received.ns,
        };
        offset.observe(&exchange);
        let raw = ack.received.ns.saturating_sub(ack.frame_sent.ns);
        // Where nothing relates the two clocks, this acknowledgement contradicts itself: the truth
        // may lie anywhere between what it says.
        let (lo, hi) = offset.at(ack.ack_received.ns).unwrap_or_else(|| {
            let (a, b) = exchange.bounds();
            (a.min(b), a.max(b))
        });
        (raw.saturating_sub(hi).saturating_sub(step), raw.saturating_sub(lo).saturating_add(step))
    }

    /// The same for some browsers alone.
    #[must_use]
    pub fn only(&self, wanted: impl Fn(&str) -> bool) -> Self {
        let of = self.offsets.iter().filter(|(client, _)| wanted(client));
        Self { offsets: of.map(|(client, offset)| (client.clone(), offset.clone())).collect() }
    }

    /// How many epochs a browser's clock has had: more than one means that it stepped.
    pub fn epochs(&self) -> impl Iterator<Item = (&str, u32)> {
        self.offsets.iter().map(|(client, offset)| (client.as_str(), offset.epochs()))
    }

    /// The interval of each browser's offset (browser − broadcaster) as of `now`.
    pub fn bounds(&self, now: Ns) -> impl Iterator<Item = (&str, (Ns, Ns))> {
        self.offsets
            .iter()
            .filter_map(move |(client, offset)| offset.at(now).map(|at| (client.as_str(), at)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lane::tests::{GATEWAY, trace_of};
    use hopwatch_model::{ClockId, Stamp};

    #[test]
    fn push_is_an_interval_that_holds_the_truth() {
        let server = ClockId::new(GATEWAY);
        let browser = ClockId::browser("c");
        let trace = trace_of(&[(Hop::WebReceived, 900), (Hop::WebAcked, 3_000)]);
        let mut tracker = GlassTracker::new();
        // The browser's clock is 1,000,000 ahead; push takes 300, paint 50, the ack's way 200.
        let ahead = 1_000_000;
        let ack = ClientTrace {
            id: trace.id,
            client: "c".into(),
            frame_sent: Stamp::new(server.clone(), 1_000),
            received: Stamp::new(browser.clone(), 1_300 + ahead),
            painted: Some(Stamp::new(browser.clone(), 1_350 + ahead)),
            ack_sent: Stamp::new(browser, 1_360 + ahead),
            ack_received: Stamp::new(server, 1_560),
            resolution_ns: 100,
        };
        let clocks = Clocks::default();
        let parts = Decomposition { published: Some((2_500, 0)), ..Decomposition::default() };
        let push = tracker.observe(&ack);
        let glass = Glass::of(&ack, push, Some((&trace, &parts)), &clocks);
        assert_eq!((glass.fanout_ns, glass.paint_ns), (Some(100), Some(50)));
        assert!(glass.push_ns.0 <= 300 && 300 <= glass.push_ns.1, "{:?}", glass.push_ns);
        // All that one exchange leaves open is the time on the wire, both ways, plus drift.
        assert!(glass.push_ns.1 - glass.push_ns.0 <= 500 + 4 * 50 + 4 * 100, "{:?}", glass.push_ns);
        let (lo, hi) = glass.glass_ns.unwrap();
        assert!(lo <= 850 && 850 <= hi);
        assert_eq!(Glass::of(&ack, glass.push_ns, None, &clocks).fanout_ns, None);
    }
    proptest::proptest! {
        /// Coarse browser clocks (1 ms in Firefox) round stamps down: the interval still holds
        /// the truth, and no step of the clock is seen where there was none.
        #[test]
        fn coarse_clocks_keep_the_truth(
            ahead in -1_000_000_000i64..1_000_000_000,
            step in 1i64..2_000_000,
            ways in proptest::collection::vec((0i64..300_000, 0i64..20_000_000, 0i64..300_000), 1..60),
        ) {
            let (server, browser) = (ClockId::new(GATEWAY), ClockId::browser("c"));
            let floor = |near: Ns| (near + ahead).div_euclid(step) * step;
            let mut tracker = GlassTracker::new();
            let mut now = 0;
            for (out, paint, back) in ways {
                let (received, sent) = (now + out, now + out + paint);
                let ack = ClientTrace {
                    id: trace_of(&[]).id,
                    client: "c".into(),
                    frame_sent: Stamp::new(server.clone(), now),
                    received: Stamp::new(browser.clone(), floor(received)),
                    painted: None,
                    ack_sent: Stamp::new(browser.clone(), floor(sent)),
                    ack_received: Stamp::new(server.clone(), sent + back),
                    resolution_ns: step,
                };
                let (lo, hi) = tracker.observe(&ack);
                proptest::prop_assert!(lo <= out && out <= hi, "{} not in [{}, {}]", out, lo, hi);
                now = sent + back + 1_000_000;
            }
            proptest::prop_assert!(tracker.epochs().all(|(_, epochs)| epochs == 1));
        }
    }
}
