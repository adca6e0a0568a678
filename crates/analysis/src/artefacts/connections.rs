//! What TCP's connections do: segments that are sent again, and servers that close idle ones.

use super::{Context, Look, MS, SECOND, SERVICES, State, calls};
use crate::parts::Parts;
use crate::units::maybe;
use hopwatch_model::{Failure, Hop, Ns, Outcome, Stage, Trace};
use hopwatch_stats::quantile;
use std::collections::BTreeMap;

/// A lost segment is sent again after 200 ms at the earliest (TCP_RTO_MIN).
pub(super) const RESENT: Ns = 190 * MS;
/// When it is: after 200 ms, and twice as long whenever that is lost, too (RFC 6298), and what the
/// time-out has beyond its least; about 200, 400 (where that was the first), 600, 800 or 1400 ms.
const TIME_OUTS: [std::ops::Range<Ns>; 4] =
    [190 * MS..300 * MS, 390 * MS..500 * MS, 590 * MS..950 * MS, 1_390 * MS..1_600 * MS];
/// Fewer of them are a stall of the machine as well.
const FEWEST_RESENT: usize = 3;
/// How often calls took as much longer as a time-out; those that overlap are one stall.
fn time_outs(parts: &[Parts], service: usize, middle: Ns) -> usize {
    let resent = |p: &Parts| {
        let call = p.calls[service]?;
        let late = TIME_OUTS.iter().any(|range| range.contains(&(call - middle)));
        late.then_some((p.taken, p.taken.saturating_add(call)))
    };
    let mut spans: Vec<(Ns, Ns)> = parts.iter().filter_map(resent).collect();
    spans.sort_unstable();
    let (mut times, mut end) = (0, Ns::MIN);
    for (from, to) in spans {
        times += usize::from(from >= end);
        end = end.max(to);
    }
    times
}

pub(super) fn retransmission(parts: &[Parts], context: &Context<'_>) -> Look {
    if !context.is_tcp() {
        return (State::RuledOut, 0, "the link has no TCP".to_owned(), "");
    }
    let (mut n, mut evidence, mut open) = (0, Vec::new(), Vec::new());
    for (service, name) in SERVICES.iter().enumerate() {
        let calls = calls(parts, service);
        let Some(middle) = quantile(&calls, 500).filter(|ns| *ns < RESENT / 2) else { continue };
        let late = |least: Ns| calls.iter().filter(|ns| **ns >= middle + least).count();
        let resent = late(RESENT);
        // A busy machine's tail falls off towards 200 ms; a time-out begins there.
        if resent > 0 && resent >= late(RESENT / 3) - resent {
            let text = format!(
                "{resent} of {} calls to the {name} took 200 ms or more beyond their P50 of {}",
                calls.len(),
                maybe(Some(middle))
            );
            if time_outs(parts, service, middle) >= FEWEST_RESENT {
                n += resent;
                evidence.push(text);
            } else {
                open.push(text);
            }
        }
    }
    if evidence.is_empty() && !open.is_empty() {
        let seen = format!(
            "{}: fewer than {FEWEST_RESENT} as long as a time-out and apart; a stall of the \
             machine looks the same",
            open.join("; ")
        );
        return (State::Unknown, 0, seen, "");
    }
    if evidence.is_empty() {
        let none = "no tail of calls that begins at 200 ms".to_owned();
        return (State::RuledOut, 0, none, "");
    }
    let fix = "a lost segment waits for 200 ms or more (tcp_rto_min): find the loss; where it \
               stays, this is what a link that sends again sooner, as udp-retry, can give back";
    (State::Found, n, evidence.join("; "), fix)
}

pub(super) fn idle_race(context: &Context<'_>) -> Look {
    let broken =
        |failed: &BTreeMap<Failure, u64>| failed.get(&Failure::Broken).copied().unwrap_or(0);
    let n = broken(&context.ledger.ai_failed).saturating_add(broken(&context.ledger.web_failed));
    let seen = format!("{n} requests ended with their connection");
    if n == 0 || !context.is_tcp() {
        return (State::RuledOut, 0, seen, "");
    }
    let idle = idle_and_broken(context.traces);
    if idle == 0 {
        let seen = format!("{seen}, none of them one that had been idle: why is not known");
        return (State::Unknown, 0, seen, "");
    }
    let fix = "let the client give idle connections up before the server does: its idle time \
               below the server's keep-alive";
    let seen = format!("{seen}, {idle} of them after 1 s or more without a request");
    (State::Found, idle, seen, fix)
}

/// Requests that ended with a connection that was open already, and had had nothing to do for as
/// long as a server might wait before it closes one.
fn idle_and_broken(traces: &[&Trace]) -> usize {
    let broken = |trace: &&&Trace| {
        let (stage, sent, connecting) = match trace.outcome {
            Outcome::ServiceFailed(Stage::Ai, Failure::Broken) => {
                (Stage::Ai, Hop::AiSent, Hop::AiConnecting)
            }
            Outcome::ServiceFailed(Stage::Web, Failure::Broken) => {
                (Stage::Web, Hop::WebSent, Hop::WebConnecting)
            }
            _ => return false,
        };
        let Some(at) = trace.stamps.get(sent).map(|stamp| stamp.ns) else { return false };
        if trace.stamps.get(connecting).is_some() {
            return false;
        }
        // The last thing that is known of this service's connections, whichever it was.
        let replied = if stage == Stage::Ai { Hop::AiAnswered } else { Hop::WebAcked };
        let of = |other: &&Trace| {
            let known = [other.stamps.get(sent), other.stamps.get(replied)];
            known.into_iter().flatten().map(|stamp| stamp.ns).filter(|ns| *ns < at).max()
        };
        traces.iter().filter_map(of).max().is_some_and(|last| at.saturating_sub(last) >= SECOND)
    };
    traces.iter().filter(broken).count()
}
