//! Shadow probes: requests over every link to the services' echo handlers, with the body of the
//! newest message, so that what another link would change is known on this very path.
//!
//! They are sent at a low rate of their own, beside the messages and never in their place. Each
//! round has one probe of each link and service, in random order.
//!
//! Between two probes of a link lie seconds, in which it would lose the connection that the
//! messages' own pace keeps open: so each link is measured warm, right behind a request that is
//! not measured. Only `http1-fresh` opens a connection for each, as it does for messages.

use bytes::Bytes;
use hopwatch_kit::Shutdown;
use hopwatch_link::{Call, Link, LinkKind, Request};
use hopwatch_model::{Ns, Probe, Stage};
use rand::seq::SliceRandom;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::{Interval, MissedTickBehavior};

/// A link that is probed.
pub(crate) struct Probed {
    pub(crate) kind: LinkKind,
    pub(crate) stage: Stage,
    pub(crate) link: Arc<dyn Link>,
    /// Messages go over it, too.
    pub(crate) is_current: bool,
}

/// The newest bodies that went to each service.
#[derive(Default)]
pub struct Bodies(Mutex<[Option<Bytes>; 2]>);

impl Bodies {
    fn all(&self) -> MutexGuard<'_, [Option<Bytes>; 2]> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This one goes to the service now.
    pub(crate) fn put(&self, stage: Stage, body: &Bytes) {
        self.all()[at(stage)] = Some(body.clone());
    }

    fn of(&self, stage: Stage) -> Option<Bytes> {
        self.all()[at(stage)].clone()
    }
}

const fn at(stage: Stage) -> usize {
    match stage {
        Stage::Ai => 0,
        Stage::Web => 1,
    }
}

/// Takes what became of a probe.
pub(crate) type TakeProbe = Box<dyn Fn(Probe) + Send + Sync>;

/// What sends probes.
pub(crate) struct Prober {
    /// Probes a second, of all links and services together; above 0.
    pub(crate) rate_hz: f64,
    pub(crate) links: Vec<Probed>,
    pub(crate) bodies: Arc<Bodies>,
    pub(crate) deadline: Duration,
    pub(crate) record: TakeProbe,
}

impl Prober {
    /// Probes until the end begins. Before the first message there is nothing to send.
    pub(crate) async fn run(self, end: Shutdown) {
        let warming = self.links.iter().map(|probed| probed.link.warm());
        tokio::select! {
            // What isn't there yet is opened by its first probe, which says so.
            _ = futures_util::future::join_all(warming) => {}
            () = end.begun() => return,
        }
        let mut ticks = tokio::time::interval(Duration::from_secs_f64(1.0 / self.rate_hz));
        // Never two at once to make up for lost time: it is a rate, not a number.
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        for round in 1.. {
            tokio::select! {
                () = self.round(round, &mut ticks) => {}
                () = end.begun() => return,
            }
        }
    }

    async fn round(&self, round: u64, ticks: &mut Interval) {
        let mut order: Vec<&Probed> = self.links.iter().collect();
        order.shuffle(&mut rand::rng());
        for probed in order {
            ticks.tick().await;
            let Some(body) = self.bodies.of(probed.stage) else { continue };
            let body_bytes = u64::try_from(body.len()).unwrap_or(u64::MAX);
            let request = Request { trace: None, body, deadline: self.deadline };
            if probed.kind != LinkKind::Http1Fresh {
                // How it went shows in the one that is measured.
                let _warming = probed.link.call(request.clone()).await;
            }
            let call = probed.link.call(request).await;
            (self.record)(self.probe(round, probed, body_bytes, &call));
        }
    }

    fn probe(&self, round: u64, probed: &Probed, body_bytes: u64, call: &Call) -> Probe {
        let went_out = call.first_sent.or(call.sent);
        let from = went_out.unwrap_or(call.ended);
        let connect = call.connecting.zip(went_out).map(|(began, out)| out.saturating_sub(began));
        let round_trip_ns = call.ended.saturating_sub(from);
        Probe {
            // Known by the record's source.
            gateway: String::new(),
            round,
            stage: probed.stage,
            link: probed.kind.name().to_owned(),
            is_current: probed.is_current,
            rate_hz: self.rate_hz,
            body_bytes,
            connect_ns: connect.unwrap_or(0),
            round_trip_ns,
            served_ns: served(call).clamp(0, round_trip_ns.max(0)),
            retries: call.retries,
            failure: call.result.as_ref().err().map(|error| error.failure),
        }
    }
}

/// The service's own time, as far as it tells.
fn served(call: &Call) -> Ns {
    let Ok(reply) = &call.result else { return 0 };
    let stamped = reply.stamps.as_ref().map(|s| s.done.saturating_sub(s.received));
    let told = reply.served_ns.map(|(wait, rest)| wait.saturating_add(rest));
    stamped.or(told).unwrap_or(0)
}

#[cfg(test)]
#[path = "probes_tests.rs"]
mod tests;
