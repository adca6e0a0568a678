//! What the page may do, told to the browser in headers.

use axum::http::{HeaderName, HeaderValue, header};
use hopwatch_wire::controls::Controls;

/// Where the two feeds are, on the page's host, and what the page may set.
#[derive(Clone, Copy, Debug)]
pub struct Ports {
    /// The broadcaster's port.
    pub broadcaster: u16,
    /// The collector's port.
    pub collector: u16,
    /// The ports of what it may set.
    pub controls: Controls,
    /// Whether all of them, and the page's own server, speak TLS.
    pub secure: bool,
}

/// Kept in a file of its own, which the browser tests read as well.
const TEMPLATE: &str = include_str!("content-security-policy.txt");

/// The end of what the page may connect to, when there is nothing that it may set.
const LAST_CONNECTION: &str = "http://{host}:{collector_port}";

/// The host for those who didn't say how they reached us.
const LOOPBACK: &str = "127.0.0.1";

/// Headers that are the same on every answer. Opener and embedder policy make the page
/// cross-origin isolated.
pub const FIXED: [(HeaderName, &str); 5] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-embedder-policy"), "require-corp"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// The Content-Security-Policy for a page that was reached by this `Host` header.
pub fn content_security_policy(host: Option<&HeaderValue>, ports: Ports) -> HeaderValue {
    let host = host.and_then(|value| value.to_str().ok()).and_then(host_source);
    let Controls { ai_port, robots_port, network_port, .. } = ports.controls;
    let controls: Vec<String> = [ai_port, robots_port, network_port]
        .iter()
        .flatten()
        .map(|port| format!(" http://{{host}}:{port}"))
        .collect();
    let text = TEMPLATE
        .trim_end()
        .replace(LAST_CONNECTION, &format!("{LAST_CONNECTION}{}", controls.concat()))
        .replace("{host}", host.unwrap_or(LOOPBACK))
        .replace("{broadcaster_port}", &ports.broadcaster.to_string())
        .replace("{collector_port}", &ports.collector.to_string());
    let text = if ports.secure {
        text.replace("ws://", "wss://").replace("http://", "https://")
    } else {
        text
    };
    // `host_source` lets nothing through that a header may not hold: the other arm can't happen,
    // and denies everything.
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("default-src 'none'"))
}

/// The host of a `Host` header as a policy names it; `None` when it isn't one.
///
/// The grammar of a policy has no IPv6 addresses (CSP 3, host-source), and browsers ignore a
/// source that has one: there any host stands, with the port alone as the bound.
fn host_source(header: &str) -> Option<&str> {
    if let Some(rest) = header.strip_prefix('[') {
        let (address, port) = rest.split_once(']')?;
        let is_address = address.parse::<std::net::Ipv6Addr>().is_ok();
        return (is_address && (port.is_empty() || is_port(port.strip_prefix(':')?)))
            .then_some("*");
    }
    let (host, port) = header.split_once(':').map_or((header, None), |(h, p)| (h, Some(p)));
    let is_name = (1..=253).contains(&host.len())
        && host.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'.');
    (is_name && port.is_none_or(is_port)).then_some(host)
}

fn is_port(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_that_may_stand_in_a_policy() {
        for (header, host) in [
            ("localhost:3000", Some("localhost")),
            ("127.0.0.1:3000", Some("127.0.0.1")),
            ("robot-lab.example", Some("robot-lab.example")),
            ("[::1]:3000", Some("*")),
            ("[::1]", Some("*")),
            ("[::1]x", None),
            ("[evil]:3000", None),
            ("", None),
            (":3000", None),
            ("a:b", None),
            ("a:", None),
            ("*:3000", None),
            ("a; script-src *", None),
            ("a b", None),
            ("a_b", None),
        ] {
            assert_eq!(host_source(header), host, "{header}");
        }
        assert_eq!(host_source(&"a".repeat(254)), None);
    }

    #[test]
    fn a_hostile_host_gets_loopback() {
        let ports =
            Ports { broadcaster: 1, collector: 2, controls: Controls::default(), secure: false };
        let hostile = HeaderValue::from_static("x; script-src 'unsafe-inline'");
        for host in [Some(&hostile), None] {
            let policy = content_security_policy(host, ports);
            let policy = policy.to_str().unwrap();
            assert!(policy.contains("connect-src 'self' ws://127.0.0.1:1 ws://127.0.0.1:2"));
            assert!(!policy.contains("unsafe") && !policy.contains('{'), "{policy}");
            let secure = content_security_policy(host, Ports { secure: true, ..ports });
            let secure = secure.to_str().unwrap();
            assert!(secure.contains("connect-src 'self' wss://127.0.0.1:1 wss://127.0.0.1:2"));
            assert!(!secure.contains("ws://") && !secure.contains("http://"), "{secure}");
        }
    }
}
