//! What a robot says about its own publishing, of each topic apart.

use hopwatch_model::{ClockId, Ns};
use r2r::hopwatch_msgs::msg::Census;
use r2r::{Publisher, QosProfile};
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

/// The topic of all censuses.
pub const TOPIC: &str = "/hopwatch/census";

/// A census isn't told more often than that while counts change.
pub const PERIOD: Duration = Duration::from_millis(250);

/// What the census publisher offers: a late subscriber learns each robot's newest counts.
pub fn profile() -> QosProfile {
    QosProfile::default().reliable().transient_local().keep_last(1)
}

/// One robot's counts of a topic, written where it publishes and read where the census is told.
#[derive(Debug, Default)]
pub struct Counts {
    published: AtomicI64,
    failed: AtomicI64,
}

impl Counts {
    /// Counts a message that went through `publish()`, or failed to.
    pub fn record(&self, succeeded: bool) {
        let counter = if succeeded { &self.published } else { &self.failed };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// (published without an error, failed).
    pub fn read(&self) -> (i64, i64) {
        (self.published.load(Ordering::Relaxed), self.failed.load(Ordering::Relaxed))
    }
}

/// Tells one robot's census of a topic.
pub struct Teller {
    census: Census,
    publisher: Publisher<Census>,
    told: Option<Instant>,
}

impl Teller {
    /// The census of an instance of a robot, a UUID, and of a topic.
    pub fn new(
        publisher: Publisher<Census>,
        (robot_id, instance_id): (String, String),
        topic: String,
        clock: &ClockId,
        schedule_start_ns: Ns,
        rate_hz: f64,
    ) -> Self {
        let census = Census {
            robot_id,
            instance_id,
            topic,
            clock_id: clock.to_string(),
            schedule_start_mono_ns: schedule_start_ns,
            rate_hz,
            first_sequence: 0,
            published: 0,
            failed: 0,
            final_: false,
        };
        Self { census, publisher, told: None }
    }

    /// The robot follows another schedule from now on: its first message has this sequence. Tells it
    /// at once, before there is one.
    pub fn change_schedule(
        &mut self,
        (start_ns, first_sequence): (Ns, i32),
        rate_hz: f64,
        counts: &Counts,
        now: Instant,
    ) {
        self.census.schedule_start_mono_ns = start_ns;
        self.census.first_sequence = first_sequence;
        self.census.rate_hz = rate_hz;
        self.publish(counts, now);
    }

    /// Tells the counts when they have changed and [`PERIOD`] has gone by, and the first time.
    pub fn tell(&mut self, counts: &Counts, now: Instant) {
        let changed = counts.read() != (self.census.published, self.census.failed);
        let due = match self.told {
            None => true,
            Some(told) => changed && now.duration_since(told) >= PERIOD,
        };
        if due {
            self.publish(counts, now);
        }
    }

    /// Tells the counts for the last time: nothing follows from this instance.
    pub fn tell_last(&mut self, counts: &Counts, now: Instant) {
        self.census.final_ = true;
        self.publish(counts, now);
    }

    fn publish(&mut self, counts: &Counts, now: Instant) {
        (self.census.published, self.census.failed) = counts.read();
        self.told = Some(now);
        if let Err(error) = self.publisher.publish(&self.census) {
            tracing::warn!(robot = self.census.robot_id, "failed to publish the census: {error}");
        }
    }
}
