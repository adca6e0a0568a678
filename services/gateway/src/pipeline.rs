//! The way of each message through the gateway: queue → worker: AI → web → trace.
//!
//! Knows nothing of ROS, and takes its time from a clock that it is given: tests run it on
//! arrivals of their own and in virtual time.

use crate::contents::{Contents, Opened};
use crate::deferred::begin_here;
use crate::intake::{Arrival, Intake, Offered};
use crate::message;
use crate::probes::Bodies;
use bytes::Bytes;
use futures_util::FutureExt;
use hopwatch_clocksync::RHO_PPM;
use hopwatch_kit::{Clock, Shutdown};
use hopwatch_link::{Call, CallError, Link, Request};
use hopwatch_model::{ClockId, Failure, Hop, IMPOSSIBLE_TIMING, Ns, Outcome, Stage, Trace};
use serde_json::value::RawValue;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

/// Takes what became of a message.
pub type TakeTrace = Box<dyn Fn(Trace) + Send + Sync>;

/// Everything a worker needs.
pub struct Pipeline {
    /// The lane.
    pub lane: String,
    /// The gateway's clock.
    pub clock: Arc<dyn Clock>,
    /// Where messages wait.
    pub intake: Arc<Intake>,
    /// What its messages hold.
    pub contents: Contents,
    /// The AI service.
    pub ai: Arc<dyn Link>,
    /// The web service.
    pub web: Arc<dyn Link>,
    /// How long the AI service may take.
    pub ai_timeout: Duration,
    /// How long the web service may take.
    pub web_timeout: Duration,
    /// How long messages under way may take to end at a shutdown.
    pub drain: Duration,
    /// Takes what became of each message.
    pub record: TakeTrace,
    /// Messages under way.
    pub under_way: UnderWay,
    /// Where the newest bodies are laid down for shadow probes.
    pub bodies: Option<Arc<Bodies>>,
}

/// Messages under way, and the wish that they end.
#[derive(Default)]
pub struct UnderWay {
    tasks: TaskTracker,
    abandon: Shutdown,
}

impl Pipeline {
    /// Takes a message in, and does what has to be done for it; never waits.
    pub fn offer(self: &Arc<Self>, arrival: Arrival, runtime: &Handle) {
        match self.intake.offer(arrival) {
            Offered::Waits => {}
            Offered::Starts(first) => self.spawn(first, runtime),
            Offered::Dropped(arrival) => self.drop_from_queue(&arrival),
        }
        while let Some(overflow) = self.intake.overflow() {
            match overflow {
                Offered::Starts(first) => self.spawn(first, runtime),
                Offered::Dropped(arrival) => self.drop_from_queue(&arrival),
                Offered::Waits => {}
            }
        }
    }

    fn spawn(self: &Arc<Self>, arrival: Arrival, runtime: &Handle) {
        let work = Arc::clone(self).worker(arrival, self.clock.now());
        self.under_way.tasks.spawn_on(work, runtime);
    }

    /// A message that the queue gave up.
    fn drop_from_queue(&self, arrival: &Arrival) {
        let mut trace = self.contents.identify(arrival, &self.lane, self.clock.id());
        if trace.outcome != Outcome::Undecodable {
            trace.outcome = Outcome::QueueDropped;
        }
        (self.record)(trace);
    }

    /// Works until the shutdown begins, and starts what workers are free for by then; then lets
    /// messages under way end for the drain time and abandons the rest, each with its record.
    pub async fn run(self: Arc<Self>, shutdown: Shutdown) {
        let UnderWay { tasks, abandon } = &self.under_way;
        loop {
            let arrival = tokio::select! {
                // What came before the stop is worked on.
                biased;
                arrival = self.intake.next() => arrival,
                () = shutdown.begun() => break,
            };
            let Some(arrival) = arrival else { break };
            tasks.spawn(Arc::clone(&self).worker(arrival, self.clock.now()));
        }
        tasks.close();
        if tokio::time::timeout(self.drain, tasks.wait()).await.is_err() {
            abandon.begin();
            tasks.wait().await;
        }
        for arrival in self.intake.close() {
            (self.record)(self.contents.identify(&arrival, &self.lane, self.clock.id()));
        }
    }

    /// Starts the message that waits alone, if one does and a worker is free, on this very
    /// thread: its request is on the wire before any other thread has been woken, which would
    /// cost more than all the rest. Whatever it has to wait for is waited for elsewhere.
    pub fn start_here(self: &Arc<Self>, runtime: &Handle) {
        // Who takes from ROS must not wait for JSON of a large one.
        let light = |arrival: &Arrival| Contents::is_light(&arrival.bytes);
        let Some(arrival) = self.intake.start_alone(light) else { return };
        let work = Arc::clone(self).worker(arrival, self.clock.now());
        begin_here(self.under_way.tasks.track_future(work).boxed(), runtime);
    }

    /// One message, and its place: whatever happens, it is finished once and has one record.
    async fn worker(self: Arc<Self>, arrival: Arrival, started: i64) {
        let work = self.work(&arrival, started);
        if AssertUnwindSafe(work).catch_unwind().await.is_err() {
            let mut trace = message::bare(&arrival, &self.lane, self.clock.id());
            trace.detail = Some("a worker of the gateway panicked".to_owned());
            (self.record)(trace);
        }
        // Recorded before it counts as finished: who sees the counter finds the record.
        self.intake.finished(arrival.bytes.len());
    }

    /// One message; whatever happens, it ends with one record.
    async fn work(self: &Arc<Self>, arrival: &Arrival, started: i64) {
        let (mut trace, opened) = self.open(arrival).await;
        trace.stamps.set(Hop::Started, self.clock.id(), started);
        if let Some(opened) = opened {
            tokio::select! {
                () = self.travel(&mut trace, opened) => {}
                () = self.under_way.abandon.begun() => {
                    trace.outcome = Outcome::Abandoned;
                    trace.detail = Some("the gateway was stopped first".to_owned());
                }
            }
        }
        (self.record)(trace);
    }

    /// The message read, on a thread of its own if that takes long: nobody's stamps wait for it.
    async fn open(self: &Arc<Self>, arrival: &Arrival) -> (Trace, Option<Opened>) {
        if !self.contents.is_heavy(arrival) {
            return self.contents.open(arrival, &self.lane, self.clock.id());
        }
        let (own, arrival) = (Arc::clone(self), arrival.clone());
        aside(move || own.contents.open(&arrival, &own.lane, own.clock.id())).await
    }

    /// The same of what the web service gets.
    async fn web_body(
        self: &Arc<Self>,
        trace: &Trace,
        message: Bytes,
        answer: Box<RawValue>,
    ) -> Result<Bytes, String> {
        if !self.contents.is_heavy_for_web(&message) {
            return self.contents.web_body(trace, &message, &answer);
        }
        let (own, trace) = (Arc::clone(self), trace.clone());
        aside(move || own.contents.web_body(&trace, &message, &answer)).await
    }

    async fn travel(self: &Arc<Self>, trace: &mut Trace, Opened { ai, message }: Opened) {
        self.lay_down(Stage::Ai, &ai);
        let call = self.call(&*self.ai, trace, ai, self.ai_timeout).await;
        note(trace, &call, &AI, self.clock.id());
        let answer = match call.result.and_then(|reply| self.contents.answer(&reply)) {
            Ok(answer) => answer,
            Err(error) => return fail(trace, Stage::Ai, error),
        };
        let body = match self.web_body(trace, message, answer).await {
            Ok(body) => body,
            Err(why) => return fail(trace, Stage::Web, CallError::new(Failure::NotMade, why)),
        };
        self.lay_down(Stage::Web, &body);
        let call = self.call(&*self.web, trace, body, self.web_timeout).await;
        note(trace, &call, &WEB, self.clock.id());
        match call.result {
            Ok(_) => trace.outcome = Outcome::Delivered,
            Err(error) => fail(trace, Stage::Web, error),
        }
    }

    fn lay_down(&self, stage: Stage, body: &Bytes) {
        if let Some(bodies) = &self.bodies {
            bodies.put(stage, body);
        }
    }

    async fn call(&self, link: &dyn Link, trace: &Trace, body: Bytes, deadline: Duration) -> Call {
        link.call(Request { trace: Some(trace.id), body, deadline }).await
    }
}

/// Work that takes long, on a thread that nothing else waits for.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        // It is a panic: a task on such a thread isn't cancelled once it runs.
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

/// Where the stamps of a call belong.
struct Hops {
    connecting: Hop,
    first_sent: Hop,
    sent: Hop,
    received: Hop,
    begun: Option<Hop>,
    done: Hop,
    resent: Hop,
    ended: Hop,
}

const AI: Hops = Hops {
    connecting: Hop::AiConnecting,
    first_sent: Hop::AiFirstSent,
    sent: Hop::AiSent,
    received: Hop::AiReceived,
    begun: Some(Hop::AiBegun),
    done: Hop::AiDone,
    resent: Hop::AiResent,
    ended: Hop::AiAnswered,
};

const WEB: Hops = Hops {
    connecting: Hop::WebConnecting,
    first_sent: Hop::WebFirstSent,
    sent: Hop::WebSent,
    received: Hop::WebReceived,
    begun: None,
    done: Hop::WebDone,
    resent: Hop::WebResent,
    ended: Hop::WebAcked,
};

/// Puts a call's stamps into the trace. Only a whole reply has an end and a service's stamps.
fn note(trace: &mut Trace, call: &Call, hops: &Hops, clock: &ClockId) {
    match hops.begun {
        Some(_) => trace.ai_retries = call.retries,
        None => trace.web_retries = call.retries,
    }
    let stamps = &mut trace.stamps;
    for (hop, ns) in [
        (hops.connecting, call.connecting),
        (hops.first_sent, call.first_sent),
        (hops.sent, call.sent),
    ] {
        if let Some(ns) = ns {
            stamps.set(hop, clock, ns);
        }
    }
    let Ok(reply) = &call.result else {
        stamps.set(Hop::Failed, clock, call.ended);
        return;
    };
    stamps.set(hops.ended, clock, call.ended);
    if let Some(served) = &reply.stamps {
        stamps.set(hops.received, &served.clock, served.received);
        if let (Some(hop), Some(begun)) = (hops.begun, served.begun) {
            stamps.set(hop, &served.clock, begun);
        }
        stamps.set(hops.done, &served.clock, served.done);
        if let Some(resent) = served.resent {
            stamps.set(hops.resent, &served.clock, resent);
        }
    }
    let round_trip = call.ended.saturating_sub(call.sent.unwrap_or(call.ended));
    let possible = |&(wait, rest): &(Ns, Ns)| is_possible(wait.saturating_add(rest), round_trip);
    if reply.served_ns.as_ref().is_some_and(|served| !possible(served)) {
        // Not a word of it is used.
        trace.oddities.push(IMPOSSIBLE_TIMING);
    }
    let served = reply.served_ns.filter(possible);
    match hops.begun {
        Some(_) => trace.ai_served_ns = served,
        None => trace.web_served_ns = served.map(|(wait, rest)| wait + rest),
    }
}

/// Whether a service may have worked for as long as it tells: not for longer than was waited for
/// it, but for what its clock may run faster than ours.
fn is_possible(told: Ns, round_trip: Ns) -> bool {
    told - told / (1_000_000 / RHO_PPM) <= round_trip
}

fn fail(trace: &mut Trace, stage: Stage, error: CallError) {
    trace.outcome = Outcome::ServiceFailed(stage, error.failure);
    trace.detail = Some(error.detail);
}

#[cfg(test)]
mod tests {
    use super::is_possible;
    use hopwatch_model::Ns;

    #[test]
    fn a_service_may_tell_as_much_more_than_was_waited_as_its_clock_may_run_fast() {
        let second = 1_000_000_000;
        assert!(is_possible(second + 50_000, second));
        assert!(!is_possible(second + 51_000, second));
        assert!(is_possible(0, 0) && !is_possible(1, 0));
        assert!(!is_possible(Ns::MAX, second));
    }
}
