//! The tap: its thread, and the handle to it.

use crate::entity::{Context, GuardCondition, Node, Trigger};
use crate::error::TapError;
use crate::event::TapEvent;
use crate::graph::{self, Elsewhere, EndpointInfo, Picture};
use crate::qos::Qos;
use crate::reader::Reader;
use crate::type_support::TypeSupport;
use crate::wait::WaitSet;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle, ThreadId};

/// One subscription.
#[derive(Clone, Debug)]
pub struct Subscription {
    /// The topic, for example `/robot_messages`. A relative name is resolved in the tap's
    /// namespace.
    pub topic: String,
    /// The message type.
    pub type_support: TypeSupport,
    /// What is asked of publishers.
    pub qos: Qos,
}

/// What a tap is to do.
#[derive(Clone, Debug)]
pub struct TapConfig {
    /// The node's name, without slashes.
    pub node_name: String,
    /// The node's namespace; empty or `/` for none.
    pub namespace: String,
    /// The ROS domain; `None` takes `ROS_DOMAIN_ID` from the environment.
    pub domain_id: Option<usize>,
    /// The subscriptions. Events name them by their index.
    pub subscriptions: Vec<Subscription>,
}

/// Subscriptions that are being listened to.
///
/// Dropping the tap stops it, as [`Tap::stop`] does, but loses the error if there was one.
#[derive(Debug)]
pub struct Tap {
    control: Arc<Control>,
    thread: Option<JoinHandle<Result<(), TapError>>>,
}

/// How other threads reach the tap's thread; `None` before it listens and after it has ended.
#[derive(Debug, Default)]
struct Control(Mutex<Option<Mailbox>>);

struct Mailbox {
    trigger: Trigger,
    thread: ThreadId,
    stop: bool,
    questions: Vec<Question>,
}

impl std::fmt::Debug for Mailbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mailbox").field("stop", &self.stop).finish_non_exhaustive()
    }
}

/// What other threads ask the tap's.
enum Question {
    /// Who publishes this topic?
    Publishers(String, SyncSender<Result<Vec<EndpointInfo>, TapError>>),
    /// What is published at all?
    Topics(SyncSender<Result<Vec<Elsewhere>, TapError>>),
    /// How do things stand with this subscription?
    Look(usize, SyncSender<Result<Picture, TapError>>),
}

/// Asks a tap from any thread, as long as it runs.
#[derive(Clone, Debug)]
pub struct Graph(Arc<Control>);

impl Graph {
    /// What the ROS graph has to do with a subscription, by its index. The tap's thread answers
    /// between two rounds of taking.
    ///
    /// # Errors
    /// When the tap has ended, has no such subscription, or ROS 2 fails.
    pub fn look(&self, subscription: usize) -> Result<Picture, TapError> {
        self.0.ask(|answer| Question::Look(subscription, answer))
    }
}

impl Tap {
    /// Opens the subscriptions and listens, on a thread of its own.
    ///
    /// `sink` is called on that thread, for each message right after it was taken and for each
    /// event: whatever it does delays the next take, so it should hand on and return. When the
    /// tap ends, for whatever reason, the sink is dropped; a channel that it feeds then ends.
    ///
    /// # Errors
    /// When ROS 2 refuses any of it (an invalid name, a bad domain, …), nothing is left open.
    pub fn start(
        config: TapConfig,
        sink: impl FnMut(TapEvent) + Send + 'static,
    ) -> Result<Self, TapError> {
        let control = Arc::new(Control::default());
        let (ready, started) = sync_channel(1);
        let thread = thread::Builder::new()
            .name("hopwatch-tap".to_owned())
            .spawn({
                let control = Arc::clone(&control);
                move || run(&config, &control, &ready, sink)
            })
            .map_err(TapError::Thread)?;
        let tap = Self { control, thread: Some(thread) };
        // Without a word the thread has ended already: `stop` brings its error.
        match started.recv() {
            Ok(()) => Ok(tap),
            Err(_) => Err(tap.stop().err().unwrap_or(TapError::Ended)),
        }
    }

    /// The publishers of `topic`, as far as discovery has got. The tap's thread answers between
    /// two rounds of taking.
    pub fn publishers(&self, topic: &str) -> Result<Vec<EndpointInfo>, TapError> {
        self.control.ask(|answer| Question::Publishers(topic.to_owned(), answer))
    }

    /// All topics that have publishers, as far as discovery has got. The tap's thread answers
    /// between two rounds of taking.
    pub fn topics(&self) -> Result<Vec<Elsewhere>, TapError> {
        self.control.ask(Question::Topics)
    }

    /// Asks this tap from other threads.
    pub fn graph(&self) -> Graph {
        Graph(Arc::clone(&self.control))
    }

    /// False once the tap has ended by itself: because its sink panicked or ROS 2 failed. Then
    /// [`Tap::stop`] tells why.
    pub fn is_running(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Hands over what has arrived, closes everything and waits until it is closed.
    ///
    /// # Errors
    /// Why the tap had ended before, if it had.
    pub fn stop(mut self) -> Result<(), TapError> {
        self.end()
    }

    fn end(&mut self) -> Result<(), TapError> {
        let Some(thread) = self.thread.take() else {
            return Ok(());
        };
        if let Some(mailbox) = self.control.lock().as_mut() {
            mailbox.stop = true;
            mailbox.trigger.fire();
        }
        if thread.thread().id() == thread::current().id() {
            // It ends on its own when the sink returns.
            return Err(TapError::CalledFromSink);
        }
        thread.join().unwrap_or_else(|panic| Err(panicked(panic.as_ref())))
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            tracing::error!("{error}");
        }
    }
}

impl Control {
    fn lock(&self) -> MutexGuard<'_, Option<Mailbox>> {
        // A panic while it was held can't have left it half-changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the tap's thread, and waits for its answer.
    fn ask<T>(
        &self,
        question: impl FnOnce(SyncSender<Result<T, TapError>>) -> Question,
    ) -> Result<T, TapError> {
        let (answer, answered) = sync_channel(1);
        {
            let mut control = self.lock();
            let mailbox = control.as_mut().ok_or(TapError::Ended)?;
            if mailbox.thread == thread::current().id() {
                return Err(TapError::CalledFromSink);
            }
            mailbox.questions.push(question(answer));
            mailbox.trigger.fire();
        }
        answered.recv().map_err(|_| TapError::Ended)?
    }
}

/// The tap's thread.
fn run(
    config: &TapConfig,
    control: &Control,
    ready: &SyncSender<()>,
    mut sink: impl FnMut(TapEvent),
) -> Result<(), TapError> {
    let mut listener = Listener::new(config)?;
    // SAFETY: `Closed`, which is dropped before the listener, takes the trigger away again.
    let trigger = unsafe { listener.guard.trigger() };
    let thread = thread::current().id();
    *control.lock() = Some(Mailbox { trigger, thread, stop: false, questions: Vec::new() });
    let _closed = Closed(control);
    let _ = ready.send(());
    // A panic of the sink ends the tap, but not before all entities are finalised. Nothing of
    // rcl is half done when the sink is called.
    let ended = catch_unwind(AssertUnwindSafe(|| listener.listen(control, &mut sink)))
        .unwrap_or_else(|panic| Err(panicked(panic.as_ref())));
    if let Err(error) = &ended {
        tracing::error!("{error}");
    }
    ended
}

/// Closes the mailbox: after it no other thread has the trigger, and open questions end.
struct Closed<'a>(&'a Control);

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        *self.0.lock() = None;
    }
}

/// All entities, in the order in which they have to go.
struct Listener {
    wait_set: WaitSet,
    readers: Vec<Reader>,
    guard: GuardCondition,
    node: Rc<Node>,
    /// A message was taken in this round.
    took: bool,
    /// Rounds so far.
    rounds: usize,
}

/// So many failed takes in a row, without a message between them, end the tap: the middleware
/// would be asked again at once, for ever.
const FAILURES_IN_A_ROW: usize = 100;

impl Listener {
    fn new(config: &TapConfig) -> Result<Self, TapError> {
        let context = Context::new(config.domain_id)?;
        let node = Node::new(context, &config.node_name, &config.namespace)?;
        let guard = GuardCondition::new(Rc::clone(node.context()))?;
        let readers = config
            .subscriptions
            .iter()
            .map(|wanted| Reader::new(Rc::clone(&node), wanted))
            .collect::<Result<Vec<_>, _>>()?;
        let wait_set = WaitSet::new(Rc::clone(node.context()), &readers)?;
        Ok(Self { wait_set, readers, guard, node, took: false, rounds: 0 })
    }

    /// Listens until it is told to stop.
    fn listen(
        &mut self,
        control: &Control,
        sink: &mut impl FnMut(TapEvent),
    ) -> Result<(), TapError> {
        let mut failures = 0;
        // The first round is without a wait, for what happened while the entities were made:
        // middlewares don't wake anybody for events from before.
        let mut called = true;
        loop {
            let mut stop = false;
            // Rounds, so that one busy topic starves neither the others nor `stop`.
            loop {
                let again = self.take_round(&mut failures, sink);
                // Before anything else, even when this was the last round: what was taken doesn't
                // wait for it.
                if std::mem::take(&mut self.took) {
                    sink(TapEvent::Idle);
                }
                let again = again?;
                stop = stop || (called && self.answer(control));
                called = true;
                if stop || !again {
                    break;
                }
            }
            for &(subscription, event) in &self.wait_set.events {
                if let Some(event) = self.readers[subscription].take_event(subscription, event)? {
                    sink(event);
                }
            }
            for (index, reader) in self.readers.iter_mut().enumerate() {
                if let Some(event) = reader.explain(index)? {
                    sink(event);
                }
            }
            if stop {
                return Ok(());
            }
            let until = self.readers.iter().filter_map(Reader::tell_at).min();
            let woken = self.wait_set.wait(&self.readers, &self.guard, &self.node, until)?;
            called = woken.called;
            if woken.graph {
                sink(TapEvent::GraphChanged);
            }
        }
    }

    /// Takes from each subscription that is ready what its reader can hold. True when there may
    /// be more.
    ///
    /// From the first to the last and back again, in turn: what comes on two subscriptions at once
    /// waits for the other one's take equally often.
    fn take_round(
        &mut self,
        failures: &mut usize,
        sink: &mut impl FnMut(TapEvent),
    ) -> Result<bool, TapError> {
        let mut again = false;
        self.rounds = self.rounds.wrapping_add(1);
        let count = self.readers.len();
        for place in 0..count {
            let index = if self.rounds.is_multiple_of(2) { place } else { count - 1 - place };
            if !self.wait_set.messages[index] {
                continue;
            }
            let reader = &mut self.readers[index];
            let mut more = true;
            for _ in 0..reader.depth() {
                match reader.take() {
                    Ok(Some(message)) => {
                        *failures = 0;
                        self.took = true;
                        sink(TapEvent::Taken { subscription: index, message });
                    }
                    Ok(None) => {
                        more = false;
                        break;
                    }
                    Err(error) => {
                        *failures += 1;
                        sink(reader.take_failed(index, &error));
                        if *failures >= FAILURES_IN_A_ROW {
                            return Err(error);
                        }
                    }
                }
            }
            self.wait_set.messages[index] = more;
            again |= more;
        }
        Ok(again)
    }

    /// Answers what other threads ask. True when the tap is to stop.
    fn answer(&self, control: &Control) -> bool {
        let (questions, stop) = match control.lock().as_mut() {
            Some(mailbox) => (std::mem::take(&mut mailbox.questions), mailbox.stop),
            None => return true,
        };
        for question in questions {
            // Who asked may have gone.
            match question {
                Question::Publishers(topic, answer) => {
                    let _ = answer.send(graph::publishers(&self.node, &topic));
                }
                Question::Topics(answer) => {
                    let _ = answer.send(graph::topics(&self.node));
                }
                Question::Look(subscription, answer) => {
                    let reader = self.readers.get(subscription);
                    let none = || TapError::NoSuchSubscription { subscription };
                    let _ = answer.send(reader.ok_or_else(none).and_then(Reader::look));
                }
            }
        }
        stop
    }
}

fn panicked(panic: &(dyn Any + Send)) -> TapError {
    let message = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned());
    TapError::SinkPanicked { message }
}
