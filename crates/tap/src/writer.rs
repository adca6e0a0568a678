//! Publishing serialized messages as they are.

use crate::entity::{Context, Fixed, Node};
use crate::error::{TapError, c_string, check, code, forget, report, text};
use crate::qos::Qos;
use crate::type_support::TypeSupport;
use r2r_rcl::{
    RCL_RET_TIMEOUT, rcl_get_zero_initialized_publisher, rcl_publish_serialized_message,
    rcl_publisher_fini, rcl_publisher_get_default_options, rcl_publisher_get_subscription_count,
    rcl_publisher_get_topic_name, rcl_publisher_init, rcl_publisher_t,
    rcl_publisher_wait_for_all_acked, rcl_serialized_message_t, rcutils_get_default_allocator,
};
use std::fmt;
use std::ptr;
use std::rc::Rc;
use std::time::Duration;

/// What a writer is to publish, and where.
#[derive(Clone, Debug)]
pub struct WriterConfig {
    /// The node's name, without slashes.
    pub node_name: String,
    /// The node's namespace; empty or `/` for none.
    pub namespace: String,
    /// The ROS domain; `None` takes `ROS_DOMAIN_ID` from the environment.
    pub domain_id: Option<usize>,
    /// The topic.
    pub topic: String,
    /// The message type.
    pub type_support: TypeSupport,
    /// What is offered to subscriptions.
    pub qos: Qos,
}

/// A publisher of messages that are serialized already, with a node of its own.
///
/// It stays on the thread that made it. Dropping it closes it in order.
pub struct Writer {
    publisher: Handle,
    topic: String,
    of: TypeSupport,
}

struct Handle {
    raw: Fixed<rcl_publisher_t>,
    node: Rc<Node>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: the publisher is valid and was made with this node, which is alive.
        let ret = unsafe { rcl_publisher_fini(self.raw.ptr(), self.node.ptr()) };
        report(ret, "finalise a publisher");
    }
}

impl Writer {
    /// Opens a publisher.
    ///
    /// # Errors
    /// When ROS 2 refuses any of it (an invalid name, a bad domain, …), nothing is left open.
    pub fn new(config: &WriterConfig) -> Result<Self, TapError> {
        let what = || format!("create publisher on {}", config.topic);
        if config.qos.depth == 0 {
            return Err(TapError::NoDepth { topic: config.topic.clone() });
        }
        let topic = c_string(&config.topic, what)?;
        let context = Context::new(config.domain_id)?;
        let node = Node::new(context, &config.node_name, &config.namespace)?;
        // SAFETY: no preconditions.
        let raw = Fixed::new(unsafe { rcl_get_zero_initialized_publisher() });
        // SAFETY: no preconditions.
        let mut options = unsafe { rcl_publisher_get_default_options() };
        config.qos.put(&mut options.qos);
        // SAFETY: the publisher is zero-initialised; node, type support, name and options are
        // valid; the node outlives the publisher (`Handle::node`).
        let ret = unsafe {
            rcl_publisher_init(
                raw.ptr(),
                node.ptr(),
                config.type_support.handle(),
                topic.as_ptr(),
                &raw const options,
            )
        };
        check(ret, what)?;
        let publisher = Handle { raw, node };
        // SAFETY: the publisher is valid; the name lives as long as it does and is copied.
        let topic = unsafe { text(rcl_publisher_get_topic_name(publisher.raw.ptr())) };
        let topic = topic.unwrap_or_else(|| config.topic.clone());
        Ok(Self { publisher, topic, of: config.type_support.clone() })
    }

    /// Publishes a serialized message: the 4-byte encapsulation header, then CDR. It is not looked
    /// at whether the bytes are of the writer's type.
    ///
    /// # Errors
    /// When there are fewer than 4 bytes, or ROS 2 refuses them.
    pub fn publish(&self, bytes: &[u8]) -> Result<(), TapError> {
        if bytes.len() < 4 {
            return Err(TapError::NoMessage { topic: self.topic.clone(), bytes: bytes.len() });
        }
        let message = rcl_serialized_message_t {
            buffer: bytes.as_ptr().cast_mut(),
            buffer_length: bytes.len(),
            buffer_capacity: bytes.len(),
            // SAFETY: no preconditions.
            allocator: unsafe { rcutils_get_default_allocator() },
        };
        // SAFETY: the publisher is valid; the message is const to rcl, which copies its bytes
        // before it returns and neither changes, resizes nor frees them; no allocation is given.
        let ret = unsafe {
            rcl_publish_serialized_message(
                self.publisher.raw.ptr(),
                &raw const message,
                ptr::null_mut(),
            )
        };
        check(ret, || format!("publish on {}", self.topic))
    }

    /// How many subscriptions are matched now.
    ///
    /// # Errors
    /// When ROS 2 fails.
    pub fn matched(&self) -> Result<usize, TapError> {
        let mut matched = 0;
        // SAFETY: the publisher is valid, `matched` is writable.
        let ret = unsafe {
            rcl_publisher_get_subscription_count(self.publisher.raw.ptr(), &raw mut matched)
        };
        check(ret, || format!("count the matched subscriptions of {}", self.topic))?;
        Ok(matched)
    }

    /// Waits until all RELIABLE subscriptions have what was published; false: not within that time.
    ///
    /// # Errors
    /// When ROS 2 fails.
    pub fn wait_for_acknowledgements(&self, within: Duration) -> Result<bool, TapError> {
        let within_ns = i64::try_from(within.as_nanos()).unwrap_or(i64::MAX);
        // SAFETY: the publisher is valid.
        let ret = unsafe { rcl_publisher_wait_for_all_acked(self.ptr(), within_ns) };
        if ret == code(RCL_RET_TIMEOUT) {
            forget();
            return Ok(false);
        }
        check(ret, || format!("wait for the acknowledgements of {}", self.topic))?;
        Ok(true)
    }

    pub(crate) fn ptr(&self) -> *const rcl_publisher_t {
        self.publisher.raw.ptr()
    }

    /// The message type.
    pub(crate) fn of(&self) -> &TypeSupport {
        &self.of
    }

    /// The topic's full name.
    pub fn topic(&self) -> &str {
        &self.topic
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("topic", &self.topic).finish_non_exhaustive()
    }
}
