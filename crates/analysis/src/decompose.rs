//! One trace into its legs (METHOD 2, 9): Σ legs = total in integer nanoseconds, always.

use hopwatch_model::{Census, Class, Hop, Leg, Ns, Stamp, Stamps, Trace};
use thiserror::Error;

/// The length of one leg of one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LegTime {
    /// The leg.
    pub leg: Leg,
    /// Its length; negative ones are kept and flagged.
    pub ns: Ns,
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
    /// published → web_acked, when the robot's stamp is on the gateway's clock.
    pub published_ns: Option<Ns>,
    /// intended → web_acked, likewise: open loop (METHOD 8).
    pub intended_ns: Option<Ns>,
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

/// Splits a trace. The robots' census tells when a message was due.
pub fn decompose(trace: &Trace, census: &[&Census]) -> Result<Decomposition, Defect> {
    let stamps = &trace.stamps;
    let before = if robot_is_elsewhere(trace, census) {
        // Its wall clock is another one: nothing relates its stamps to ours.
        before_taken(stamps, None, Hop::Received)?
    } else {
        before_taken(stamps, intended(trace, census).as_ref(), Hop::Intended)?
    };
    let mut out = Decomposition { before, ..Decomposition::default() };
    let Some(taken) = stamps.get(Hop::Taken) else {
        return Err(Defect::Missing(Hop::Taken));
    };
    let mut chain = Chain { stamps, at: (Hop::Taken, taken), legs: Vec::new() };
    walk(&mut chain, trace)?;
    out.pipeline = chain.legs;
    if let Some(acked) = stamps.get(Hop::WebAcked) {
        let total = between((Hop::Taken, taken), (Hop::WebAcked, acked))?;
        let sum = out.pipeline.iter().map(|leg| leg.ns).sum();
        if sum != total {
            return Err(Defect::Sum { sum, total });
        }
        out.pipeline_ns = Some(total);
        let ahead = |from: Leg| {
            let at = out.before.iter().position(|leg| leg.leg == from)?;
            total.checked_add(out.before[at..].iter().map(|leg| leg.ns).sum())
        };
        out.published_ns = ahead(Leg::Write);
        out.intended_ns = ahead(Leg::Schedule);
    }
    Ok(out)
}

/// Whether the robot's own word is that it runs on another clock than the gateway.
fn robot_is_elsewhere(trace: &Trace, census: &[&Census]) -> bool {
    let here = trace.stamps.get(Hop::Taken).map(|taken| &taken.clock);
    let mut of_robot = census.iter().filter(|c| c.robot_id == trace.robot_id).peekable();
    of_robot.peek().is_some() && of_robot.all(|c| Some(&c.clock) != here)
}

/// When the message was due, by the census of the robot's instance that published it: the one
/// whose schedule began last before the message was published.
fn intended(trace: &Trace, census: &[&Census]) -> Option<Stamp> {
    let published = trace.stamps.get(Hop::Published)?;
    let instance = census
        .iter()
        .filter(|c| c.robot_id == trace.robot_id && c.clock == published.clock)
        .filter(|c| c.schedule_start_ns <= published.ns.saturating_add(EARLY_NS))
        .max_by_key(|c| c.schedule_start_ns)?;
    Some(Stamp::new(published.clock.clone(), instance.intended_ns(trace.sequence, published.ns)?))
}

/// A message may seem to be published a little before its schedule began: the wall clock that
/// stamped it was read at another moment than the monotonic one.
const EARLY_NS: Ns = 1_000_000;

/// Legs before the take, from the hop behind the last gap (a foreign robot has no schedule).
fn before_taken(
    stamps: &Stamps,
    intended: Option<&Stamp>,
    earliest: Hop,
) -> Result<Vec<LegTime>, Defect> {
    const WAY: [(Hop, Leg, Hop); 4] = [
        (Hop::Received, Leg::Wake, Hop::Taken),
        (Hop::Written, Leg::Ros, Hop::Received),
        (Hop::Published, Leg::Write, Hop::Written),
        (Hop::Intended, Leg::Schedule, Hop::Published),
    ];
    let mut legs = Vec::new();
    for (from, leg, to) in WAY.into_iter().filter(|(from, ..)| *from >= earliest) {
        let start = if from == Hop::Intended { intended } else { stamps.get(from) };
        let (Some(start), Some(end)) = (start, stamps.get(to)) else {
            break;
        };
        if start.clock != end.clock {
            // A robot on another host: no relation is known, so nothing is said.
            break;
        }
        legs.push(LegTime { leg, ns: between((from, start), (to, end))? });
    }
    legs.reverse();
    Ok(legs)
}

fn walk(chain: &mut Chain, trace: &Trace) -> Result<(), Defect> {
    if !chain.go(Hop::Started, Leg::Queue)? {
        return Ok(());
    }
    let sent = if chain.go(Hop::AiConnecting, Leg::Encode)? {
        chain.go(Hop::AiSent, Leg::AiConnect)?
    } else {
        chain.go(Hop::AiSent, Leg::Encode)?
    };
    if !sent || !chain.round_trip(&AI, trace.ai_served_ns)? {
        return Ok(());
    }
    let sent = if chain.go(Hop::WebConnecting, Leg::Handoff)? {
        chain.go(Hop::WebSent, Leg::WebConnect)?
    } else {
        chain.go(Hop::WebSent, Leg::Handoff)?
    };
    if sent {
        chain.round_trip(&WEB, trace.web_served_ns.map(|ns| (0, ns)))?;
    }
    Ok(())
}

/// The hops and legs of one request and its reply.
struct RoundTrip {
    received: Hop,
    begun: Option<Hop>,
    done: Hop,
    ended: Hop,
    request: Leg,
    wait: Leg,
    work: Leg,
    reply: Leg,
    /// Request and reply in one, when the service's clock is another.
    transport: Leg,
    /// Everything in one, when the service tells nothing.
    whole: Leg,
}

const AI: RoundTrip = RoundTrip {
    received: Hop::AiReceived,
    begun: Some(Hop::AiBegun),
    done: Hop::AiDone,
    ended: Hop::AiAnswered,
    request: Leg::AiRequest,
    wait: Leg::AiWait,
    work: Leg::AiInfer,
    reply: Leg::AiReply,
    transport: Leg::AiTransport,
    whole: Leg::AiRoundTrip,
};

const WEB: RoundTrip = RoundTrip {
    received: Hop::WebReceived,
    begun: None,
    done: Hop::WebDone,
    ended: Hop::WebAcked,
    request: Leg::WebRequest,
    // The broadcaster has no waiting line before its answer.
    wait: Leg::WebHandle,
    work: Leg::WebHandle,
    reply: Leg::WebReply,
    transport: Leg::WebTransport,
    whole: Leg::WebRoundTrip,
};

/// Walks along the stamps of the gateway's clock.
struct Chain<'a> {
    stamps: &'a Stamps,
    at: (Hop, &'a Stamp),
    legs: Vec<LegTime>,
}

impl Chain<'_> {
    /// Goes on to `hop` if it was stamped; the way there is `leg`.
    fn go(&mut self, hop: Hop, leg: Leg) -> Result<bool, Defect> {
        let Some(stamp) = self.stamps.get(hop) else {
            return Ok(false);
        };
        self.legs.push(LegTime { leg, ns: between(self.at, (hop, stamp))? });
        self.at = (hop, stamp);
        Ok(true)
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
                self.go(trip.ended, trip.reply)?;
            }
            (Some(received), Some(done)) => {
                let begun = begun.unwrap_or((trip.received, received));
                let wait = between((trip.received, received), begun)?;
                let work = between(begun, (trip.done, done))?;
                self.split((trip.ended, ended), trip, wait, work)?;
            }
            _ => match served {
                Some((wait, work)) => self.split((trip.ended, ended), trip, wait, work)?,
                None => {
                    self.go(trip.ended, trip.whole)?;
                }
            },
        }
        self.at = (trip.ended, ended);
        Ok(true)
    }

    /// Round trip − the service's own time: exact without any agreement between the clocks.
    fn split(
        &mut self,
        ended: (Hop, &Stamp),
        trip: &RoundTrip,
        wait: Ns,
        work: Ns,
    ) -> Result<(), Defect> {
        let rtt = between(self.at, ended)?;
        let transport = rtt
            .checked_sub(wait)
            .and_then(|ns| ns.checked_sub(work))
            .ok_or(Defect::Absurd(trip.received, trip.done))?;
        self.legs.push(LegTime { leg: trip.transport, ns: transport });
        if trip.wait != trip.work {
            self.legs.push(LegTime { leg: trip.wait, ns: wait });
        }
        let work = if trip.wait == trip.work { wait + work } else { work };
        self.legs.push(LegTime { leg: trip.work, ns: work });
        Ok(())
    }
}

/// `to − from`. A century apart is no leg: the bound also keeps every sum from overflowing.
fn between(from: (Hop, &Stamp), to: (Hop, &Stamp)) -> Result<Ns, Defect> {
    const CENTURY: Ns = 100 * 366 * 86_400 * 1_000_000_000;
    if from.1.clock != to.1.clock {
        return Err(Defect::Clocks(from.0, to.0));
    }
    to.1.ns
        .checked_sub(from.1.ns)
        .filter(|ns| ns.unsigned_abs() < CENTURY.unsigned_abs())
        .ok_or(Defect::Absurd(from.0, to.0))
}

#[cfg(test)]
#[path = "decompose_tests.rs"]
mod tests;
