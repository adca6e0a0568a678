//! Through DDS, as serialized `sensor_msgs/msg/Image`: what a node that deals in bytes pays. Typed ones
//! copy once more on either side.

use super::consumer::{Consumer, LOOK};
use super::frame::{Template, payload_of_image, serialized, stamp};
use super::producer::{Alone, Decoys, Given, Giving, buffer, give_alone, produce, wait_for};
use super::{Handover, done, ready};
use anyhow::{Context, anyhow};
use hopwatch_kit::Shutdown;
use hopwatch_kit::clock::mono_ns;
use hopwatch_lab::handover::Took;
use hopwatch_tap::{Inbox, InboxConfig, Subscription, TypeSupport, Writer, WriterConfig};
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

const IMAGE: &str = "sensor_msgs/msg/Image";
/// How long acknowledgements are waited for; what is lost for good has none.
const ACKNOWLEDGED: Duration = Duration::from_secs(5);

pub(super) fn writer(args: &Handover) -> anyhow::Result<Writer> {
    Ok(Writer::new(&writer_of(args, TypeSupport::named(IMAGE)?))?)
}

pub(super) fn writer_of(args: &Handover, type_support: TypeSupport) -> WriterConfig {
    WriterConfig {
        node_name: "handover_give".to_owned(),
        namespace: String::new(),
        domain_id: None,
        topic: args.topic.clone(),
        type_support,
        qos: args.qos(),
    }
}

pub(super) fn inbox_of(args: &Handover, type_support: TypeSupport) -> InboxConfig {
    let subscription = Subscription { topic: args.topic.clone(), type_support, qos: args.qos() };
    InboxConfig {
        node_name: "handover_take".to_owned(),
        namespace: String::new(),
        domain_id: None,
        subscription,
    }
}

/// Waits until all that are still there have what was published.
pub(super) fn acknowledged(writer: &Writer) -> anyhow::Result<()> {
    let _lost = writer.wait_for_acknowledgements(ACKNOWLEDGED)?;
    Ok(())
}

/// A producer and its consumers, each with a participant of its own, in one process.
pub(super) fn both(args: &Handover, asked: &Shutdown) -> anyhow::Result<()> {
    let template = Template::new(args);
    if args.addresses.is_some() {
        return one_thread(args, asked, template);
    }
    let (tell, told) = sync_channel(args.consumers as usize);
    let consumers: Vec<_> = (0..args.consumers)
        .map(|_| {
            let (args, asked, tell) = (args.clone(), asked.clone(), tell.clone());
            let consumer = Consumer::new(&args, template.clone(), false);
            std::thread::spawn(move || {
                let inbox = Inbox::new(&inbox_of(&args, TypeSupport::named(IMAGE)?))?;
                tell.send(()).context("the producer is gone")?;
                drop(tell);
                consume(inbox, &asked, consumer)
            })
        })
        .collect();
    drop(tell);
    // Those that failed are told of when they are joined.
    let there = told.iter().count() == consumers.len();
    let mut giving = Bytes {
        args,
        template,
        writer: writer(args)?,
        decoys: Decoys::default(),
        consumers,
        took: Vec::new(),
    };
    ready()?;
    let go = there && wait_for(args.consumers, asked, || Ok(giving.writer.matched()?))?;
    if !go {
        giving.join()?;
        return done(None, &giving.took);
    }
    let gave = produce(args, asked, &mut giving)?;
    done(Some(&gave), &giving.took)
}

/// Both on one thread, as an executor with one thread has them, and typed: a message is serialized and
/// freed, then taken and made anew of its bytes. The allocator may give the same block out again.
fn one_thread(args: &Handover, asked: &Shutdown, template: Template) -> anyhow::Result<()> {
    let inbox = Inbox::new(&inbox_of(args, TypeSupport::named(IMAGE)?))?;
    let consumer = Consumer::new(args, template.clone(), false);
    let (writer, decoys) = (writer(args)?, Decoys::default());
    let mut giving = InTurn { args, template, writer, decoys, inbox, consumer };
    ready()?;
    if !wait_for(1, asked, || Ok(giving.writer.matched()?))? {
        return done(None, &[]);
    }
    let gave = produce(args, asked, &mut giving)?;
    done(Some(&gave), &[giving.consumer.end(None)?])
}

struct InTurn<'a> {
    args: &'a Handover,
    template: Template,
    writer: Writer,
    decoys: Decoys,
    inbox: Inbox,
    consumer: Consumer,
}

impl Giving for InTurn<'_> {
    fn give(&mut self, number: u64) -> anyhow::Result<Given> {
        let mut message = self.template.message(number);
        let buffer = buffer(self.args, number, &message)?;
        let began = mono_ns();
        stamp(&mut message, began);
        let bytes = serialized(&message);
        self.writer.publish(&bytes.bytes)?;
        let handed_ns = mono_ns() - began;
        drop(bytes);
        drop(message);
        self.decoys.take(self.args, self.template.len());
        let until = Instant::now() + Duration::from_secs(1);
        let consumer = &mut self.consumer;
        // A message of its own, as deserializing makes one.
        let mut deserialize = |payload: &[u8]| {
            let own = std::hint::black_box(payload.to_vec());
            consumer.message(&own)
        };
        while Instant::now() < until && !take_all(&mut self.inbox, until, &mut deserialize)? {}
        Ok(Given { handed_ns, buffer })
    }

    fn settle(&mut self) -> anyhow::Result<()> {
        acknowledged(&self.writer)
    }
}

pub(super) fn give(args: &Handover, asked: &Shutdown) -> anyhow::Result<()> {
    let mut giving = Bytes {
        args,
        template: Template::new(args),
        writer: writer(args)?,
        decoys: Decoys::default(),
        consumers: Vec::new(),
        took: Vec::new(),
    };
    give_alone(args, asked, &mut giving, None)
}

pub(super) fn take(args: &Handover, asked: &Shutdown) -> anyhow::Result<()> {
    let inbox = Inbox::new(&inbox_of(args, TypeSupport::named(IMAGE)?))?;
    let consumer = Consumer::new(args, Template::new(args), true);
    ready()?;
    let took = consume(inbox, asked, consumer)?;
    done(None, &[took])
}

fn consume(mut inbox: Inbox, asked: &Shutdown, mut consumer: Consumer) -> anyhow::Result<Took> {
    while !consumer.is_done(asked) {
        take_all(&mut inbox, Instant::now() + LOOK, |bytes| consumer.message(bytes))?;
    }
    consumer.end(None)
}

/// Takes all messages that are there by then.
fn take_all(
    inbox: &mut Inbox,
    until: Instant,
    mut message: impl FnMut(&[u8]) -> anyhow::Result<()>,
) -> anyhow::Result<bool> {
    let mut any = false;
    if inbox.wait(until)? {
        while let Some(taken) = inbox.take()? {
            any = true;
            message(payload_of_image(&taken.bytes))?;
        }
    }
    Ok(any)
}

struct Bytes<'a> {
    args: &'a Handover,
    template: Template,
    writer: Writer,
    decoys: Decoys,
    /// Consumers on threads of this process.
    consumers: Vec<std::thread::JoinHandle<anyhow::Result<Took>>>,
    took: Vec<Took>,
}

impl Bytes<'_> {
    fn join(&mut self) -> anyhow::Result<()> {
        for consumer in self.consumers.drain(..) {
            self.took.push(consumer.join().map_err(|_| anyhow!("a consumer panicked"))??);
        }
        Ok(())
    }
}

impl Alone for Bytes<'_> {
    fn consumers(&self) -> anyhow::Result<usize> {
        Ok(self.writer.matched()?)
    }
}

impl Giving for Bytes<'_> {
    fn give(&mut self, number: u64) -> anyhow::Result<Given> {
        let mut frame = self.template.frame(number);
        let buffer = buffer(self.args, number, frame.payload())?;
        let began = mono_ns();
        stamp(frame.payload_mut(), began);
        self.writer.publish(&frame.bytes)?;
        let handed_ns = mono_ns() - began;
        drop(frame);
        self.decoys.take(self.args, self.template.len());
        Ok(Given { handed_ns, buffer })
    }

    fn settle(&mut self) -> anyhow::Result<()> {
        acknowledged(&self.writer)?;
        self.join()
    }
}
