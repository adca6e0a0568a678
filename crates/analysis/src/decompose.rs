//! One trace into its legs (METHOD 2, 9): Σ legs = total in integer nanoseconds, always.

use crate::clocks::{Clocks, Placed};
use hopwatch_clocksync::{RHO_PPM, drift_in};
use hopwatch_model::{Census, Class, ClockId, Hop, Leg, Ns, Stamp, Stamps, Trace};
use thiserror::Error;

/// The length of one leg of one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LegTime {
    /// The leg.
    pub leg: Leg,
    /// Its length, the middle of what the clocks allow; negative ones are kept and flagged.
    pub ns: Ns,
    /// How far it may be off because two clocks are involved; 0 when it is exact.
    pub half_ns: Ns,
}

impl LegTime {
    fn exact(leg: Leg, ns: Ns) -> Self {
        Self { leg, ns, half_ns: 0 }
    }
}

/// A trace split into legs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decomposition {
    /// Legs from the earliest hop known up to taken, in order.
    pub before: Vec<LegTime>,
    /// Legs from taken as far as the message went, in order; from taken to web_acked for a
    /// delivered one.
    pub pipeline: Vec<LegTime>,
    /// taken → web_acked: one clock, exact. `None` when the message did not get there.
    pub pipeline_ns: Option<Ns>,
    /// published → web_acked with how far it may be off, when the robot's wall clock is related
    /// to the gateway's.
    pub published: Option<(Ns, Ns)>,
    /// intended → web_acked, likewise: open loop (METHOD 8).
    pub intended: Option<(Ns, Ns)>,
    /// ai_sent → ai_answered without the service's own time, and how far it may be off: two
    /// clocks run at two rates, so by ρ of the service's own time.
    pub ai_transport: Option<(Ns, Ns)>,
    /// web_sent → web_acked without the service's own time, likewise.
    pub web_transport: Option<(Ns, Ns)>,
    /// How far the AI service's own time may be off, measured by another clock than the total.
    pub ai_half_ns: Ns,
    /// The same of the web service's.
    pub web_half_ns: Ns,
}

/// A trace that can't be split. It stays in the ledger and is left out of the figures.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Defect {
    /// A hop that every trace must have is missing.
    #[error("the stamp of {0} is missing")]
    Missing(Hop),
    /// Two stamps are so far apart that their difference isn't a time.
    #[error("{0} and {1} are too far apart to be stamps of one message")]
    Absurd(Hop, Hop),
    /// Two hops of one process carry different clocks.
    #[error("{0} and {1} carry different clocks")]
    Clocks(Hop, Hop),
    /// The legs don't add up to the total: a fault of Hopwatch itself.
    #[error("the legs sum up to {sum} ns, the total is {total} ns")]
    Sum {
        /// Σ legs.
        sum: Ns,
        /// web_acked − taken.
        total: Ns,
    },
}

impl Decomposition {
    /// All legs in order.
    pub fn legs(&self) -> impl Iterator<Item = LegTime> {
        self.before.iter().chain(&self.pipeline).copied()
    }

    /// The pipeline's time of one class; only meaningful for a message that went the whole way.
    pub fn class_ns(&self, class: Class) -> Ns {
        self.pipeline.iter().filter(|leg| leg.leg.class() == class).map(|leg| leg.ns).sum()
    }
}

/// Splits a trace. The robots' census tells when a message was due, `clocks` how the clocks of
/// other hosts relate to the gateway's.
pub fn decompose(
    trace: &Trace,
    census: &[&Census],
    clocks: &Clocks,
) -> Result<Decomposition, Defect> {
    let stamps = &trace.stamps;
    let Some(taken) = stamps.get(Hop::Taken) else {
        return Err(Defect::Missing(Hop::Taken));
    };
    let way = before_taken(trace, taken, census, clocks);
    let mut out = Decomposition { before: legs_of(&way)?, ..Decomposition::default() };
    let mut chain = Chain { stamps, clocks, at: (Hop::Taken, taken), legs: Vec::new() };
    walk(&mut chain, trace)?;
    out.pipeline = chain.legs;
    let half_of = |legs: &[Leg]| -> Ns {
        out.pipeline.iter().filter(|leg| legs.contains(&leg.leg)).map(|leg| leg.half_ns).sum()
    };
    out.ai_half_ns = half_of(&[Leg::AiWait, Leg::AiInfer]);
    out.web_half_ns = half_of(&[Leg::WebHandle]);
    let sum_of = |legs: &[Leg], half: Ns| {
        let mut found = out.pipeline.iter().filter(|leg| legs.contains(&leg.leg)).peekable();
        found.peek().is_some().then(|| (found.map(|leg| leg.ns).sum(), half))
    };
    let ai = [Leg::AiRequest, Leg::AiResend, Leg::AiReply, Leg::AiTransport];
    out.ai_transport = sum_of(&ai, out.ai_half_ns);
    let web = [Leg::WebRequest, Leg::WebResend, Leg::WebReply, Leg::WebTransport];
    out.web_transport = sum_of(&web, out.web_half_ns);
    if let Some(acked) = stamps.get(Hop::WebAcked) {
        let total = between((Hop::Taken, taken), (Hop::WebAcked, acked))?;
        let sum = out.pipeline.iter().map(|leg| leg.ns).sum();
        if sum != total {
            return Err(Defect::Sum { sum, total });
        }
        out.pipeline_ns = Some(total);
        let since = |hop: Hop| {
            let (_, from) = way.iter().find(|(at, _)| *at == hop)?;
            Some((acked.ns.checked_sub(from.ns)?, from.half_ns))
        };
        out.published = since(Hop::Published);
        out.intended = since(Hop::Intended);
    }
    Ok(out)
}

/// When the message was due, by the census of the robot's instance that published it: the one
/// whose schedule began last before the message was published, on its own clock. Of several
/// schedules of that instance, the message's number tells which one it belongs to: when one begins,
/// a message of the one before may be late.
fn intended(
    trace: &Trace,
    published: &Placed,
    near: &ClockId,
    census: &[&Census],
    clocks: &Clocks,
) -> Option<Placed> {
    let placed = |census: &Census, ns| {
        clocks.place(&Stamp::new(census.clock.clone(), ns), near, published.ns).ok()
    };
    // Which instance, and which turn of its sequence, is a matter of seconds: the offset of now
    // does for a schedule that began long before anybody related the clocks.
    let start_of = |census: &Census| {
        let start = Stamp::new(census.clock.clone(), census.schedule_start_ns);
        clocks.place_roughly(&start, near, published.ns)
    };
    let begun = |early: Ns| {
        let until = published.ns.saturating_add(published.half_ns).saturating_add(early);
        census
            .iter()
            .filter(|census| census.robot_id == trace.robot_id)
            .filter_map(|census| Some((start_of(census)?, census)))
            .filter(move |(start, _)| *start <= until)
    };
    let (_, newest) = begun(EARLY_NS).max_by_key(|(start, _)| *start)?;
    begun(CHANGING_NS)
        .filter(|(_, census)| census.instance == newest.instance)
        .filter_map(|(began, schedule)| {
            // When it was published on the robot's own clock, near enough to tell which turn of
            // the sequence it is of.
            let since = published.ns.saturating_sub(began);
            let published = schedule.schedule_start_ns.saturating_add(since);
            Some((began, schedule, schedule.intended_ns(trace.sequence, published)?))
        })
        .max_by_key(|(began, ..)| *began)
        .and_then(|(_, schedule, due)| placed(schedule, due))
}

/// A message may seem to be published a little before its schedule began: the wall clock that
/// stamped it was read at another moment than the monotonic one.
const EARLY_NS: Ns = 1_000_000;

/// One whose number is of the next schedule may seem to be published before it by as much as the
/// robot's clock isn't known.
const CHANGING_NS: Ns = 1_000_000_000;

/// The hops up to taken on the gateway's clock, from the one behind the last gap on: a foreign
/// robot has no schedule, and of a host without a relation nothing is said.
fn before_taken(
    trace: &Trace,
    taken: &Stamp,
    census: &[&Census],
    clocks: &Clocks,
) -> Vec<(Hop, Placed)> {
    let near = &taken.clock;
    let mut way = vec![(Hop::Taken, Placed { ns: taken.ns, half_ns: 0, of: near.clone() })];
    // DDS' reader is the gateway's own: its stamp was placed by the bracket of the take.
    let wall_here = |ns| Placed { ns, half_ns: trace.wall_half_width_ns, of: ClockId::wall() };
    let Some(received) = trace.stamps.get(Hop::Received).filter(|r| r.clock == *near) else {
        return way;
    };
    way.push((Hop::Received, wall_here(received.ns)));
    let host = clocks.host_of(trace, census);
    let wall = |hop| clocks.place_wall(trace.stamps.get(hop)?, trace, &host);
    let Some(written) = wall(Hop::Written) else {
        way.reverse();
        return way;
    };
    // Both stamps are of one clock: their difference is exact, wherever they lie.
    let published = wall(Hop::Published).and_then(|published| {
        let (raw_published, raw_written) =
            (trace.stamps.get(Hop::Published)?, trace.stamps.get(Hop::Written)?);
        let apart = raw_written.ns.checked_sub(raw_published.ns)?;
        let one = raw_written.clock == raw_published.clock;
        Some(Placed {
            ns: if one { written.ns.checked_sub(apart)? } else { published.ns },
            ..published
        })
    });
    way.push((Hop::Written, written));
    if let Some(published) = published {
        let due = intended(trace, &published, near, census, clocks);
        way.push((Hop::Published, published));
        way.extend(due.map(|due| (Hop::Intended, due)));
    }
    way.reverse();
    way
}

/// The legs between hops that are placed on one clock.
fn legs_of(way: &[(Hop, Placed)]) -> Result<Vec<LegTime>, Defect> {
    way.windows(2)
        .filter_map(|pair| {
            let [(from, a), (to, b)] = pair else { return None };
            let leg = match to {
                Hop::Published => Leg::Schedule,
                Hop::Written => Leg::Write,
                Hop::Received => Leg::Ros,
                _ => Leg::Wake,
            };
            let half_ns = if a.of == b.of { 0 } else { a.half_ns.saturating_add(b.half_ns) };
            let ns = apart((*from, a.ns), (*to, b.ns));
            Some(ns.map(|ns| LegTime { leg, ns, half_ns }))
        })
        .collect()
}

fn walk(chain: &mut Chain, trace: &Trace) -> Result<(), Defect> {
    if !chain.go(Hop::Started, Leg::Queue)? {
        return Ok(());
    }
    if !chain.send(&AI)? || !chain.round_trip(&AI, trace.ai_served_ns)? {
        return Ok(());
    }
    if chain.send(&WEB)? {
        chain.round_trip(&WEB, trace.web_served_ns.map(|ns| (0, ns)))?;
    }
    Ok(())
}

/// The hops and legs of one request and its reply.
struct RoundTrip {
    connecting: Hop,
    first_sent: Hop,
    sent: Hop,
    received: Hop,
    begun: Option<Hop>,
    done: Hop,
    resent: Hop,
    ended: Hop,
    /// Up to when there is something to send.
    before: Leg,
    connect: Leg,
    retry: Leg,
    request: Leg,
    wait: Leg,
    work: Leg,
    resend: Leg,
    reply: Leg,
    /// Request and reply in one, when the service's clock is another.
    transport: Leg,
    /// Everything in one, when the service tells nothing.
    whole: Leg,
}

const AI: RoundTrip = RoundTrip {
    connecting: Hop::AiConnecting,
    first_sent: Hop::AiFirstSent,
    sent: Hop::AiSent,
    received: Hop::AiReceived,
    begun: Some(Hop::AiBegun),
    done: Hop::AiDone,
    resent: Hop::AiResent,
    ended: Hop::AiAnswered,
    before: Leg::Encode,
    connect: Leg::AiConnect,
    retry: Leg::AiRetry,
    request: Leg::AiRequest,
    wait: Leg::AiWait,
    work: Leg::AiInfer,
    resend: Leg::AiResend,
    reply: Leg::AiReply,
    transport: Leg::AiTransport,
    whole: Leg::AiRoundTrip,
};

const WEB: RoundTrip = RoundTrip {
    connecting: Hop::WebConnecting,
    first_sent: Hop::WebFirstSent,
    sent: Hop::WebSent,
    received: Hop::WebReceived,
    begun: None,
    done: Hop::WebDone,
    resent: Hop::WebResent,
    ended: Hop::WebAcked,
    before: Leg::Handoff,
    connect: Leg::WebConnect,
    retry: Leg::WebRetry,
    request: Leg::WebRequest,
    // The broadcaster has no waiting line before its answer.
    wait: Leg::WebHandle,
    work: Leg::WebHandle,
    resend: Leg::WebResend,
    reply: Leg::WebReply,
    transport: Leg::WebTransport,
    whole: Leg::WebRoundTrip,
};

/// What a service's own clock tells of the time between a request's arrival and its reply's leaving.
#[derive(Clone, Copy)]
struct Served {
    wait: Ns,
    work: Ns,
    /// Until the reply, which was lost, was sent again.
    lost: Option<Ns>,
}

impl Served {
    /// How far it may be off on our clock: the service's runs at a rate of its own.
    fn rate_half(self) -> Ns {
        let all = self.wait.saturating_add(self.work).saturating_add(self.lost.unwrap_or(0));
        drift_in(all, RHO_PPM)
    }
}

/// Walks along the stamps of the gateway's clock.
struct Chain<'a> {
    stamps: &'a Stamps,
    clocks: &'a Clocks,
    at: (Hop, &'a Stamp),
    legs: Vec<LegTime>,
}

impl Chain<'_> {
    /// Goes on to `hop` if it was stamped; the way there is `leg`.
    fn go(&mut self, hop: Hop, leg: Leg) -> Result<bool, Defect> {
        let Some(stamp) = self.stamps.get(hop) else {
            return Ok(false);
        };
        self.legs.push(LegTime::exact(leg, between(self.at, (hop, stamp))?));
        self.at = (hop, stamp);
        Ok(true)
    }

    /// Goes to the moment when the request that arrived was sent, if it was.
    fn send(&mut self, trip: &RoundTrip) -> Result<bool, Defect> {
        let mut leg = trip.before;
        if self.go(trip.connecting, leg)? {
            leg = trip.connect;
        }
        if self.go(trip.first_sent, leg)? {
            leg = trip.retry;
        }
        self.go(trip.sent, leg)
    }

    /// Goes to the end of a round trip, by the best that is known of the time inside.
    fn round_trip(&mut self, trip: &RoundTrip, served: Option<(Ns, Ns)>) -> Result<bool, Defect> {
        let Some(ended) = self.stamps.get(trip.ended) else {
            return Ok(false);
        };
        let received = self.stamps.get(trip.received);
        let done = self.stamps.get(trip.done);
        let begun = trip.begun.and_then(|hop| self.stamps.get(hop).map(|stamp| (hop, stamp)));
        match (received, done) {
            (Some(received), Some(_)) if received.clock == self.at.1.clock => {
                self.go(trip.received, trip.request)?;
                if let Some((hop, _)) = begun {
                    self.go(hop, trip.wait)?;
                }
                self.go(trip.done, trip.work)?;
                self.go(trip.resent, trip.resend)?;
                self.go(trip.ended, trip.reply)?;
            }
            (Some(received), Some(done)) => {
                let begun = begun.unwrap_or((trip.received, received));
                let wait = between((trip.received, received), begun)?;
                let work = between(begun, (trip.done, done))?;
                let lost = match self.stamps.get(trip.resent) {
                    Some(resent) => Some(between((trip.done, done), (trip.resent, resent))?),
                    None => None,
                };
                let served = Served { wait, work, lost };
                let transport = self.split((trip.ended, ended), trip, served)?;
                if transport < -served.rate_half() {
                    // It can't have worked for longer than we waited: its clock was set
                    // meanwhile, or lies. Not a word of it is used.
                    self.go(trip.ended, trip.whole)?;
                    return Ok(true);
                }
                self.related((trip.ended, ended), trip, (received, transport), served)?;
            }
            _ => match served {
                Some((wait, work)) => {
                    let served = Served { wait, work, lost: None };
                    let ns = self.split((trip.ended, ended), trip, served)?;
                    let half_ns = served.rate_half();
                    self.legs.push(LegTime { leg: trip.transport, ns, half_ns });
                    self.served(trip, served);
                }
                None => {
                    self.go(trip.ended, trip.whole)?;
                }
            },
        }
        self.at = (trip.ended, ended);
        Ok(true)
    }

    /// Round trip − the service's own time: needs no agreement on the time, and is off by no more
    /// than the two clocks' rates are ([`Served::rate_half`]).
    fn split(&self, ended: (Hop, &Stamp), trip: &RoundTrip, served: Served) -> Result<Ns, Defect> {
        let rtt = between(self.at, ended)?;
        rtt.checked_sub(served.wait)
            .and_then(|ns| ns.checked_sub(served.work))
            .and_then(|ns| ns.checked_sub(served.lost.unwrap_or(0)))
            .ok_or(Defect::Absurd(trip.received, trip.done))
    }

    /// Request and reply of a service on another clock: the split is as good as the relation of
    /// the clocks. Without one it stays a sum.
    fn related(
        &mut self,
        ended: (Hop, &Stamp),
        trip: &RoundTrip,
        (received, transport): (&Stamp, Ns),
        served: Served,
    ) -> Result<(), Defect> {
        let (sent, ended) = (self.at, ended.1);
        let timeline = self.clocks.between(&sent.1.clock, &received.clock);
        let theta = timeline.and_then(|timeline| {
            let bounds = timeline.at(ended.ns).ok()?;
            // As of the request, too: between the two the clocks may drift.
            let at_request = timeline.at(sent.1.ns).unwrap_or(bounds);
            let own = received.ns.checked_sub(sent.1.ns)?;
            Some((bounds, at_request.lo, at_request.hi.min(own)))
        });
        let Some((at_reply, lo, hi)) = theta else {
            let half_ns = served.rate_half();
            self.legs.push(LegTime { leg: trip.transport, ns: transport, half_ns });
            self.served(trip, served);
            return Ok(());
        };
        let middle = at_reply.middle();
        let request =
            apart((sent.0, sent.1.ns), (trip.received, received.ns.saturating_sub(middle)))?;
        // The request arrived a little behind sent, the reply left a little before ended.
        let half_request = hi.saturating_sub(middle).max(middle.saturating_sub(lo)).max(0);
        let half_request = half_request.saturating_add(drift_in(request, RHO_PPM));
        self.legs.push(LegTime { leg: trip.request, ns: request, half_ns: half_request });
        self.served(trip, served);
        let reply = transport.checked_sub(request).ok_or(Defect::Absurd(trip.done, trip.ended))?;
        let half_reply = at_reply.half_width().saturating_add(drift_in(reply, RHO_PPM));
        self.legs.push(LegTime { leg: trip.reply, ns: reply, half_ns: half_reply });
        Ok(())
    }

    /// The service's own time.
    fn served(&mut self, trip: &RoundTrip, Served { wait, work, lost }: Served) {
        let by_another = |leg, ns| LegTime { leg, ns, half_ns: drift_in(ns, RHO_PPM) };
        if trip.wait != trip.work {
            self.legs.push(by_another(trip.wait, wait));
        }
        let work = if trip.wait == trip.work { wait.saturating_add(work) } else { work };
        self.legs.push(by_another(trip.work, work));
        self.legs.extend(lost.map(|lost| by_another(trip.resend, lost)));
    }
}

/// `to − from`, of one clock.
fn between(from: (Hop, &Stamp), to: (Hop, &Stamp)) -> Result<Ns, Defect> {
    if from.1.clock != to.1.clock {
        return Err(Defect::Clocks(from.0, to.0));
    }
    apart((from.0, from.1.ns), (to.0, to.1.ns))
}

/// `to − from`. A century apart is no leg: the bound also keeps every sum from overflowing.
fn apart(from: (Hop, Ns), to: (Hop, Ns)) -> Result<Ns, Defect> {
    const CENTURY: Ns = 100 * 366 * 86_400 * 1_000_000_000;
    to.1.checked_sub(from.1)
        .filter(|ns| ns.unsigned_abs() < CENTURY.unsigned_abs())
        .ok_or(Defect::Absurd(from.0, to.0))
}

#[cfg(test)]
#[path = "decompose_tests.rs"]
mod tests;
