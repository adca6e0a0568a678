//! rcl's wait set.

use crate::entity::{Context, Fixed, GuardCondition, Node};
use crate::error::{TapError, check, code, report};
use crate::reader::Reader;
use r2r_rcl::{
    RCL_RET_TIMEOUT, rcl_get_zero_initialized_wait_set, rcl_wait, rcl_wait_set_add_event,
    rcl_wait_set_add_guard_condition, rcl_wait_set_add_subscription, rcl_wait_set_clear,
    rcl_wait_set_fini, rcl_wait_set_init, rcl_wait_set_t, rcutils_get_default_allocator,
};
use std::ptr;
use std::rc::Rc;
use std::time::Instant;

/// Waits for messages, events or the guard condition; made once, filled anew for each wait, as
/// rcl asks.
pub(crate) struct WaitSet {
    raw: Fixed<rcl_wait_set_t>,
    _context: Rc<Context>,
    /// Which subscriptions have messages, as of the last wait.
    pub(crate) messages: Vec<bool>,
    /// Which (subscription, event of it) have something to tell, as of the last wait.
    pub(crate) events: Vec<(usize, usize)>,
}

/// What else a wait ended for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Woken {
    /// The tap's guard condition.
    pub(crate) called: bool,
    /// A change of the ROS graph.
    pub(crate) graph: bool,
}

impl WaitSet {
    pub(crate) fn new(context: Rc<Context>, readers: &[Reader]) -> Result<Self, TapError> {
        let event_count = readers.iter().map(Reader::event_count).sum();
        // SAFETY: no preconditions.
        let raw = Fixed::new(unsafe { rcl_get_zero_initialized_wait_set() });
        // SAFETY: the wait set is zero-initialised, the context is valid and outlives it
        // (`_context`), the allocator is valid.
        let ret = unsafe {
            rcl_wait_set_init(
                raw.ptr(),
                readers.len(),
                // The tap's own and the graph's.
                2,
                0,
                0,
                0,
                event_count,
                context.ptr(),
                rcutils_get_default_allocator(),
            )
        };
        check(ret, || "create the tap's wait set".to_owned())?;
        Ok(Self {
            raw,
            _context: context,
            // All, to begin with: something may have happened before there was a wait.
            messages: vec![true; readers.len()],
            events: readers
                .iter()
                .enumerate()
                .flat_map(|(at, reader)| (0..reader.event_count()).map(move |event| (at, event)))
                .collect(),
        })
    }

    /// Sleeps until something is there, the ROS graph changed, or it is `until`; however long that
    /// takes.
    pub(crate) fn wait(
        &mut self,
        readers: &[Reader],
        guard: &GuardCondition,
        node: &Node,
        until: Option<Instant>,
    ) -> Result<Woken, TapError> {
        let set = self.raw.ptr();
        // Negative: no timeout.
        let timeout_ns = until.map_or(-1, |until| {
            let left = until.saturating_duration_since(Instant::now());
            i64::try_from(left.as_nanos()).unwrap_or(i64::MAX)
        });
        // SAFETY: the set is valid and has room for what it was made for, which is what is added:
        // two guard conditions, the readers' subscriptions and events. They are all valid and stay
        // where they are beyond the wait (`Fixed`). Nothing of them is finalised meanwhile.
        unsafe {
            check(rcl_wait_set_clear(set), || "clear the wait set".to_owned())?;
            let add = || "fill the wait set".to_owned();
            check(rcl_wait_set_add_guard_condition(set, guard.ptr(), ptr::null_mut()), add)?;
            let changes = node.graph_changes();
            check(rcl_wait_set_add_guard_condition(set, changes, ptr::null_mut()), add)?;
            for reader in readers {
                let subscription = reader.subscription_ptr();
                check(rcl_wait_set_add_subscription(set, subscription, ptr::null_mut()), add)?;
                for event in reader.event_ptrs() {
                    check(rcl_wait_set_add_event(set, event, ptr::null_mut()), add)?;
                }
            }
            let ret = rcl_wait(set, timeout_ns);
            if ret != code(RCL_RET_TIMEOUT) {
                check(ret, || "wait for messages".to_owned())?;
            }
        }
        Ok(self.read(readers))
    }

    /// rcl sets what isn't ready to null; the rest keeps the order in which it was added.
    fn read(&mut self, readers: &[Reader]) -> Woken {
        self.events.clear();
        let set = self.raw.ptr();
        let mut event_at = 0;
        for (at, reader) in readers.iter().enumerate() {
            // SAFETY: the set has as many subscriptions as there are readers.
            self.messages[at] = unsafe { !(*(*set).subscriptions.add(at)).is_null() };
            for of_reader in 0..reader.event_count() {
                // SAFETY: the set has as many events as the readers have in all.
                if unsafe { !(*(*set).events.add(event_at)).is_null() } {
                    self.events.push((at, of_reader));
                }
                event_at += 1;
            }
        }
        // SAFETY: the set has two guard conditions; the tap's own is the first.
        unsafe {
            let guards = (*set).guard_conditions;
            Woken { called: !(*guards).is_null(), graph: !(*guards.add(1)).is_null() }
        }
    }
}

impl Drop for WaitSet {
    fn drop(&mut self) {
        // SAFETY: `new` made it valid, and nobody waits.
        report(unsafe { rcl_wait_set_fini(self.raw.ptr()) }, "finalise the wait set");
    }
}
