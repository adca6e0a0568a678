//! Through iceoryx2: shared memory without DDS, as a yardstick.

use super::consumer::{Consumer, LOOK};
use super::frame::{Template, number_it, stamp};
use super::producer::{Alone, Given, Giving, buffer, give_alone};
use super::{Handover, done, ready};
use anyhow::Context;
use hopwatch_kit::Shutdown;
use hopwatch_kit::clock::mono_ns;
use iceoryx2::config::Config;
use iceoryx2::port::listener::Listener;
use iceoryx2::port::notifier::Notifier;
use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::prelude::{
    FileName, NodeBuilder, Path, PortFactory as _, SemanticString as _, ServiceName,
    SignalHandlingMode, ipc, set_log_level,
};

type Service = ipc::Service;

/// What is needed to open the two services of a topic: messages, and that there is one.
struct Services {
    messages: iceoryx2::service::port_factory::publish_subscribe::PortFactory<Service, [u8], ()>,
    news: iceoryx2::service::port_factory::event::PortFactory<Service>,
}

impl Services {
    fn open(args: &Handover) -> anyhow::Result<Self> {
        set_log_level(iceoryx2::prelude::LogLevel::Error);
        // Not by the settings of this machine's user: the figures would be of those. What iceoryx2 has of
        // its own, nobody else can open: each user needs another place.
        let user = args.user;
        let mut config = Config::default();
        config.global.prefix = FileName::new(format!("iox2_hopwatch_{user}_").as_bytes())?;
        config
            .global
            .set_root_path(&Path::new(format!("/tmp/hopwatch-iceoryx2-{user}").as_bytes())?);
        let node = NodeBuilder::new()
            .config(&config)
            .signal_handling_mode(SignalHandlingMode::Disabled)
            .create::<Service>()
            .context("failed to make an iceoryx2 node")?;
        let name: ServiceName = format!("hopwatch{}", args.topic).as_str().try_into()?;
        let depth = args.depth as usize;
        let messages = node
            .service_builder(&name)
            .publish_subscribe::<[u8]>()
            .subscriber_max_buffer_size(depth)
            .history_size(0)
            .max_subscribers(args.consumers as usize)
            .open_or_create()
            .context("failed to open an iceoryx2 service")?;
        let news = node
            .service_builder(&name)
            .event()
            .max_listeners(args.consumers as usize)
            .open_or_create()
            .context("failed to open an iceoryx2 event")?;
        Ok(Self { messages, news })
    }
}

pub(super) fn give(args: &Handover, asked: &Shutdown) -> anyhow::Result<()> {
    let services = Services::open(args)?;
    let publisher = services
        .messages
        .publisher_builder()
        .initial_max_slice_len(args.size as usize)
        .create()
        .context("failed to make an iceoryx2 publisher")?;
    let notifier =
        services.news.notifier_builder().create().context("failed to make an iceoryx2 notifier")?;
    let template = Template::new(args);
    let mut giving = Lending { args, template, publisher, notifier, services };
    give_alone(args, asked, &mut giving, None)
}

struct Lending<'a> {
    args: &'a Handover,
    template: Template,
    publisher: Publisher<Service, [u8], ()>,
    notifier: Notifier<Service>,
    services: Services,
}

impl Alone for Lending<'_> {
    fn consumers(&self) -> anyhow::Result<usize> {
        Ok(self.services.messages.dynamic_config().number_of_subscribers())
    }
}

impl Giving for Lending<'_> {
    fn give(&mut self, number: u64) -> anyhow::Result<Given> {
        // Made where it is lent, once, as the messages of the other ways are.
        let sample = self.publisher.loan_slice_uninit(self.template.len())?;
        let mut sample = sample.write_from_slice(self.template.bytes());
        let payload = sample.payload_mut();
        number_it(payload, number);
        let buffer = buffer(self.args, number, payload)?;
        let began = mono_ns();
        stamp(payload, began);
        sample.send()?;
        self.notifier.notify()?;
        Ok(Given { handed_ns: mono_ns() - began, buffer })
    }

    fn settle(&mut self) -> anyhow::Result<()> {
        Ok(())
    }
}

pub(super) fn take(args: &Handover, asked: &Shutdown) -> anyhow::Result<()> {
    let services = Services::open(args)?;
    let subscriber: Subscriber<Service, [u8], ()> = services
        .messages
        .subscriber_builder()
        .create()
        .context("failed to make an iceoryx2 subscriber")?;
    let listener: Listener<Service> =
        services.news.listener_builder().create().context("failed to make an iceoryx2 listener")?;
    let mut consumer = Consumer::new(args, Template::new(args), true);
    ready()?;
    while !consumer.is_done(asked) {
        listener.timed_wait(|_| {}, LOOK)?;
        while let Some(sample) = subscriber.receive()? {
            consumer.message(sample.payload())?;
        }
    }
    done(None, &[consumer.end(None)?])
}
