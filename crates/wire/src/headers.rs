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

/// Room for what such a header usually says.
const USUAL: usize = 160;

/// Written and read for every message: formatting and floats would take several times as long.
fn push(text: &mut String, name: &str, ns: Ns) {
    text.push_str(name);
    text.push_str(itoa::Buffer::new().format(ns));
}

/// In ms, to the ns.
fn push_millis(text: &mut String, name: &str, ns: Ns) {
    const MS: u64 = 1_000_000;
    text.push_str(name);
    if ns < 0 {
        text.push('-');
    }
    let ns = ns.unsigned_abs();
    text.push_str(itoa::Buffer::new().format(ns / MS));
    text.push('.');
    // The one in front keeps the zeros that follow it.
    text.push_str(&itoa::Buffer::new().format(MS + ns % MS)[1..]);
}

/// A number of ms in plain digits, in ns; `None`: it is written otherwise, or has more digits.
fn plain_millis(value: &str) -> Option<Ns> {
    const MOST: usize = 9;
    let (whole, part) = value.split_once('.').unwrap_or((value, ""));
    if whole.is_empty() || whole.len() > MOST || part.len() > 6 {
        return None;
    }
    let zeros = std::iter::repeat_n(b'0', 6 - part.len());
    whole
        .bytes()
        .chain(part.bytes())
        .chain(zeros)
        .try_fold(0, |ns: Ns, byte| byte.is_ascii_digit().then(|| 10 * ns + Ns::from(byte - b'0')))
}

impl ServiceStamps {
    /// The value of `hopwatch-stamps`.
    pub fn header(&self) -> String {
        let Self { clock, received, begun, done, resent } = self;
        let mut text = String::with_capacity(USUAL);
        text.push_str("clock=");
        text.push_str(clock.as_str());
        push(&mut text, "; received=", *received);
        if let Some(begun) = begun {
            push(&mut text, "; begun=", *begun);
        }
        push(&mut text, "; done=", *done);
        if let Some(resent) = resent {
            push(&mut text, "; resent=", *resent);
        }
        text
    }

    /// The value of `server-timing` that says the same in durations.
    pub fn server_timing(&self) -> String {
        let mut text = String::with_capacity(USUAL);
        match self.begun {
            Some(begun) => {
                push_millis(&mut text, "wait;dur=", begun.saturating_sub(self.received));
                push_millis(&mut text, ", infer;dur=", self.done.saturating_sub(begun));
            }
            None => {
                push_millis(&mut text, "handle;dur=", self.done.saturating_sub(self.received));
            }
        }
        text
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

/// The media type by a `content-type` value, without parameters and in lower case; empty when none is
/// given.
pub fn media_type(content_type: Option<&str>) -> String {
    let media_type = content_type.and_then(|of| of.split(';').next()).unwrap_or_default();
    media_type.trim().to_ascii_lowercase()
}

/// Whether a media type (as of [`media_type`]) says that a body is JSON (RFC 8259, RFC 6839).
pub fn is_json(media_type: &str) -> bool {
    media_type == "application/json" || media_type.ends_with("+json")
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
            .and_then(|(_, value)| millis(value.trim().trim_matches('"')));
        if let Some(ns) = duration {
            seen = true;
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
    ["00-", &text, "-", &text[16..], "-01"].concat()
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

/// A duration in ms as a service writes it, in ns.
fn millis(value: &str) -> Option<Ns> {
    let plain = plain_millis(value);
    let float = || value.parse::<f64>().ok().filter(|ms| (0.0..1e12).contains(ms));
    #[expect(clippy::cast_possible_truncation, reason = "bounded just above")]
    plain.or_else(|| float().map(|ms| (ms * 1e6).round() as Ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_round_trip() {
        for (begun, resent) in [(Some(2), None), (None, Some(11)), (None, None)] {
            let clock = ClockId::new("b/4026531834");
            let stamps = ServiceStamps { clock, received: 1, begun, done: 9, resent };
            assert_eq!(ServiceStamps::parse(&stamps.header()), Some(stamps.clone()));
            let told = served_ns(&stamps.server_timing());
            let all = if begun.is_some() { (1, 7) } else { (0, 8) };
            assert_eq!(told, Some(all), "{}", stamps.server_timing());
        }
        for bad in
            ["", "clock=c", "clock=; received=1; done=2", "clock=c; received=x; done=2", "🦀"]
        {
            assert_eq!(ServiceStamps::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn json_is_told_by_its_media_type() {
        for (value, json) in [
            (Some("application/json"), true),
            (Some("Application/JSON; charset=utf-8"), true),
            (Some("application/problem+json"), true),
            (Some("text/html"), false),
            (Some(""), false),
            (None, false),
        ] {
            assert_eq!(is_json(&media_type(value)), json, "{value:?}");
        }
    }

    #[test]
    fn server_timing_of_others_is_understood() {
        assert_eq!(served_ns("wait;dur=1.5, infer;dur=1000.25"), Some((1_500_000, 1_000_250_000)));
        assert_eq!(served_ns(r#"db;desc="x";dur=2, app;dur="3""#), Some((0, 5_000_000)));
        assert_eq!(served_ns("miss, cache;desc=hit"), None);
        assert_eq!(served_ns("infer;dur=-1, infer;dur=NaN"), None);
        for (text, ns) in [
            ("0", Some(0)),
            ("12.5", Some(12_500_000)),
            (".5", Some(500_000)),
            ("1e2", Some(100_000_000)),
            ("0.0000004", Some(0)),
            ("0.0000006", Some(1)),
            ("123456789012.000001", Some(123_456_789_012_000_001)),
            ("1.2.3", None),
            ("", None),
            (".", None),
            ("1 2", None),
        ] {
            let near = |found: Ns| (found - ns.unwrap_or(-9)).abs() <= found / (1 << 50);
            let found = served_ns(&format!("a;dur={text}")).map(|(_, rest)| rest);
            assert!(found.map_or(ns.is_none(), near), "{text}: {found:?}");
        }
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
