//! Producer and consumers in one process, without any middleware.

use super::consumer::Consumer;
use super::frame::{Template, stamp};
use super::hub::{Hub, Queue, Wanted};
use super::producer::{Decoys, Given, Giving, buffer, produce, stay, wait_for};
use super::{Handover, Way, dds, done, ready};
use anyhow::anyhow;
use hopwatch_kit::Shutdown;
use hopwatch_kit::clock::mono_ns;
use hopwatch_lab::handover::Took;
use hopwatch_tap::Writer;
use std::sync::{Arc, Barrier};
use std::thread::JoinHandle;

pub(super) fn both(args: &Handover, asked: &Shutdown) -> anyhow::Result<()> {
    let template = Template::new(args);
    let wanted = match args.way {
        Way::Shared | Way::CopiedOnce => Wanted::Together,
        _ => Wanted::Own,
    };
    let hub = Hub::new(args.consumers, args.depth, wanted, args.kept);
    let together =
        args.addresses.is_some().then(|| Arc::new(Barrier::new(args.consumers as usize + 1)));
    let consumers = hub.queues().iter().map(|queue| {
        let (queue, together) = (Arc::clone(queue), together.clone());
        let consumer = Consumer::new(args, template.clone(), false);
        std::thread::spawn(move || consume(&queue, together.as_deref(), consumer))
    });
    let consumers = consumers.collect();
    let writer = args.watched.then(|| dds::writer(args)).transpose()?;
    ready()?;
    let go = match &writer {
        Some(writer) => wait_for(1, asked, || Ok(writer.matched()?))?,
        None => true,
    };
    let decoys = Decoys::default();
    let mut inside =
        Inside { args, template, hub, together, writer, consumers, decoys, took: Vec::new() };
    if !go {
        inside.settle()?;
        return done(None, &inside.took);
    }
    let gave = produce(args, asked, &mut inside)?;
    done(Some(&gave), &inside.took)?;
    if inside.writer.is_some() {
        stay(asked, args.for_ms);
    }
    Ok(())
}

struct Inside<'a> {
    args: &'a Handover,
    template: Template,
    hub: Hub,
    /// All consumers hold a message until each of them has told where it lies.
    together: Option<Arc<Barrier>>,
    /// Who looks on from outside gets what a node would publish beside: serialized.
    writer: Option<Writer>,
    consumers: Vec<JoinHandle<anyhow::Result<Took>>>,
    decoys: Decoys,
    took: Vec<Took>,
}

impl Giving for Inside<'_> {
    fn give(&mut self, number: u64) -> anyhow::Result<Given> {
        let mut frame = self.template.frame(number);
        let buffer = buffer(self.args, number, frame.payload())?;
        let mut kept = None;
        let began = mono_ns();
        stamp(frame.payload_mut(), began);
        match (self.args.way, &self.writer) {
            (_, Some(writer)) => {
                let frame = Arc::new(frame);
                self.hub.share(Arc::clone(&frame));
                writer.publish(&frame.bytes)?;
            }
            (Way::Copied | Way::CopiedOnce, None) => {
                self.hub.lend(&frame);
                kept = Some(frame);
            }
            (_, None) => self.hub.give(frame),
        }
        let handed_ns = mono_ns() - began;
        self.decoys.take(self.args, self.template.len());
        if let Some(together) = &self.together {
            together.wait();
        }
        drop(kept);
        Ok(Given { handed_ns, buffer })
    }

    fn settle(&mut self) -> anyhow::Result<()> {
        self.hub.close();
        for consumer in self.consumers.drain(..) {
            self.took.push(consumer.join().map_err(|_| anyhow!("a consumer panicked"))??);
        }
        if let Some(writer) = &self.writer {
            dds::acknowledged(writer)?;
        }
        Ok(())
    }
}

fn consume(
    queue: &Queue,
    together: Option<&Barrier>,
    mut consumer: Consumer,
) -> anyhow::Result<Took> {
    while let Some(held) = queue.get() {
        let read = consumer.message(held.payload());
        if let Some(together) = together {
            together.wait();
        }
        read?;
    }
    consumer.end(None)
}
