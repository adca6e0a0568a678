//! The gateway's core on arrivals of the test's own, in virtual time.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hopwatch_analysis::{decompose, stability};
use hopwatch_clocksync::WallBracket;
use hopwatch_gateway::config::DropPolicy;
use hopwatch_gateway::contents::Contents;
use hopwatch_gateway::intake::{Arrival, Intake};
use hopwatch_gateway::pipeline::{Pipeline, UnderWay};
use hopwatch_kit::{Clock, Shutdown};
use hopwatch_link::{Call, CallError, Link, Reply, Request};
use hopwatch_model::{ClockId, Failure, Leg, Ns, Outcome, PublisherId, Stage, Trace};
use hopwatch_wire::headers::ServiceStamps;
use r2r::WrappedTypesupport;
use r2r::hopwatch_msgs::msg::RobotMessage;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::{Instant, sleep};

const WALL: Ns = 1_700_000_000_000_000_000;
const MS: Ns = 1_000_000;

struct VirtualClock(ClockId, Instant);

impl Clock for VirtualClock {
    fn id(&self) -> &ClockId {
        &self.0
    }
    fn now(&self) -> Ns {
        Ns::try_from(self.1.elapsed().as_nanos()).unwrap()
    }
}

/// A service that takes `time` and then answers as it is told.
struct Service {
    clock: Arc<VirtualClock>,
    time: Duration,
    media_type: &'static str,
    answer: &'static str,
    failure: Option<Failure>,
    /// The request is lost twice, and the reply once.
    lossy: bool,
}

impl Link for Service {
    fn call(&self, request: Request) -> BoxFuture<'_, Call> {
        async move {
            let lost = self.lossy.then(|| self.clock.now());
            if self.lossy {
                sleep(Duration::from_millis(7)).await;
            }
            let sent = self.clock.now();
            let work = sleep(self.time);
            let result = if tokio::time::timeout(request.deadline, work).await.is_err() {
                Err(CallError::new(Failure::TimedOut, "late"))
            } else {
                let done = self.clock.now();
                if self.lossy {
                    sleep(Duration::from_millis(5)).await;
                }
                let reply = Reply {
                    body: Bytes::from_static(self.answer.as_bytes()),
                    media_type: self.media_type.to_owned(),
                    stamps: Some(ServiceStamps {
                        clock: self.clock.id().clone(),
                        received: sent,
                        begun: Some(sent),
                        done,
                        resent: self.lossy.then(|| self.clock.now()),
                    }),
                    served_ns: None,
                };
                let told_to = |failure| CallError::new(failure, "told to");
                self.failure.map_or(Ok(reply), |failure| Err(told_to(failure)))
            };
            Call {
                connecting: None,
                first_sent: lost,
                sent: Some(sent),
                retries: if self.lossy { 3 } else { 0 },
                ended: self.clock.now(),
                result,
            }
        }
        .boxed()
    }
}

struct World {
    clock: Arc<VirtualClock>,
    pipeline: Arc<Pipeline>,
    records: Arc<Mutex<Vec<Trace>>>,
}

struct Setup {
    ai_ms: u64,
    workers: usize,
    queue: usize,
    answer: (&'static str, &'static str),
    ai_failure: Option<Failure>,
    web_failure: Option<Failure>,
    lossy: bool,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            ai_ms: 1000,
            workers: 64,
            queue: 1024,
            answer: ("application/json", r#"{"ok":true}"#),
            ai_failure: None,
            web_failure: None,
            lossy: false,
        }
    }
}

fn world(setup: &Setup) -> World {
    let clock = Arc::new(VirtualClock(ClockId::new("virtual"), Instant::now()));
    let records = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&records);
    let ai = Service {
        clock: Arc::clone(&clock),
        time: Duration::from_millis(setup.ai_ms),
        media_type: setup.answer.0,
        answer: setup.answer.1,
        failure: setup.ai_failure,
        lossy: setup.lossy,
    };
    let web = Service {
        clock: Arc::clone(&clock),
        time: Duration::from_millis(3),
        media_type: "application/json",
        answer: "{}",
        failure: setup.web_failure,
        lossy: setup.lossy,
    };
    let pipeline = Arc::new(Pipeline {
        lane: "lane".into(),
        contents: Contents::of_robots(),
        clock: Arc::clone(&clock) as Arc<dyn Clock>,
        intake: Arc::new(Intake::new(setup.workers, setup.queue, DropPolicy::Oldest)),
        ai: Arc::new(ai),
        web: Arc::new(web),
        ai_timeout: Duration::from_secs(5),
        web_timeout: Duration::from_secs(2),
        under_way: UnderWay::default(),
        drain: Duration::from_secs(2),
        bodies: None,
        record: Box::new(move |trace| sink.lock().unwrap().push(trace)),
    });
    World { clock, pipeline, records }
}

impl World {
    fn arrive(&self, number: u64) {
        self.offer(number, self.message(number));
    }

    /// So many, in one go.
    fn arrive_at_once(&self, count: u64) {
        (1..=count).for_each(|number| self.bring(number, self.message(number)));
        self.pipeline.start_here(&tokio::runtime::Handle::current());
    }

    fn message(&self, number: u64) -> Vec<u8> {
        let now = self.clock.now();
        let mut message = RobotMessage::default();
        message.header.robot_id = "robot_001".into();
        message.header.sequence = i32::try_from(number - 1).unwrap();
        let published = WALL + now - 2 * MS;
        message.header.timestamp_sec = published / 1_000_000_000;
        message.header.timestamp_nsec = published % 1_000_000_000;
        message.to_serialized_bytes().unwrap()
    }

    fn offer(&self, number: u64, bytes: Vec<u8>) {
        self.bring(number, bytes);
        // No more came with it.
        self.pipeline.start_here(&tokio::runtime::Handle::current());
    }

    /// One of several that come at once.
    fn bring(&self, number: u64, bytes: Vec<u8>) {
        let now = self.clock.now();
        let arrival = Arrival {
            bytes: bytes.into(),
            source_wall_ns: WALL + now - 2 * MS,
            received_wall_ns: WALL + now - MS,
            publication_sequence: Some(number),
            publisher: PublisherId([1; 16]),
            reordered: false,
            taken_ns: now,
            bracket: WallBracket { mono_before: now, wall: WALL + now, mono_after: now },
        };
        self.pipeline.offer(arrival, &tokio::runtime::Handle::current());
    }

    /// Sends `n` messages `period` apart, lets everything end, and returns what became of them.
    async fn play(self, n: u64, period: Duration) -> Vec<Trace> {
        let stop = Shutdown::new();
        let running = tokio::spawn(Arc::clone(&self.pipeline).run(stop.clone()));
        for number in 1..=n {
            self.arrive(number);
            sleep(period).await;
        }
        while !self.pipeline.intake.is_idle() {
            sleep(Duration::from_millis(10)).await;
        }
        stop.begin();
        running.await.unwrap();
        self.all()
    }

    fn all(&self) -> Vec<Trace> {
        let records = self.records.lock().unwrap().clone();
        let c = self.pipeline.intake.counters("lane");
        assert_eq!(c.taken, c.queue_dropped + c.finished, "each message has ended");
        assert_eq!(c.taken, records.len() as u64, "each message has one record");
        records
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_goes_the_whole_way_and_its_legs_sum_up() {
    let traces = world(&Setup::default()).play(1, Duration::ZERO).await;
    assert_eq!(traces[0].outcome, Outcome::Delivered);
    let parts = decompose(&traces[0], &[], &hopwatch_analysis::Clocks::default()).unwrap();
    // tokio's clock goes in whole milliseconds.
    let total = parts.pipeline_ns.unwrap();
    assert!((1_003 * MS..=1_006 * MS).contains(&total), "{total}");
    assert_eq!(parts.published.unwrap().0 - total, 2 * MS);
    assert_eq!(parts.pipeline.iter().map(|leg| leg.ns).sum::<Ns>(), total);
}

/// What a link had to send again is in the trace, as legs of their own.
#[tokio::test(start_paused = true)]
async fn what_was_lost_and_sent_again_is_told_apart() {
    let traces = world(&Setup { lossy: true, ..Setup::default() }).play(1, Duration::ZERO).await;
    assert_eq!((traces[0].ai_retries, traces[0].web_retries), (3, 3));
    let parts = decompose(&traces[0], &[], &hopwatch_analysis::Clocks::default()).unwrap();
    for (leg, ms) in
        [(Leg::AiRetry, 7), (Leg::AiResend, 5), (Leg::WebRetry, 7), (Leg::WebResend, 5)]
    {
        let found = parts.pipeline.iter().find(|found| found.leg == leg).unwrap();
        // tokio's clock goes in whole milliseconds.
        assert!((ms * MS..=(ms + 2) * MS).contains(&found.ns), "{found:?}");
    }
    assert_eq!(parts.pipeline.iter().map(|leg| leg.ns).sum::<Ns>(), parts.pipeline_ns.unwrap());
}

#[tokio::test(start_paused = true)]
async fn many_messages_are_worked_on_at_once() {
    let many = world(&Setup::default());
    let clock = Arc::clone(&many.clock);
    let traces = many.play(50, Duration::from_millis(1)).await;
    assert!(traces.iter().all(|t| t.outcome == Outcome::Delivered));
    assert!(clock.now() < 1_200 * MS, "50 × 1 s in {} ms", clock.now() / MS);
}

#[tokio::test(start_paused = true)]
async fn a_burst_loses_nothing_while_workers_are_free() {
    for queue in [1, 3] {
        let world = world(&Setup { queue, ..Setup::default() });
        let stop = Shutdown::new();
        let running = tokio::spawn(Arc::clone(&world.pipeline).run(stop.clone()));
        world.arrive_at_once(10);
        while !world.pipeline.intake.is_idle() {
            sleep(Duration::from_millis(10)).await;
        }
        stop.begin();
        running.await.unwrap();
        let outcomes: Vec<Outcome> = world.all().iter().map(|t| t.outcome).collect();
        assert_eq!(outcomes, [Outcome::Delivered; 10]);
    }
}

/// SEEDS S1: 1 Hz, 1.037 s in series, a history of one: the queue loses messages without a word
/// there. Here each has its record, and the lane is UNSTABLE.
#[tokio::test(start_paused = true)]
async fn in_series_the_published_pipeline_is_unstable_and_accounted_for() {
    let serial = world(&Setup { ai_ms: 1034, workers: 1, queue: 1, ..Setup::default() });
    let traces = serial.play(60, Duration::from_secs(1)).await;
    let count = |outcome| traces.iter().filter(|t| t.outcome == outcome).count();
    let (delivered, dropped) = (count(Outcome::Delivered), count(Outcome::QueueDropped));
    assert_eq!(delivered + dropped, 60);
    assert!(dropped >= 1, "60 s of arrivals don't fit into 58 places");
    let verdict = stability(&traces.iter().collect::<Vec<_>>(), 1);
    assert!(verdict.unstable, "{}", verdict.reason);
}

#[tokio::test(start_paused = true)]
async fn each_way_to_fail_has_its_outcome() {
    let failed = |stage, failure| Outcome::ServiceFailed(stage, failure);
    let cases = [
        (
            Setup { ai_failure: Some(Failure::Failed), ..Setup::default() },
            failed(Stage::Ai, Failure::Failed),
        ),
        (
            Setup { web_failure: Some(Failure::Broken), ..Setup::default() },
            failed(Stage::Web, Failure::Broken),
        ),
        (Setup { ai_ms: 6_000, ..Setup::default() }, failed(Stage::Ai, Failure::TimedOut)),
        (
            Setup { answer: ("text/html", "<h1>Sorry</h1>"), ..Setup::default() },
            failed(Stage::Ai, Failure::BadReply),
        ),
        (
            Setup { answer: ("application/json", "{\"half\":"), ..Setup::default() },
            failed(Stage::Ai, Failure::BadReply),
        ),
        (
            Setup { answer: ("application/json", ""), ..Setup::default() },
            failed(Stage::Ai, Failure::BadReply),
        ),
    ];
    for (setup, outcome) in cases {
        let traces = world(&setup).play(3, Duration::from_millis(5)).await;
        assert!(traces.iter().all(|t| t.outcome == outcome), "{:?}", traces[0]);
        assert!(traces[0].detail.is_some());
    }
}

#[tokio::test(start_paused = true)]
async fn garbage_is_undecodable_and_the_next_message_goes_on() {
    let world = world(&Setup::default());
    let stop = Shutdown::new();
    let running = tokio::spawn(Arc::clone(&world.pipeline).run(stop.clone()));
    world.offer(1, vec![0, 1, 0, 0, 0xff, 0xff, 0xff, 0xff]);
    world.offer(2, vec![]);
    world.arrive(3);
    while !world.pipeline.intake.is_idle() {
        sleep(Duration::from_millis(10)).await;
    }
    stop.begin();
    running.await.unwrap();
    let outcomes: Vec<Outcome> = world.all().iter().map(|t| t.outcome).collect();
    assert_eq!(outcomes, [Outcome::Undecodable, Outcome::Undecodable, Outcome::Delivered]);
}

#[tokio::test(start_paused = true)]
async fn a_stop_lets_messages_end_and_abandons_the_rest_by_name() {
    for (ai_ms, outcome) in [(1_000, Outcome::Delivered), (4_000, Outcome::Abandoned)] {
        let world = world(&Setup { ai_ms, workers: 2, ..Setup::default() });
        let stop = Shutdown::new();
        let running = tokio::spawn(Arc::clone(&world.pipeline).run(stop.clone()));
        (1..=3).for_each(|number| world.arrive(number));
        sleep(Duration::from_millis(10)).await;
        stop.begin();
        running.await.unwrap();
        let outcomes: Vec<Outcome> = world.all().iter().map(|t| t.outcome).collect();
        assert_eq!(outcomes, [outcome, outcome, Outcome::Abandoned]);
    }
}

#[tokio::test(start_paused = true)]
async fn what_came_right_before_the_stop_is_worked_on_while_workers_are_free() {
    let world = world(&Setup::default());
    world.arrive_at_once(10);
    let stop = Shutdown::new();
    stop.begin();
    Arc::clone(&world.pipeline).run(stop).await;
    let outcomes: Vec<Outcome> = world.all().iter().map(|t| t.outcome).collect();
    assert_eq!(outcomes, [Outcome::Delivered; 10]);
}
