//! Through DDS, in memory that the middleware lends: a type of fixed size.

use super::consumer::{Consumer, LOOK};
use super::dds::{acknowledged, inbox_of, writer_of};
use super::frame::{Template, stamp};
use super::producer::{Alone, Given, Giving, buffer, give_alone};
use super::{Handover, done, ready};
use hopwatch_kit::Shutdown;
use hopwatch_kit::clock::mono_ns;
use hopwatch_tap::{Inbox, TypeSupport, Writer};
use r2r::hopwatch_lab_msgs::msg::FixedFrame;
use std::time::Instant;

/// What stands ahead of a serialized message (DDS-RTPS 2.3, 10.2).
const ENCAPSULATION: usize = 4;

pub(super) fn give(args: &Handover, asked: &Shutdown) -> anyhow::Result<()> {
    let writer = Writer::new(&writer_of(args, TypeSupport::of::<FixedFrame>()))?;
    let lends = writer.can_lend();
    let mut giving = Lending { args, template: Template::new(args), writer };
    give_alone(args, asked, &mut giving, Some(lends))
}

struct Lending<'a> {
    args: &'a Handover,
    template: Template,
    writer: Writer,
}

impl Alone for Lending<'_> {
    fn consumers(&self) -> anyhow::Result<usize> {
        Ok(self.writer.matched()?)
    }
}

impl Giving for Lending<'_> {
    fn give(&mut self, number: u64) -> anyhow::Result<Given> {
        let mut loan = self.writer.borrow::<FixedFrame>()?;
        let payload = loan.bytes();
        anyhow::ensure!(
            payload.len() == self.template.len(),
            "a FixedFrame has {} bytes: say --size {0}",
            payload.len()
        );
        self.template.put(payload, number);
        let buffer = buffer(self.args, number, payload)?;
        let began = mono_ns();
        stamp(payload, began);
        loan.publish()?;
        Ok(Given { handed_ns: mono_ns() - began, buffer })
    }

    fn settle(&mut self) -> anyhow::Result<()> {
        acknowledged(&self.writer)
    }
}

pub(super) fn take(args: &Handover, asked: &Shutdown) -> anyhow::Result<()> {
    let mut inbox = Inbox::new(&inbox_of(args, TypeSupport::of::<FixedFrame>()))?;
    let template = Template::new(args);
    let whole = ENCAPSULATION..ENCAPSULATION + template.len();
    let mut consumer = Consumer::new(args, template, true);
    let lends = inbox.can_lend();
    ready()?;
    while !consumer.is_done(asked) {
        if !inbox.wait(Instant::now() + LOOK)? {
            continue;
        }
        if lends {
            while let Some(message) = inbox.take_lent::<FixedFrame>()? {
                consumer.message(message.bytes())?;
            }
        } else {
            // The subscription gets copies, without a word.
            while let Some(taken) = inbox.take()? {
                consumer.message(taken.bytes.get(whole.clone()).unwrap_or_default())?;
            }
        }
    }
    done(None, &[consumer.end(Some(lends))?])
}
