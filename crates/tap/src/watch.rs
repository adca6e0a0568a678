//! `QoS` events: what the middleware tells beside messages.

use crate::entity::Fixed;
use crate::error::{TapError, check, code, forget, report};
use crate::qos::Policy;
use r2r_rcl::{
    RCL_RET_EVENT_TAKE_FAILED, RCL_RET_UNSUPPORTED, rcl_event_fini, rcl_event_t,
    rcl_get_zero_initialized_event, rcl_subscription_event_init, rcl_subscription_event_type_t,
    rcl_subscription_t, rcl_take_event, rmw_message_lost_status_t,
    rmw_requested_qos_incompatible_event_status_t,
};
use std::mem::MaybeUninit;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    #[cfg(ros_matched_event)]
    Matched,
    MessageLost,
    IncompatibleQos,
}

/// One kind of event of one subscription.
pub(crate) struct Event {
    kind: Kind,
    raw: Fixed<rcl_event_t>,
    seen: Counts,
}

/// The counts that were last told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    total: usize,
    current: usize,
}

/// What is new.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum News {
    #[cfg(ros_matched_event)]
    Matched {
        current: usize,
        change: i32,
    },
    MessageLost {
        total: usize,
        change: usize,
    },
    IncompatibleQos {
        total: usize,
        policy: Policy,
    },
}

impl Event {
    /// The events of a subscription, as far as the middleware supports them.
    ///
    /// # Safety
    /// The subscription is valid and outlives the events.
    pub(crate) unsafe fn all(
        subscription: *const rcl_subscription_t,
        topic: &str,
    ) -> Result<Vec<Self>, TapError> {
        use rcl_subscription_event_type_t as Type;
        let mut events = Vec::new();
        for (kind, rcl_type) in [
            #[cfg(ros_matched_event)]
            (Kind::Matched, Type::RCL_SUBSCRIPTION_MATCHED),
            (Kind::MessageLost, Type::RCL_SUBSCRIPTION_MESSAGE_LOST),
            (Kind::IncompatibleQos, Type::RCL_SUBSCRIPTION_REQUESTED_INCOMPATIBLE_QOS),
        ] {
            // SAFETY: no preconditions.
            let raw = Fixed::new(unsafe { rcl_get_zero_initialized_event() });
            // SAFETY: the event is zero-initialised; the caller vouches for the subscription.
            let ret = unsafe { rcl_subscription_event_init(raw.ptr(), subscription, rcl_type) };
            if ret == code(RCL_RET_UNSUPPORTED) {
                forget();
                tracing::info!("the middleware tells no {kind:?} events on {topic}");
                continue;
            }
            check(ret, || format!("watch for {kind:?} events on {topic}"))?;
            events.push(Self { kind, raw, seen: Counts::default() });
        }
        Ok(events)
    }

    pub(crate) fn ptr(&self) -> *const rcl_event_t {
        self.raw.ptr()
    }

    /// What is new since the last time.
    ///
    /// Told from the counts themselves: the changes that the middleware tells are of no use, since
    /// a status may come twice, or without a change because something else has read it.
    pub(crate) fn news(&mut self, topic: &str) -> Result<Option<News>, TapError> {
        let before = self.seen;
        let (seen, news) = match self.kind {
            #[cfg(ros_matched_event)]
            Kind::Matched => {
                // SAFETY: this is the status that rcl writes for this kind of event.
                let status = unsafe { self.take::<r2r_rcl::rmw_matched_status_t>(topic)? };
                let Some(status) = status else { return Ok(None) };
                // SAFETY: rcl wrote it; all its fields are integers.
                let status = unsafe { status.assume_init() };
                let current = status.current_count;
                let change = current.cast_signed() - before.current.cast_signed();
                let change = i32::try_from(change).unwrap_or(0);
                (Counts { total: status.total_count, current }, News::Matched { current, change })
            }
            Kind::MessageLost => {
                // SAFETY: this is the status that rcl writes for this kind of event.
                let status = unsafe { self.take::<rmw_message_lost_status_t>(topic)? };
                let Some(status) = status else { return Ok(None) };
                // SAFETY: rcl wrote it; all its fields are integers.
                let total = unsafe { status.assume_init() }.total_count;
                let change = total.saturating_sub(before.total);
                (Counts { total, current: 0 }, News::MessageLost { total, change })
            }
            Kind::IncompatibleQos => {
                type Status = rmw_requested_qos_incompatible_event_status_t;
                // SAFETY: this is the status that rcl writes for this kind of event.
                let Some(status) = (unsafe { self.take::<Status>(topic)? }) else {
                    return Ok(None);
                };
                let status = status.as_ptr();
                // SAFETY: rcl wrote it. The policy is an enum in the bindings and is read as the
                // number that it is in C, since it might be one that they don't know.
                let (total, kind) = unsafe {
                    let policy = (&raw const (*status).last_policy_kind).cast::<u32>();
                    ((*status).total_count, policy.read())
                };
                let total = usize::try_from(total).unwrap_or(0);
                let policy = Policy::from_rmw(kind);
                (Counts { total, current: 0 }, News::IncompatibleQos { total, policy })
            }
        };
        self.seen = seen;
        Ok((seen != before).then_some(news))
    }

    /// Reads the status; `Ok(None)` when there is none.
    ///
    /// # Safety
    /// `S` is the C struct of this kind of event (`rmw/events_statuses/`).
    unsafe fn take<S>(&self, topic: &str) -> Result<Option<MaybeUninit<S>>, TapError> {
        // Zeroed, so that no field stays undefined even if a middleware writes only some.
        let mut status = MaybeUninit::<S>::zeroed();
        // SAFETY: the event is valid, and the caller vouches for the status' type.
        let ret = unsafe { rcl_take_event(self.raw.ptr(), status.as_mut_ptr().cast()) };
        if ret == code(RCL_RET_EVENT_TAKE_FAILED) {
            forget();
            return Ok(None);
        }
        check(ret, || format!("take a {:?} event of {topic}", self.kind))?;
        Ok(Some(status))
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: the event is valid; its subscription outlives it, as was promised to `all`.
        report(unsafe { rcl_event_fini(self.raw.ptr()) }, "finalise a QoS event");
    }
}
