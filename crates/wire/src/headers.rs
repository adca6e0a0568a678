//! What goes along with each request to a service, and comes back with its reply.
//!
//! | header | way | value |
//! |---|---|---|
//! | `traceparent` | request | W3C Trace Context, version 00 |
//! | `hopwatch-clock` | request | the caller's clock by name |
//! | `server-timing` | reply | `wait;dur=0.012, infer;dur=1000.034` in ms (W3C Server Timing) |
//! | `hopwatch-stamps` | reply | `clock=…; received=…; begun=…; done=…; resent=…` in ns of that clock |
//!
//! A service of anyone's may send the last two, either or none.

use hopwatch_model::{ClockId, Ns, TraceId};

/// Request: W3C trace context.
pub const TRACEPARENT: &str = "traceparent";
/// Request: the caller's clock.
pub const CLOCK: &str = "hopwatch-clock";
/// Reply: the server's durations.
pub const SERVER_TIMING: &str = "server-timing";
/// Reply: the server's stamps.
pub const STAMPS: &str = "hopwatch-stamps";

/// The stamps of a service on one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceStamps {
    /// The service's clock.
    pub clock: ClockId,
    /// It had the request.
    pub received: Ns,
    /// It began to work on it, behind its waiting line; `None` when it has no waiting line.
    pub begun: Option<Ns>,
    /// It was done, and answered.
    pub done: Ns,
    /// It sent the answer again, which had been lost; `None` when once was enough.
    pub resent: Option<Ns>,
}

impl ServiceStamps {
    /// The value of `hopwatch-stamps`.
    pub fn header(&self) -> String {
        let begun = self.begun.map(|ns| format!(" begun={ns};")).unwrap_or_default();
        let resent = self.resent.map(|ns| format!("; resent={ns}")).unwrap_or_default();
        let Self { clock, received, done, .. } = self;
        format!("clock={clock}; received={received};{begun} done={done}{resent}")
    }

    /// The value of `server-timing` that says the same in durations.
    pub fn server_timing(&self) -> String {
        match self.begun {
            Some(begun) => format!(
                "wait;dur={}, infer;dur={}",
                millis(begun.saturating_sub(self.received)),
                millis(self.done.saturating_sub(begun))
            ),
            None => format!("handle;dur={}", millis(self.done.saturating_sub(self.received))),
        }
    }

    /// Reads a `hopwatch-stamps` value; `None` when it isn't one. Unknown parts are passed over.
    pub fn parse(value: &str) -> Option<Self> {
        let mut clock = None;
        let (mut received, mut begun, mut done, mut resent) = (None, None, None, None);
        for part in value.split(';') {
            let (key, value) = part.trim().split_once('=')?;
            match key {
                "clock" if !value.is_empty() => clock = Some(ClockId::new(value)),
                "received" => received = Some(value.parse().ok()?),
                "begun" => begun = Some(value.parse().ok()?),
                "done" => done = Some(value.parse().ok()?),
                "resent" => resent = Some(value.parse().ok()?),
                _ => {}
            }
        }
        Some(Self { clock: clock?, received: received?, begun, done: done?, resent })
    }
}

/// The service's own time by a `server-timing` value, in ns: (`wait`, everything else).
///
/// `None` when no metric has a duration. Durations are milliseconds (W3C Server Timing § 2).
pub fn served_ns(value: &str) -> Option<(Ns, Ns)> {
    let (mut wait, mut rest, mut seen) = (0_i64, 0_i64, false);
    for metric in value.split(',') {
        let mut parts = metric.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let duration = parts
            .filter_map(|part| part.split_once('='))
            .find(|(key, _)| key.trim().eq_ignore_ascii_case("dur"))
            .and_then(|(_, value)| value.trim().trim_matches('"').parse::<f64>().ok())
            .filter(|ms| ms.is_finite() && (0.0..1e12).contains(ms));
        if let Some(ms) = duration {
            seen = true;
            #[expect(clippy::cast_possible_truncation, reason = "bounded just above")]
            let ns = (ms * 1e6).round() as Ns;
            if name == "wait" {
                wait = wait.saturating_add(ns);
            } else {
                rest = rest.saturating_add(ns);
            }
        }
    }
    seen.then_some((wait, rest))
}

/// The `traceparent` of a message: its trace id, a parent id made from it, sampled.
pub fn traceparent(id: TraceId) -> String {
    // The parent id must not be all zeros; the trace id's second half is random.
    let text = id.to_string();
    format!("00-{text}-{}-01", &text[16..])
}

/// The trace id of a `traceparent`; `None` when it isn't one.
pub fn trace_id(traceparent: &str) -> Option<TraceId> {
    let mut parts = traceparent.split('-');
    let version = parts.next().filter(|v| v.len() == 2 && *v != "ff")?;
    let id = parts.next()?.parse::<TraceId>().ok().filter(|id| id.0 != [0; 16])?;
    let parent = parts.next().filter(|p| p.len() == 16)?;
    let flags = parts.next().filter(|f| f.len() == 2)?;
    let rest = parts.next();
    let hex = |text: &str| text.bytes().all(|b| b.is_ascii_hexdigit());
    (hex(version) && hex(parent) && hex(flags) && (rest.is_none() || version != "00")).then_some(id)
}

#[expect(clippy::cast_precision_loss, reason = "a duration in ms needs no 53 bits")]
fn millis(ns: Ns) -> f64 {
    ns as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_round_trip() {
        for (begun, resent) in [(Some(2), None), (None, Some(11)), (None, None)] {
            let clock = ClockId::new("b/4026531834");
            let stamps = ServiceStamps { clock, received: 1, begun, done: 9, resent };
            assert_eq!(ServiceStamps::parse(&stamps.header()), Some(stamps));
        }
        for bad in
            ["", "clock=c", "clock=; received=1; done=2", "clock=c; received=x; done=2", "🦀"]
        {
            assert_eq!(ServiceStamps::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn server_timing_of_others_is_understood() {
        assert_eq!(served_ns("wait;dur=1.5, infer;dur=1000.25"), Some((1_500_000, 1_000_250_000)));
        assert_eq!(served_ns(r#"db;desc="x";dur=2, app;dur="3""#), Some((0, 5_000_000)));
        assert_eq!(served_ns("miss, cache;desc=hit"), None);
        assert_eq!(served_ns("infer;dur=-1, infer;dur=NaN"), None);
        let centuries = ["a;dur=999999999999"; 20].join(",");
        assert_eq!(served_ns(&centuries), Some((0, Ns::MAX)));
    }

    #[test]
    fn traceparent_round_trips_and_refuses_nonsense() {
        let id = TraceId(*b"0123456789abcdef");
        assert_eq!(trace_id(&traceparent(id)), Some(id));
        for bad in [
            "",
            "00-00000000000000000000000000000000-0123456789abcdef-01",
            "ff-30313233343536373839616263646566-3839616263646566-01",
            "00-30313233343536373839616263646566-38396162636465-01",
            "00-30313233343536373839616263646566-3839616263646566-01-x",
        ] {
            assert_eq!(trace_id(bad), None, "{bad}");
        }
    }
}
