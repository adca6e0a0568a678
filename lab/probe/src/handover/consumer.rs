//! What every consumer does with a message, however it came.

use super::Handover;
use super::frame::{Template, head};
use super::observe::{Maps, cpu_ns};
use hopwatch_kit::Shutdown;
use hopwatch_kit::clock::mono_ns;
use hopwatch_lab::handover::Took;
use std::time::{Duration, Instant};

/// How long a consumer sleeps before it looks whether it is to end.
pub(super) const LOOK: Duration = Duration::from_millis(50);

/// A consumer.
pub(super) struct Consumer {
    args: Handover,
    template: Template,
    took: Took,
    /// A process of its own: what it spends on the processors is its own, too.
    alone: bool,
    cpu_from_ns: Option<i64>,
    cpu_to_ns: i64,
    ended: bool,
    until: Instant,
}

impl Consumer {
    pub(super) fn new(args: &Handover, template: Template, alone: bool) -> Self {
        let until = Instant::now() + Duration::from_millis(args.for_ms.into());
        let took = Took::default();
        let args = args.clone();
        Self { args, template, took, alone, cpu_from_ns: None, cpu_to_ns: 0, ended: false, until }
    }

    /// A message that was just had in hand.
    pub(super) fn message(&mut self, payload: &[u8]) -> anyhow::Result<()> {
        let had_ns = mono_ns();
        let Some((number, handed_ns)) = head(payload) else {
            self.took.wrong += 1;
            return Ok(());
        };
        let holds = self.template.holds(payload);
        let read_ns = mono_ns();
        let first = u64::from(self.args.warm_up);
        if number + 1 >= first && self.cpu_from_ns.is_none() {
            self.cpu_from_ns = Some(cpu_ns());
        }
        if number >= first {
            self.took.wrong += u64::from(!holds);
            self.took.latency_ns.push(had_ns - handed_ns);
            self.took.read_ns.push(read_ns - handed_ns);
            if self.args.addresses.is_some() {
                self.took.buffers.push(Maps::now()?.buffer(number, payload));
            }
            if self.args.slow_ms > 0 {
                std::thread::sleep(Duration::from_millis(self.args.slow_ms.into()));
            }
            self.cpu_to_ns = cpu_ns();
        }
        self.ended |= number + 1 >= self.args.end();
        Ok(())
    }

    /// Whether nothing more is to come: the last one came, the end was asked for, or it is too late.
    pub(super) fn is_done(&self, asked: &Shutdown) -> bool {
        self.ended || asked.has_begun() || Instant::now() > self.until
    }

    /// What it says of itself.
    pub(super) fn end(mut self, lends: Option<bool>) -> anyhow::Result<Took> {
        // Else what it did not wait for would look like loss.
        let late = !self.ended && Instant::now() > self.until;
        anyhow::ensure!(!late, "the time was over before the last message");
        if self.alone {
            self.took.cpu_ns = self.cpu_from_ns.map_or(0, |from| (self.cpu_to_ns - from).max(0));
        }
        self.took.maps = Maps::now()?.shared();
        self.took.lends = lends;
        Ok(self.took)
    }
}
