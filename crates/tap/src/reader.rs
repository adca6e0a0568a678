//! One subscription: taking messages and `QoS` events.

use crate::clock::{bracket, mono_ns};
use crate::entity::{Fixed, Node};
use crate::error::{TapError, c_string, check, code, forget, report, text};
use crate::event::{Taken, TapEvent};
use crate::graph::{self, Picture, publisher_id};
use crate::qos::{self, Policy, Qos};
use crate::tap::Subscription;
use crate::watch::{Event, News};
use bytes::Bytes;
use r2r_rcl::{
    RCL_RET_SUBSCRIPTION_TAKE_FAILED, rcl_event_t, rcl_get_zero_initialized_subscription,
    rcl_serialized_message_t, rcl_subscription_fini, rcl_subscription_get_default_options,
    rcl_subscription_get_publisher_count, rcl_subscription_get_topic_name, rcl_subscription_init,
    rcl_subscription_t, rcl_take_serialized_message, rcutils_get_default_allocator,
    rcutils_get_zero_initialized_uint8_array, rcutils_uint8_array_fini, rmw_message_info_t,
};
use std::ptr;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// A subscription with its `QoS` events. Fields are dropped in order: rcl wants the events
/// finalised before their subscription.
pub(crate) struct Reader {
    events: Vec<Event>,
    subscription: Handle,
    /// The topic's full name.
    topic: String,
    /// The type's ROS name.
    topic_type: String,
    qos: Qos,
    take_failures: u64,
    misfit: Option<Misfit>,
}

/// A publisher was seen whose settings don't fit; to be told once it is known who it is.
struct Misfit {
    policy: Policy,
    total: usize,
    tell_at: Instant,
}

/// DDS tells of a misfit some milliseconds before ROS tells the name of the publisher's node. So
/// long is waited for the name; plain DDS writers never have one.
const NAME_PATIENCE: Duration = Duration::from_secs(1);

struct Handle {
    raw: Fixed<rcl_subscription_t>,
    node: Rc<Node>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: the subscription is valid and was made with this node, which is alive.
        let ret = unsafe { rcl_subscription_fini(self.raw.ptr(), self.node.ptr()) };
        report(ret, "finalise a subscription");
    }
}

impl Reader {
    pub(crate) fn new(node: Rc<Node>, wanted: &Subscription) -> Result<Self, TapError> {
        let what = || format!("create subscription on {}", wanted.topic);
        if wanted.qos.depth == 0 {
            return Err(TapError::NoDepth { topic: wanted.topic.clone() });
        }
        let topic = c_string(&wanted.topic, what)?;
        // SAFETY: no preconditions.
        let raw = Fixed::new(unsafe { rcl_get_zero_initialized_subscription() });
        // SAFETY: no preconditions.
        let mut options = unsafe { rcl_subscription_get_default_options() };
        wanted.qos.put(&mut options.qos);
        // SAFETY: the subscription is zero-initialised; node, type support, name and options are
        // valid; the node outlives the subscription (`Handle::node`).
        let ret = unsafe {
            rcl_subscription_init(
                raw.ptr(),
                node.ptr(),
                wanted.type_support.handle(),
                topic.as_ptr(),
                &raw const options,
            )
        };
        check(ret, what)?;
        let subscription = Handle { raw, node };
        // SAFETY: the subscription is valid; the name lives as long as it does and is copied.
        let topic = unsafe { text(rcl_subscription_get_topic_name(subscription.raw.ptr())) };
        let topic = topic.unwrap_or_else(|| wanted.topic.clone());
        // SAFETY: the subscription is valid, and `Reader` drops the events before it.
        let events = unsafe { Event::all(subscription.raw.ptr(), &topic)? };
        let topic_type = wanted.type_support.name().to_owned();
        let qos = wanted.qos;
        Ok(Self { events, subscription, topic, topic_type, qos, take_failures: 0, misfit: None })
    }

    /// What the ROS graph has to do with this subscription.
    pub(crate) fn look(&self) -> Result<Picture, TapError> {
        let node = &self.subscription.node;
        let publishers = graph::publishers(node, &self.topic)?;
        let mut matched = 0;
        // SAFETY: the subscription is valid, `matched` is writable.
        let ret = unsafe {
            rcl_subscription_get_publisher_count(self.subscription_ptr(), &raw mut matched)
        };
        check(ret, || format!("count the matched publishers of {}", self.topic))?;
        let elsewhere = if publishers.is_empty() {
            graph::elsewhere(node, &self.topic, &self.topic_type)?
        } else {
            Vec::new()
        };
        Ok(Picture { topic: self.topic.clone(), publishers, matched, elsewhere })
    }

    pub(crate) fn subscription_ptr(&self) -> *const rcl_subscription_t {
        self.subscription.raw.ptr()
    }

    pub(crate) fn event_ptrs(&self) -> impl Iterator<Item = *const rcl_event_t> {
        self.events.iter().map(Event::ptr)
    }

    pub(crate) fn event_count(&self) -> usize {
        self.events.len()
    }

    /// How many messages the reader can hold, and so how many one round of taking may find.
    pub(crate) fn depth(&self) -> usize {
        self.qos.depth
    }

    /// Takes one message; `Ok(None)` when none is there.
    pub(crate) fn take(&self) -> Result<Option<Taken>, TapError> {
        let mut message = Serialized::new();
        let mut info = rmw_message_info_t::default();
        // SAFETY: the subscription is valid, the message is an initialised (empty) array which
        // rmw enlarges with its own allocator, the info is writable, and no allocation is given.
        let ret = unsafe {
            rcl_take_serialized_message(
                self.subscription_ptr(),
                &raw mut message.0,
                &raw mut info,
                ptr::null_mut(),
            )
        };
        let taken_mono_ns = mono_ns();
        if ret == code(RCL_RET_SUBSCRIPTION_TAKE_FAILED) {
            forget();
            return Ok(None);
        }
        check(ret, || format!("take a message from {}", self.topic))?;
        Ok(Some(Taken {
            bracket: bracket(),
            taken_mono_ns,
            source_wall_ns: info.source_timestamp,
            received_wall_ns: info.received_timestamp,
            publication_sequence: sequence(info.publication_sequence_number),
            publisher: publisher_id(&info.publisher_gid.data),
            bytes: Bytes::from_owner(message),
        }))
    }

    /// Counts a failed take and tells of it.
    pub(crate) fn take_failed(&mut self, subscription: usize, error: &TapError) -> TapEvent {
        self.take_failures += 1;
        TapEvent::TakeFailed { subscription, total: self.take_failures, detail: error.to_string() }
    }

    /// What is new of the `at`-th `QoS` event of `index`, this subscription.
    pub(crate) fn take_event(
        &mut self,
        index: usize,
        at: usize,
    ) -> Result<Option<TapEvent>, TapError> {
        let news = self.events[at].news(&self.topic)?;
        Ok(news.and_then(|news| match news {
            #[cfg(ros_matched_event)]
            News::Matched { current, change } => {
                Some(TapEvent::Matched { subscription: index, current, change })
            }
            News::MessageLost { total, change } => {
                Some(TapEvent::MessageLost { subscription: index, total, change })
            }
            News::IncompatibleQos { total, policy } => {
                let tell_at = Instant::now() + NAME_PATIENCE;
                self.misfit = Some(Misfit { policy, total, tell_at });
                None
            }
        }))
    }

    /// When an event on a misfit has to be told at the latest; `None`: there is none to tell.
    pub(crate) fn tell_at(&self) -> Option<Instant> {
        self.misfit.as_ref().map(|misfit| misfit.tell_at)
    }

    /// The event on a misfit of `index`, this subscription, if there is one and its publisher is
    /// known by now or won't be.
    pub(crate) fn explain(&mut self, index: usize) -> Result<Option<TapEvent>, TapError> {
        let Some(misfit) = &self.misfit else {
            return Ok(None);
        };
        let offered = graph::publishers(&self.subscription.node, &self.topic)?;
        if !qos::misfits_are_named(self.qos, &offered) && Instant::now() < misfit.tell_at {
            return Ok(None);
        }
        let event = TapEvent::IncompatibleQos {
            subscription: index,
            total: misfit.total,
            policy: misfit.policy,
            requested: self.qos,
            advice: qos::advice(&self.topic, self.qos, misfit.policy, &offered),
            offered,
        };
        self.misfit = None;
        Ok(Some(event))
    }
}

/// `RMW_MESSAGE_INFO_SEQUENCE_NUMBER_UNSUPPORTED` is the largest u64; DDS counts from 1 in an
/// i64, and gives negative numbers to what it doesn't know.
fn sequence(number: u64) -> Option<u64> {
    (1..=i64::MAX.cast_unsigned()).contains(&number).then_some(number)
}

/// A serialized message in memory of rcl's allocator.
struct Serialized(rcl_serialized_message_t);

// SAFETY: the memory has this one owner, and the default allocator (malloc) frees from any thread.
unsafe impl Send for Serialized {}

impl Serialized {
    /// Empty: holds no memory yet.
    fn new() -> Self {
        // SAFETY: no preconditions.
        let mut array = unsafe { rcutils_get_zero_initialized_uint8_array() };
        // SAFETY: no preconditions.
        array.allocator = unsafe { rcutils_get_default_allocator() };
        Self(array)
    }
}

impl AsRef<[u8]> for Serialized {
    fn as_ref(&self) -> &[u8] {
        if self.0.buffer.is_null() {
            return &[];
        }
        // SAFETY: `buffer` holds `buffer_length` bytes that rmw wrote; nobody changes them.
        unsafe { std::slice::from_raw_parts(self.0.buffer, self.0.buffer_length) }
    }
}

impl Drop for Serialized {
    fn drop(&mut self) {
        if !self.0.buffer.is_null() {
            // SAFETY: the array is valid and its memory came from its allocator.
            report(unsafe { rcutils_uint8_array_fini(&raw mut self.0) }, "free a message");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsupported_sequence_numbers_are_none() {
        assert_eq!(sequence(1), Some(1));
        assert_eq!(sequence(0), None);
        assert_eq!(sequence(u64::MAX), None);
        assert_eq!(sequence(0xFFFF_FFFF_0000_0000), None);
    }
}
