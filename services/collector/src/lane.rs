//! A lane in memory.

use crate::metrics::Latencies;
use crate::samples::{Arrival, Axis, Samples, Times};
use crate::told::Origin;
use hopwatch_analysis::{Clocks, LaneInfo, LedgerBuilder, decompose};
use hopwatch_model::{Outcome, Trace, TraceId};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Moments at which messages were missed in ROS that are kept.
const ROS_LOST: usize = 5_000;

/// One lane.
#[derive(Default)]
pub(crate) struct Lane {
    pub(crate) info: LaneInfo,
    pub(crate) ledger: LedgerBuilder,
    pub(crate) kept: VecDeque<Kept>,
    /// Where those that are kept stand among all that ever were.
    places: HashMap<TraceId, u64>,
    /// So many were kept once.
    first: u64,
    pub(crate) samples: Samples,
    /// For metrics: of all messages.
    pub(crate) latencies: Latencies,
    /// Messages that were missed in ROS, by when: (in ms since the start, how many).
    pub(crate) ros_lost: VecDeque<(i64, u64)>,
    ros_lost_before: u64,
    /// Something was told since the last look.
    pub(crate) has_news: bool,
    /// The account of those that were kept once.
    pub(crate) gone: LedgerBuilder,
    pub(crate) not_kept: u64,
}

/// A trace that is kept.
pub(crate) struct Kept {
    pub(crate) origin: Origin,
    pub(crate) trace: Arc<Trace>,
    /// Not a message that was taken before.
    fresh: bool,
}

impl Lane {
    /// The newest messages that are kept, newest first, without duplicates.
    pub(crate) fn newest(&self) -> impl Iterator<Item = &Arc<Trace>> {
        self.kept.iter().rev().filter(|kept| kept.fresh).map(|kept| &kept.trace)
    }

    fn place(&self, id: TraceId) -> Option<usize> {
        usize::try_from(self.places.get(&id)?.checked_sub(self.first)?).ok()
    }

    /// A message that is kept.
    pub(crate) fn message(&self, id: TraceId) -> Option<&Arc<Trace>> {
        self.kept.get(self.place(id)?).map(|kept| &kept.trace)
    }

    /// A message that is kept, and up to `n` that came before it and after it.
    pub(crate) fn around(&self, id: TraceId, n: usize) -> Option<Vec<Arc<Trace>>> {
        let place = self.place(id)?;
        let around = self.kept.range(place.saturating_sub(n)..(place + n + 1).min(self.kept.len()));
        Some(around.filter(|kept| kept.fresh).map(|kept| Arc::clone(&kept.trace)).collect())
    }

    /// Takes a message in; `keep` of them are kept.
    pub(crate) fn take(
        &mut self,
        origin: Origin,
        trace: Trace,
        keep: usize,
        arrival: Arrival,
        axis: &mut Axis,
    ) {
        let fresh = self.ledger.observe_trace(&trace);
        if fresh {
            self.sample(&trace, arrival, axis);
            self.places.insert(trace.id, self.first + self.kept.len() as u64);
        }
        self.kept.push_back(Kept { origin, trace: Arc::new(trace), fresh });
        if self.kept.len() > keep
            && let Some(oldest) = self.kept.pop_front()
        {
            self.gone.observe_trace(&oldest.trace);
            self.not_kept += 1;
            let place = self.first;
            self.first += 1;
            if self.places.get(&oldest.trace.id) == Some(&place) {
                self.places.remove(&oldest.trace.id);
            }
        }
    }

    /// The classes of a message are of one clock each: no relation of clocks is needed for them.
    fn sample(&mut self, trace: &Trace, arrival: Arrival, axis: &mut Axis) {
        let parts = match trace.outcome {
            Outcome::Delivered => decompose(trace, &[], &Clocks::default()).ok(),
            _ => None,
        };
        let times = parts.as_ref().and_then(Times::of);
        if let Some(times) = &times {
            self.latencies.observe(times);
        }
        self.samples.push(trace, times, arrival, axis);
    }

    /// Notes for `now`, in ms since the start, what is missing since the look before; what comes
    /// after all is taken back from the newest.
    pub(crate) fn look_for_losses(&mut self, now: i64) {
        if !std::mem::take(&mut self.has_news) {
            return;
        }
        let lost = self.ledger.ledger_now().lost_in_ros;
        let before = std::mem::replace(&mut self.ros_lost_before, lost);
        if lost > before {
            self.ros_lost.push_back((now, lost - before));
            if self.ros_lost.len() > ROS_LOST {
                self.ros_lost.pop_front();
            }
        }
        let mut found = before.saturating_sub(lost);
        while found > 0 {
            let Some((_, newest)) = self.ros_lost.back_mut() else { return };
            let back = found.min(*newest);
            *newest -= back;
            found -= back;
            if *newest == 0 {
                self.ros_lost.pop_back();
            }
        }
    }

    /// What is missing by now was missed before anybody looked.
    pub(crate) fn begin_looking(&mut self) {
        self.ros_lost_before = self.ledger.ledger_now().lost_in_ros;
    }
}
