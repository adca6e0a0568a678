//! How every clock that stamped something relates to the gateway's (METHOD 1 to 5).
//!
//! The pipeline's own requests are the exchanges: each reply brings the service's stamps. Robots
//! send one way only, so their hosts answer to the gateway by `hopwatch respond`, with both of
//! their clocks.

use hopwatch_clocksync::{Exchange, Timeline, Unrelated, WALL_RHO_PPM};
use hopwatch_model::{Census, ClockId, Hop, Ns, PeerExchange, Stamp, Trace};
use std::collections::{BTreeMap, BTreeSet};

/// The relations between the clocks of a run.
#[derive(Clone, Debug, Default)]
pub struct Clocks {
    /// (near, far) → θ = far − near, both monotonic.
    monotonic: BTreeMap<(ClockId, ClockId), Timeline>,
    /// The same for the wall clock of the host whose monotonic clock is `far`.
    wall: BTreeMap<(ClockId, ClockId), Timeline>,
    /// Robots that were said to be on a responder's host.
    robots: BTreeMap<String, ClockId>,
}

/// A stamp on the gateway's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Where it lies.
    pub ns: Ns,
    /// How far it may be off.
    pub half_ns: Ns,
    /// The clock that made it. Two stamps of one clock have an exact difference, however far
    /// both of them may be off.
    pub of: ClockId,
}

/// Where a robot runs, as far as is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RobotHost {
    /// On the gateway's host, by its own word or because nobody said otherwise.
    Here,
    /// On a host with this monotonic clock.
    Elsewhere(ClockId),
    /// Robots of one id say that they are on several hosts: whose message it is, nobody knows.
    Unclear,
}

impl Clocks {
    /// From what was recorded; the order makes no difference.
    pub fn of<'a>(
        traces: impl IntoIterator<Item = &'a Trace>,
        peers: impl IntoIterator<Item = &'a PeerExchange>,
    ) -> Self {
        let mut monotonic: BTreeMap<(ClockId, ClockId), Vec<Exchange>> = BTreeMap::new();
        let mut wall: BTreeMap<(ClockId, ClockId), Vec<Exchange>> = BTreeMap::new();
        let mut robots = BTreeMap::new();
        for trace in traces {
            // The reply that arrived is the one that was sent last.
            let last =
                |resent, done| if trace.stamps.get(resent).is_some() { resent } else { done };
            for hops in [
                [Hop::AiSent, Hop::AiReceived, last(Hop::AiResent, Hop::AiDone), Hop::AiAnswered],
                [Hop::WebSent, Hop::WebReceived, last(Hop::WebResent, Hop::WebDone), Hop::WebAcked],
            ] {
                if let Some((pair, exchange)) = of_service(trace, hops) {
                    monotonic.entry(pair).or_default().push(exchange);
                }
            }
        }
        for peer in peers {
            let pair = (peer.near.clone(), peer.far.clone());
            let exchange = |received, sent| Exchange {
                near_sent: peer.near_sent,
                far_received: received,
                far_sent: sent,
                near_received: peer.near_received,
            };
            if peer.near != peer.far {
                let of_pair = monotonic.entry(pair.clone()).or_default();
                of_pair.push(exchange(peer.far_received.0, peer.far_sent.0));
            }
            wall.entry(pair).or_default().push(exchange(peer.far_received.1, peer.far_sent.1));
            robots.extend(peer.robots.iter().map(|robot| (robot.clone(), peer.far.clone())));
        }
        let timelines = |all: BTreeMap<(ClockId, ClockId), Vec<Exchange>>, rho| {
            all.into_iter().map(|(pair, of)| (pair, Timeline::with(of, rho))).collect()
        };
        Self {
            monotonic: timelines(monotonic, hopwatch_clocksync::RHO_PPM),
            wall: timelines(wall, WALL_RHO_PPM),
            robots,
        }
    }

    /// θ = far − near of two monotonic clocks; `None` when they exchanged nothing.
    pub fn between(&self, near: &ClockId, far: &ClockId) -> Option<&Timeline> {
        self.monotonic.get(&(near.clone(), far.clone()))
    }

    /// All relations of monotonic clocks: (near, far, θ).
    pub fn monotonic(&self) -> impl Iterator<Item = (&ClockId, &ClockId, &Timeline)> {
        self.monotonic.iter().map(|((near, far), timeline)| (near, far, timeline))
    }

    /// All relations of other hosts' wall clocks: (near, the host's monotonic clock, θ).
    pub fn walls(&self) -> impl Iterator<Item = (&ClockId, &ClockId, &Timeline)> {
        self.wall.iter().map(|((near, far), timeline)| (near, far, timeline))
    }

    /// Where the robot of a message runs.
    pub fn host_of(&self, trace: &Trace, census: &[&Census]) -> RobotHost {
        let here = trace.stamps.get(Hop::Taken).map(|taken| &taken.clock);
        let told: BTreeSet<&ClockId> = census
            .iter()
            .filter(|census| census.robot_id == trace.robot_id)
            .map(|census| &census.clock)
            .collect();
        if told.len() > 1 {
            return RobotHost::Unclear;
        }
        let elsewhere = told.into_iter().next().or_else(|| self.robots.get(&trace.robot_id));
        match elsewhere {
            Some(clock) if Some(clock) != here => RobotHost::Elsewhere(clock.clone()),
            _ => RobotHost::Here,
        }
    }

    /// θ = wall − near of the wall clock of the host whose monotonic clock is `far`.
    pub fn wall_between(&self, near: &ClockId, far: &ClockId) -> Option<&Timeline> {
        self.wall.get(&(near.clone(), far.clone()))
    }

    /// Where a wall-clock stamp of a message's robot lies on the gateway's clock.
    pub fn place_wall(&self, stamp: &Stamp, trace: &Trace, host: &RobotHost) -> Option<Placed> {
        let taken = trace.stamps.get(Hop::Taken)?;
        // Records of old hold what the gateway had placed, as if it were of its own host.
        let is_placed = stamp.clock == taken.clock;
        match host {
            RobotHost::Here => {
                let offset = if is_placed { 0 } else { trace.wall_offset_ns? };
                let ns = stamp.ns.checked_sub(offset)?;
                // One wall clock made this and the reader's stamp.
                Some(Placed { ns, half_ns: trace.wall_half_width_ns, of: ClockId::wall() })
            }
            RobotHost::Elsewhere(far) if !is_placed => {
                let timeline = self.wall_between(&taken.clock, far)?;
                let (ns, half_ns) = timeline.to_near(stamp.ns, taken.ns).ok()?;
                Some(Placed { ns, half_ns, of: ClockId::new(format!("wall of {far}")) })
            }
            RobotHost::Elsewhere(_) | RobotHost::Unclear => None,
        }
    }

    /// Where a reading of a monotonic clock lies on `near` by the offset of `about`, however long
    /// before it was: good to what the clocks may have drifted apart since.
    pub fn place_roughly(&self, stamp: &Stamp, near: &ClockId, about: Ns) -> Option<Ns> {
        if stamp.clock == *near {
            return Some(stamp.ns);
        }
        let theta = self.between(near, &stamp.clock)?.at(about).ok()?;
        stamp.ns.checked_sub(theta.middle())
    }

    /// Where a reading of a monotonic clock lies on `near`, at or before `about` of it.
    pub fn place(&self, stamp: &Stamp, near: &ClockId, about: Ns) -> Result<Placed, Unrelated> {
        let of = stamp.clock.clone();
        if of == *near {
            return Ok(Placed { ns: stamp.ns, half_ns: 0, of });
        }
        let timeline = self.between(near, &of).ok_or(Unrelated::Never)?;
        let (ns, half_ns) = timeline.to_near(stamp.ns, about)?;
        Ok(Placed { ns, half_ns, of })
    }
}

/// The exchange that a call to a service was, when the service runs on another clock.
fn of_service(trace: &Trace, hops: [Hop; 4]) -> Option<((ClockId, ClockId), Exchange)> {
    let [Some(sent), Some(received), Some(done), Some(ended)] =
        hops.map(|hop| trace.stamps.get(hop))
    else {
        return None;
    };
    if sent.clock == received.clock || received.clock != done.clock || sent.clock != ended.clock {
        return None;
    }
    let exchange = Exchange {
        near_sent: sent.ns,
        far_received: received.ns,
        far_sent: done.ns,
        near_received: ended.ns,
    };
    Some(((sent.clock.clone(), received.clock.clone()), exchange))
}

#[cfg(test)]
#[path = "clocks_tests.rs"]
mod tests;
