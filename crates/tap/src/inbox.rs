//! One subscription on the caller's own thread, for what measures: messages as bytes, or lent by the
//! middleware.

use crate::entity::{Context, GuardCondition, Node};
use crate::error::TapError;
use crate::event::Taken;
use crate::loan::Lent;
use crate::reader::Reader;
use crate::tap::Subscription;
use crate::type_support::TypeSupport;
use crate::wait::WaitSet;
use r2r::WrappedTypesupport;
use std::fmt;
use std::rc::Rc;
use std::time::Instant;

/// What an inbox is to take.
#[derive(Clone, Debug)]
pub struct InboxConfig {
    /// The node's name, without slashes.
    pub node_name: String,
    /// The node's namespace; empty or `/` for none.
    pub namespace: String,
    /// The ROS domain; `None` takes `ROS_DOMAIN_ID` from the environment.
    pub domain_id: Option<usize>,
    /// The subscription.
    pub subscription: Subscription,
}

/// A subscription that its owner waits for and takes from.
///
/// It stays on the thread that made it. Where a message has to be taken whatever its owner does
/// meanwhile, a [`Tap`](crate::Tap) is the better one.
pub struct Inbox {
    set: WaitSet,
    reader: [Reader; 1],
    guard: GuardCondition,
    node: Rc<Node>,
    of: TypeSupport,
}

impl Inbox {
    /// Opens the subscription.
    ///
    /// # Errors
    /// When ROS 2 refuses any of it (an invalid name, a bad domain, …), nothing is left open.
    pub fn new(config: &InboxConfig) -> Result<Self, TapError> {
        let context = Context::new(config.domain_id)?;
        let node = Node::new(context, &config.node_name, &config.namespace)?;
        let guard = GuardCondition::new(Rc::clone(node.context()))?;
        let reader = [Reader::new(Rc::clone(&node), &config.subscription)?];
        let set = WaitSet::new(Rc::clone(node.context()), &reader)?;
        Ok(Self { set, reader, guard, node, of: config.subscription.type_support.clone() })
    }

    /// Sleeps until a message may be there, or it is `until`. The first wait doesn't sleep: messages
    /// may have come before it.
    ///
    /// # Errors
    /// When ROS 2 fails.
    pub fn wait(&mut self, until: Instant) -> Result<bool, TapError> {
        if std::mem::take(&mut self.set.messages[0]) {
            return Ok(true);
        }
        loop {
            self.set.wait(&self.reader, &self.guard, &self.node, Some(until))?;
            // Events that nobody takes would end each wait at once.
            for (_, event) in std::mem::take(&mut self.set.events) {
                self.reader[0].take_event(0, event)?;
            }
            if std::mem::take(&mut self.set.messages[0]) {
                return Ok(true);
            }
            if Instant::now() >= until {
                return Ok(false);
            }
        }
    }

    /// Takes a message as its bytes; `None`: there is none now.
    ///
    /// # Errors
    /// When ROS 2 fails.
    pub fn take(&self) -> Result<Option<Taken>, TapError> {
        self.reader[0].take()
    }

    /// Whether the middleware lends messages to this subscription. rcl says no unless
    /// `ROS_DISABLE_LOANED_MESSAGES=0` (rcl, `rcl_subscription_can_loan_messages`).
    pub fn can_lend(&self) -> bool {
        self.reader[0].can_lend()
    }

    /// Takes a message that the middleware lends, in memory as C has it; `None`: there is none now.
    ///
    /// # Errors
    /// When the middleware doesn't lend to this subscription, `T` isn't its type, or ROS 2 fails.
    pub fn take_lent<T: WrappedTypesupport>(&self) -> Result<Option<Lent<'_, T>>, TapError> {
        Lent::take(&self.reader[0], &self.of)
    }

    /// How many publishers are matched now.
    ///
    /// # Errors
    /// When ROS 2 fails.
    pub fn matched(&self) -> Result<usize, TapError> {
        Ok(self.reader[0].look()?.matched)
    }
}

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox").field("of", &self.of).finish_non_exhaustive()
    }
}
