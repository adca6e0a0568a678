//! What makes HTTP look slow without being HTTP: each looked for, and found or ruled out, with
//! what to put right first and what that would gain (METHOD 20).

mod connections;

use crate::lane::LaneInfo;
use crate::parts::Parts;
use crate::stability::Stability;
use crate::units::maybe;
use connections::{RESENT, idle_race, retransmission};
use hopwatch_model::{Ledger, Ns, Trace};
use hopwatch_stats::{Modes, quantile};
use serde::Serialize;
use std::fmt::Write;

const MS: Ns = 1_000_000;
/// Fewer messages show nothing of how often something happens.
const FEWEST: usize = 20;
/// Linux delays an acknowledgement by 40 ms at least (TCP_DELACK_MIN), and its tick and both
/// programs add to it: measured are 44 ms (METHOD 20). In ns.
pub const DELAYED_ACK: std::ops::RangeInclusive<Ns> = 38 * MS..=50 * MS;
/// What to do about Nagle's algorithm against delayed acknowledgements.
pub const NAGLE_FIX: &str = "set TCP_NODELAY on both ends, or write head and body in one go, before \
                             another transport is thought of";
/// As wide beside it: a path that takes about 40 ms fills these, too.
const BESIDE: std::ops::RangeInclusive<Ns> = 26 * MS..=62 * MS;
/// What a path of no more than some milliseconds takes.
const NEAR: Ns = 5 * MS;
/// A lost SYN is sent again after 1 s, and then later and later (RFC 6298; `tcp(7)`).
const SECOND: Ns = 1_000 * MS;
/// What begins within this of the first message is the start.
const START: Ns = 5_000 * MS;
/// Less than this is no cost: a tenth of the default margin.
const SMALL: Ns = MS;

/// What makes a link look slow, or a comparison unfair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ArtefactKind {
    /// Nagle's algorithm on one side, delayed acknowledgements on the other: 40 ms a call.
    NagleDelayedAck,
    /// A connection's first packet was lost: 1 s until it is sent again.
    LostSyn,
    /// A connection is opened for many messages.
    ColdConnections,
    /// A segment was lost: 200 ms until TCP sends it again.
    TcpRetransmission,
    /// The gateway works on one message at a time, and others wait.
    SerialGateway,
    /// Decoding and encoding messages takes long.
    EncodeCost,
    /// Requests met a connection that the server was closing.
    IdleRace,
    /// The communication has two modes, none of the above.
    TwoModes,
    /// The first seconds are slower than the rest.
    StartUp,
    /// The same call takes another time at another rate.
    RateEffect,
}

impl ArtefactKind {
    /// For a sentence.
    pub const fn title(self) -> &'static str {
        match self {
            Self::NagleDelayedAck => "Nagle with delayed ACK",
            Self::LostSyn => "lost SYN",
            Self::ColdConnections => "cold connections",
            Self::TcpRetransmission => "TCP retransmission",
            Self::SerialGateway => "serial gateway",
            Self::EncodeCost => "encoding cost",
            Self::IdleRace => "idle connection race",
            Self::TwoModes => "two modes",
            Self::StartUp => "start-up transient",
            Self::RateEffect => "rate effect",
        }
    }

    /// Whether it can be put right without another transport, so that a comparison with it says
    /// nothing of transports.
    pub const fn comes_first(self) -> bool {
        matches!(
            self,
            Self::NagleDelayedAck
                | Self::LostSyn
                | Self::ColdConnections
                | Self::SerialGateway
                | Self::EncodeCost
        )
    }

    /// What each message would save without it.
    fn savings(self, parts: &[Parts]) -> Vec<Ns> {
        let of = |saving: &dyn Fn(&Parts) -> Ns| parts.iter().map(saving).collect();
        match self {
            Self::NagleDelayedAck => {
                let bases = [0, 1].map(|i| base(&calls(parts, i)));
                of(&|p| {
                    let late = |i: usize| {
                        let call = p.calls[i].unwrap_or(0);
                        let excess = call.saturating_sub(bases[i]);
                        // Without the 40 ms, and not without the call itself.
                        if DELAYED_ACK.contains(&excess) { excess.min(call) } else { 0 }
                    };
                    late(0).saturating_add(late(1))
                })
            }
            Self::LostSyn => {
                of(&|p| p.connects.iter().flatten().filter(|ns| is_lost_syn(**ns)).sum())
            }
            Self::ColdConnections => of(&|p| p.connects.iter().flatten().sum()),
            Self::TcpRetransmission => {
                let middles = [0, 1].map(|i| quantile(&calls(parts, i), 500).unwrap_or(0));
                of(&|p| {
                    let late = |i: usize| p.calls[i].unwrap_or(0).saturating_sub(middles[i]);
                    [0, 1].map(late).into_iter().filter(|ns| *ns >= RESENT).sum()
                })
            }
            Self::SerialGateway => of(&|p| p.queue.max(0)),
            Self::EncodeCost => of(&|p| p.encode.max(0)),
            Self::IdleRace | Self::TwoModes | Self::StartUp | Self::RateEffect => {
                vec![0; parts.len()]
            }
        }
    }
}

/// Whether something was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It is there.
    Found,
    /// It was looked for, and isn't there.
    RuledOut,
    /// It can't be told, or there was too little to look at.
    Unknown,
}

/// One artefact in one lane.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Artefact {
    /// Which.
    pub kind: ArtefactKind,
    /// Whether it is there.
    pub state: State,
    /// In how many messages.
    pub n: usize,
    /// Of how many that were looked at.
    pub of: usize,
    /// What was seen.
    pub evidence: String,
    /// What to do about it; empty unless found.
    pub fix: String,
    /// By how much the communication's P50 would be shorter; `null` unless found and known.
    pub gain_p50_ns: Option<Ns>,
    /// The same of its P99, of the messages delivered.
    pub gain_p99_ns: Option<Ns>,
}

/// The artefacts of one lane of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LaneArtefacts {
    /// The lane.
    pub lane: String,
    /// Each kind that can be seen in one run.
    pub artefacts: Vec<Artefact>,
}

impl LaneArtefacts {
    /// In sentences: those found, then the names of the others.
    pub(crate) fn said(&self) -> Vec<String> {
        let of = |state| self.artefacts.iter().filter(move |a| a.state == state);
        let names = |state| of(state).map(|a| a.kind.title()).collect::<Vec<_>>().join(", ");
        let mut said: Vec<String> = of(State::Found).map(Artefact::said).collect();
        for (what, names) in
            [("ruled out", names(State::RuledOut)), ("not known", names(State::Unknown))]
        {
            if !names.is_empty() {
                said.push(format!("{what}: {names}"));
            }
        }
        said
    }
}

impl Artefact {
    fn said(&self) -> String {
        let mut said = format!("{}: {}; {}", self.kind.title(), self.evidence, self.fix);
        if let Some((p50, p99)) = self.gain_p50_ns.zip(self.gain_p99_ns) {
            let (p50, p99) = (maybe(Some(p50)), maybe(Some(p99)));
            let _infallible = write!(said, "; it would gain {p50} at P50 and {p99} at P99");
        }
        said
    }
}

/// What besides the messages is looked at.
pub(crate) struct Context<'a> {
    pub(crate) info: &'a LaneInfo,
    pub(crate) stability: &'a Stability,
    pub(crate) ledger: &'a Ledger,
    /// All messages, failed ones too.
    pub(crate) traces: &'a [&'a Trace],
}

impl Context<'_> {
    fn is_tcp(&self) -> bool {
        !["udp", "quic"].iter().any(|link| self.info.transport.starts_with(link))
    }
}

/// What a look came to: (state, in how many, what was seen, what to do).
type Look = (State, usize, String, &'static str);

/// All kinds that one run can show, of the messages that went the whole way.
pub(crate) fn artefacts(parts: &[Parts], context: &Context<'_>) -> Vec<Artefact> {
    let nagle = nagle(parts, context);
    let known = nagle.0 == State::Found;
    let looks: [(ArtefactKind, Look); 9] = [
        (ArtefactKind::NagleDelayedAck, nagle),
        (ArtefactKind::LostSyn, lost_syn(parts, context)),
        (ArtefactKind::ColdConnections, cold(parts)),
        (ArtefactKind::TcpRetransmission, retransmission(parts, context)),
        (ArtefactKind::SerialGateway, serial(parts, context)),
        (ArtefactKind::EncodeCost, encode(parts)),
        (ArtefactKind::IdleRace, idle_race(context)),
        (ArtefactKind::TwoModes, two_modes(parts, known)),
        (ArtefactKind::StartUp, start_up(parts)),
    ];
    let few = parts.len() < FEWEST;
    looks
        .into_iter()
        .map(|(kind, (state, n, evidence, fix))| {
            // What isn't in a few messages may still be in more.
            let state = if few && state == State::RuledOut { State::Unknown } else { state };
            // Without a steady state times tell how long the run was (METHOD 11), and nothing else.
            let unstable = context.stability.unstable;
            let (state, n, evidence) = if unstable && kind != ArtefactKind::SerialGateway {
                (State::Unknown, 0, "the lane was unstable".to_owned())
            } else {
                (state, n, evidence)
            };
            let found = state == State::Found;
            let (gain_p50_ns, gain_p99_ns) =
                if found && !unstable { gains(parts, kind) } else { (None, None) };
            let fix = if found { fix.to_owned() } else { String::new() };
            Artefact { kind, state, n, of: parts.len(), evidence, fix, gain_p50_ns, gain_p99_ns }
        })
        .collect()
}

/// The communication of each message without those found that can be put right first.
pub(crate) fn without(parts: &[Parts], artefacts: &[Artefact]) -> Vec<Ns> {
    let mut left: Vec<Ns> = parts.iter().map(Parts::communication).collect();
    let found = |kind| artefacts.iter().any(|a| a.kind == kind && a.state == State::Found);
    for artefact in artefacts.iter().filter(|a| a.state == State::Found && a.kind.comes_first()) {
        // Warm connections lose no SYN: once is enough.
        if artefact.kind == ArtefactKind::LostSyn && found(ArtefactKind::ColdConnections) {
            continue;
        }
        for (left, saving) in left.iter_mut().zip(artefact.kind.savings(parts)) {
            *left = left.saturating_sub(saving).max(0);
        }
    }
    left
}

fn gains(parts: &[Parts], kind: ArtefactKind) -> (Option<Ns>, Option<Ns>) {
    let communication: Vec<Ns> = parts.iter().map(Parts::communication).collect();
    let with = sorted(communication.iter().copied());
    let rest = match kind {
        ArtefactKind::StartUp => {
            let (_, rest) = at_start(parts);
            sorted(rest.iter().map(|p| p.communication()))
        }
        // What makes the upper mode isn't known, and so not whether it can be put right.
        ArtefactKind::TwoModes | ArtefactKind::IdleRace | ArtefactKind::RateEffect => {
            return (None, None);
        }
        _ => {
            let savings = kind.savings(parts);
            sorted(communication.iter().zip(savings).map(|(ns, less)| ns.saturating_sub(less)))
        }
    };
    let gain = |p| Some(quantile(&with, p)?.saturating_sub(quantile(&rest, p)?).max(0));
    (gain(500), gain(990))
}

fn sorted(values: impl Iterator<Item = Ns>) -> Vec<Ns> {
    let mut values: Vec<Ns> = values.collect();
    values.sort_unstable();
    values
}

const SERVICES: [&str; 2] = ["AI service", "web service"];

/// The request and reply times of one service, ascending.
fn calls(parts: &[Parts], service: usize) -> Vec<Ns> {
    sorted(parts.iter().filter_map(|p| p.calls[service]))
}

/// What a call takes without anything: the fastest, unless even that one had to wait for 40 ms.
fn base(calls: &[Ns]) -> Ns {
    calls.first().copied().filter(|ns| *ns < 30 * MS).unwrap_or(0)
}

fn nagle(parts: &[Parts], context: &Context<'_>) -> Look {
    if !context.is_tcp() {
        return (State::RuledOut, 0, "the link has no TCP".to_owned(), "");
    }
    let (mut most, mut evidence, mut open) = (0, Vec::new(), Vec::new());
    for (service, name) in SERVICES.iter().enumerate() {
        let calls = calls(parts, service);
        let base = base(&calls);
        let within = |range: &std::ops::RangeInclusive<Ns>| {
            calls.iter().filter(|ns| range.contains(&ns.saturating_sub(base))).count()
        };
        let (n, around) = (within(&DELAYED_ACK), within(&BESIDE));
        let many = n >= 3 && n * 50 >= calls.len();
        let alone = n >= 2 * (around - n);
        let opened = sorted(parts.iter().filter_map(|p| p.connects[service]));
        let far = opened.first().is_some_and(|ns| *ns >= 30 * MS);
        if many && alone && !far {
            let mut text = format!(
                "{n} of {} calls to the {name} took 40 ms longer than the call itself",
                calls.len()
            );
            if base == 0 {
                text = format!(
                    "{n} of {} calls to the {name} took about 40 ms, and none was fast; a path \
                     whose round trip takes 40 ms would look the same (ping tells)",
                    calls.len()
                );
                if !is_near(parts, service) {
                    open.push(text);
                    continue;
                }
            }
            most = most.max(n);
            evidence.push(text);
        }
    }
    if evidence.is_empty() && !open.is_empty() {
        return (State::Unknown, 0, open.join("; "), "");
    }
    if evidence.is_empty() {
        let none = "no mode of calls 40 ms later than the fastest".to_owned();
        return (State::RuledOut, 0, none, "");
    }
    (State::Found, most, evidence.join("; "), NAGLE_FIX)
}

/// Whether the path of a service whose calls all take long is short all the same: its connections
/// open fast, or where it opened none, the other service's calls or connections are.
fn is_near(parts: &[Parts], service: usize) -> bool {
    let other = 1 - service;
    let connect = |of: usize| parts.iter().filter_map(move |p| p.connects[of]).min();
    let fast = |ns: Ns| ns < NEAR;
    match connect(service) {
        Some(ns) => fast(ns),
        None => {
            connect(other).is_some_and(fast)
                || quantile(&calls(parts, other), 500).is_some_and(fast)
        }
    }
}

/// About 1, 2, 3, … 7 s: a SYN that was sent again. Newer kernels do so each second at first, older
/// ones after 1, 2 and 4 s.
fn is_lost_syn(ns: Ns) -> bool {
    let seconds = (ns.saturating_add(50 * MS)) / SECOND;
    (1..=7).contains(&seconds) && (-50 * MS..=300 * MS).contains(&(ns - seconds * SECOND))
}

fn lost_syn(parts: &[Parts], context: &Context<'_>) -> Look {
    if !context.is_tcp() {
        return (State::RuledOut, 0, "the link has no TCP".to_owned(), "");
    }
    let opened = sorted(parts.iter().flat_map(|p| p.connects).flatten());
    let lost: Vec<Ns> = opened.iter().copied().filter(|ns| is_lost_syn(*ns)).collect();
    let Some((least, most)) = lost.first().copied().zip(lost.last().copied()) else {
        let seen = format!("none of {} connections took a second to open", opened.len());
        return (State::RuledOut, 0, seen, "");
    };
    let seen = format!(
        "{} of {} connections took {} to open: their SYN was lost and sent again after 1 s or more",
        lost.len(),
        opened.len(),
        if least == most {
            maybe(Some(most))
        } else {
            format!("{} to {}", maybe(Some(least)), maybe(Some(most)))
        }
    );
    let fix = "keep connections warm (http1 instead of http1-fresh, a pool, keep-alive) before \
               UDP: an open connection sends no SYN";
    (State::Found, lost.len(), seen, fix)
}

fn cold(parts: &[Parts]) -> Look {
    let n = parts.iter().filter(|p| p.connects.iter().any(Option::is_some)).count();
    let opened = sorted(parts.iter().flat_map(|p| p.connects).flatten());
    let text = format!(
        "{n} of {} messages had to open a connection{}",
        parts.len(),
        quantile(&opened, 500).map_or(String::new(), |ns| format!(", P50 {}", maybe(Some(ns))))
    );
    if n >= 3 && n * 10 >= parts.len() {
        let fix = "keep connections open between messages: one client for all requests, idle time \
                   below the server's keep-alive";
        (State::Found, n, text, fix)
    } else {
        (State::RuledOut, n, text, "")
    }
}

fn serial(parts: &[Parts], context: &Context<'_>) -> Look {
    let queue = sorted(parts.iter().map(|p| p.queue));
    let waited = queue.iter().filter(|ns| **ns >= SMALL).count();
    let p99 = quantile(&queue, 990);
    let mut seen = format!("{} worker(s)", context.info.workers);
    if !context.stability.unstable {
        let p50 = maybe(quantile(&queue, 500));
        let _infallible = write!(seen, ", queue P50 {p50}, P99 {}", maybe(p99));
    }
    let slow = p99.is_some_and(|ns| ns >= SMALL) || context.stability.unstable;
    if context.info.workers == 1 && slow {
        let fix = "work on more messages at once (--in-flight): waiting behind another message is \
                   no transport's time";
        return (State::Found, waited, format!("{seen}; {}", context.stability.reason), fix);
    }
    (State::RuledOut, 0, seen, "")
}

fn encode(parts: &[Parts]) -> Look {
    let (cost, all) = (
        quantile(&sorted(parts.iter().map(|p| p.encode)), 500),
        quantile(&sorted(parts.iter().map(Parts::communication)), 500),
    );
    let seen = format!(
        "decoding and encoding takes {} of the communication's {} (P50)",
        maybe(cost),
        maybe(all)
    );
    match cost.zip(all) {
        Some((cost, all)) if cost >= SMALL && cost.saturating_mul(4) >= all => {
            let fix = "make messages smaller, or hand them on as the bytes that came instead of \
                       JSON: another transport encodes them just as long";
            (State::Found, parts.len(), seen, fix)
        }
        _ => (State::RuledOut, 0, seen, ""),
    }
}

fn two_modes(parts: &[Parts], nagle: bool) -> Look {
    let communication = sorted(parts.iter().map(Parts::communication));
    let modes = if communication.len() < 30 { None } else { Modes::find(&communication, 1) };
    match modes {
        None => (State::RuledOut, 0, "the communication shows no two modes".to_owned(), ""),
        Some(modes) => {
            let seen = format!(
                "the communication has two modes, {} ({} messages) and {} ({})",
                maybe(Some(modes.low.center_ns)),
                modes.low.n,
                maybe(Some(modes.high.center_ns)),
                modes.high.n
            );
            let fix = if nagle {
                "the upper one is Nagle's: see there"
            } else {
                "find out which messages make the upper one before comparing means: mean and sd \
                 describe neither"
            };
            (State::Found, modes.high.n, seen, fix)
        }
    }
}

/// The messages of the first seconds, and the others.
fn at_start(parts: &[Parts]) -> (Vec<&Parts>, Vec<&Parts>) {
    let first = parts.iter().map(|p| p.taken).min().unwrap_or(0);
    parts.iter().partition(|p| p.taken.saturating_sub(first) < START)
}

/// Whether more of the first messages than by chance are beyond the others' P90, and by half.
///
/// Of m first messages as many as are seen exceed the P90 of alike ones with a chance below 0.1 %
/// (binomial), and their median is 1.5 times the others' and 0.1 ms more, or their P90 three times.
fn start_up(parts: &[Parts]) -> Look {
    let (early, rest) = at_start(parts);
    let of = |some: &[&Parts]| sorted(some.iter().map(|p| p.communication()));
    let (early, rest) = (of(&early), of(&rest));
    let (Some(usual), Some(bound)) = (quantile(&rest, 500), quantile(&rest, 900)) else {
        let short = "the run has no more than its first 5 s".to_owned();
        return (State::Unknown, 0, short, "");
    };
    let (middle, tail) = (quantile(&early, 500).unwrap_or(0), quantile(&early, 900).unwrap_or(0));
    let beyond = early.iter().filter(|ns| **ns > bound).count();
    let seen = format!(
        "first 5 s: P50 {}, P90 {}; later: P50 {}, P90 {}",
        maybe(Some(middle)),
        maybe(Some(tail)),
        maybe(Some(usual)),
        maybe(Some(bound))
    );
    let more = |first: Ns, later: Ns, times: Ns| {
        first.saturating_mul(2) > later.saturating_mul(times) && first - later > MS / 10
    };
    let large = more(middle, usual, 3) || more(tail, bound, 6);
    if large
        && rest.len() >= FEWEST
        && hopwatch_stats::binomial_tail(early.len(), beyond, 0.1) < 1e-3
    {
        let fix = "leave the first seconds out (a longer warm-up), and open connections before the \
                   first message";
        (State::Found, beyond, seen, fix)
    } else {
        (State::RuledOut, beyond, seen, "")
    }
}

#[cfg(test)]
#[path = "artefacts_tests.rs"]
mod tests;
