//! The whole pipeline as processes.

use crate::args::{Pipeline, Usage, name};
use crate::child::Child;
use crate::network::{Namespaces, Place, address_of};
use crate::settings;
use hopwatch_analysis::Budget;
use hopwatch_model::lane::LaneSpec;
use hopwatch_wire::controls::Controls;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long programs may take to end after SIGINT; then they are killed.
///
/// Somebody who pressed Ctrl-C gets the end within 5 s, even when a program hangs: each stage has
/// its moment, counted from the wish.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience(Option<Instant>);

impl Patience {
    /// Nobody waits: what is slow may take its time.
    pub(crate) const RELAXED: Self = Self(None);
    /// Of each program, where nobody waits.
    const EACH: Duration = Duration::from_secs(4);
    /// Robots have their last words for a second.
    const ROBOTS: Duration = Duration::from_millis(1600);
    /// The gateway lets what is under way end for 2 s, and hands over its records.
    const GATEWAY: Duration = Duration::from_millis(4100);
    const SERVICES: Duration = Duration::from_millis(4400);
    const ALL: Duration = Duration::from_millis(4800);
    /// However late it is.
    const LEAST: Duration = Duration::from_millis(100);

    /// Somebody waits from now on.
    pub(crate) fn from_now() -> Self {
        Self(Some(Instant::now()))
    }

    /// Somebody waits from now on, if nobody did before: asking again makes nothing later.
    pub(crate) fn or_from_now(self) -> Self {
        Self(self.0.or_else(|| Some(Instant::now())))
    }

    /// What is left of it until `stage` after the wish.
    fn until(self, stage: Duration) -> Duration {
        self.0.map_or(Self::EACH, |wish| stage.saturating_sub(wish.elapsed()).max(Self::LEAST))
    }
}

/// Which ports to use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ports {
    pub(crate) gateway: u16,
    pub(crate) ai: u16,
    pub(crate) broadcaster: u16,
    pub(crate) collector: u16,
    /// `None`: no page.
    pub(crate) page: Option<u16>,
}

impl Ports {
    /// S1's ports, and the page on `page`.
    pub(crate) const fn usual(page: u16) -> Self {
        Self { gateway: 8000, ai: 5000, broadcaster: 8001, collector: 8002, page: Some(page) }
    }

    /// Any free ones.
    pub(crate) const fn free(page: Option<u16>) -> Self {
        Self { gateway: 0, ai: 0, broadcaster: 0, collector: 0, page }
    }
}

/// How long robots stay after their last message where packets may be lost: Fast DDS asks for what is
/// missing every 3 s (METHOD 19), and their last census may be among it.
const LOSSY_LINGER: &str = "7s";

/// The page's server.
const PAGE: &str = "web-ui";

/// Where the programs run.
pub(crate) struct Site<'a> {
    pub(crate) environment: &'a [(String, String)],
    pub(crate) logs: &'a Path,
    /// `None`: on this host's own network.
    pub(crate) namespaces: Option<&'a Namespaces>,
}

impl Site<'_> {
    fn start(&self, name: &'static str, args: &[String]) -> anyhow::Result<Child> {
        let place = match name {
            "robot-sim" => Place::Robot,
            "gateway" => Place::Gateway,
            _ => Place::Services,
        };
        // Browsers look from here.
        let elsewhere = self.namespaces.filter(|_| name != PAGE);
        let namespace = elsewhere.map(|all| all.name(place));
        Child::start(name, args, self.environment, namespace.as_deref(), self.logs)
    }

    /// What a program listens on.
    fn address(&self, name: &str) -> IpAddr {
        let here = IpAddr::from(Ipv4Addr::LOCALHOST);
        self.namespaces.map_or(here, |_| address_of(name))
    }
}

/// The running pipeline. Whatever has been started is in here, so that it can be stopped in order
/// at any moment.
#[derive(Default)]
pub(crate) struct Stack {
    robots: Option<Child>,
    gateway: Option<Child>,
    /// The collector first: it ends last.
    services: Vec<Child>,
}

/// Where the services listen.
pub(crate) struct Addresses {
    pub(crate) collector: SocketAddr,
    pub(crate) broadcaster: SocketAddr,
    /// `None`: it isn't ours.
    pub(crate) ai: Option<SocketAddr>,
}

/// What the page connects to, on the host that it is opened from.
pub(crate) struct PagePorts {
    pub(crate) broadcaster: u16,
    pub(crate) collector: u16,
    pub(crate) controls: Controls,
}

impl Stack {
    /// Starts everything but the robots and the page, in the order in which one needs the other.
    pub(crate) async fn start(
        &mut self,
        pipeline: &Pipeline,
        lanes: &[LaneSpec],
        ports: Ports,
        site: &Site<'_>,
        keep: &[String],
    ) -> anyhow::Result<Addresses> {
        let common = common(pipeline);
        let start = |name: &'static str, port: u16, own: &[String]| {
            let mut args = common.clone();
            args.extend([s("--listen"), SocketAddr::new(site.address(name), port).to_string()]);
            args.extend_from_slice(own);
            site.start(name, &args)
        };
        let services = &mut self.services;
        let collector = listening(services, start("collector", ports.collector, keep)?).await?;
        let records = [s("--collector-url"), format!("http://{collector}/v1/records")];
        let mut own = gateway_args(pipeline);
        own.extend(lanes_arg(lanes));
        let mut ai = None;
        let gives = |key| settings::gives_gateway(pipeline, key);
        if let Some(url) = &pipeline.ai_url {
            own.push(flag("ai-url", url));
        } else if !gives("ai_url") {
            let ours = start("ai-mock", ports.ai, &ai_args(pipeline))?;
            let address = *ai.insert(listening(services, ours).await?);
            own.extend([
                s("--ai-gets-token"),
                flag("ai-url", format!("http://{address}/v1/infer")),
            ]);
        }
        let broadcaster = start("broadcaster", ports.broadcaster, &records)?;
        let broadcaster = listening(services, broadcaster).await?;
        if !gives("web_url") {
            let url = flag("web-url", format!("http://{broadcaster}/v1/messages"));
            own.extend([s("--web-gets-token"), url]);
        }
        own.extend(records);
        let gateway = self.gateway.insert(start("gateway", ports.gateway, &own)?);
        gateway.address().await?;
        Ok(Addresses { collector, broadcaster, ai })
    }

    /// Starts the page's server, and tells where it listens.
    pub(crate) async fn start_page(
        &mut self,
        pipeline: &Pipeline,
        port: u16,
        connects: &PagePorts,
        site: &Site<'_>,
    ) -> anyhow::Result<SocketAddr> {
        let Controls { ai_port, robots_port, network_port, token_needed } = connects.controls;
        let mut args = common(pipeline);
        args.extend([
            flag("listen", SocketAddr::from((Ipv4Addr::LOCALHOST, port))),
            flag("broadcaster-port", connects.broadcaster),
            flag("collector-port", connects.collector),
        ]);
        args.extend(
            [
                given("ai-port", ai_port),
                given("robots-port", robots_port),
                given("network-port", network_port),
                token_needed.then(|| s("--token-needed")),
            ]
            .into_iter()
            .flatten(),
        );
        listening(&mut self.services, site.start(PAGE, &args)?).await
    }

    /// Starts the robots; with `time`, they end by themselves. Where they are `controlled`, tells
    /// where: they say so before anything else.
    pub(crate) async fn start_robots(
        &mut self,
        pipeline: &Pipeline,
        lanes: &[LaneSpec],
        time: Option<Duration>,
        controlled: bool,
        site: &Site<'_>,
    ) -> anyhow::Result<Option<SocketAddr>> {
        let mut args = common(pipeline);
        args.extend(
            [
                given("robots", pipeline.robots.as_ref()),
                given("rate", pipeline.rate.as_ref()),
                given("qos", pipeline.qos.as_ref().map(name)),
                given("payload-bytes", pipeline.payload_bytes.as_ref()),
                given("topic", pipeline.topic.as_ref()),
                lanes_arg(lanes),
            ]
            .into_iter()
            .flatten(),
        );
        if let Some(time) = time {
            args.extend([s("--for"), format!("{}ms", time.as_millis())]);
        }
        // Who can set the robots can set the loss, too.
        if site.namespaces.is_some_and(|all| all.lose_messages(controlled)) {
            args.push(flag("linger", LOSSY_LINGER));
        }
        if controlled {
            args.push(flag("control", SocketAddr::from((Ipv4Addr::LOCALHOST, 0))));
        }
        let robots = self.robots.insert(site.start("robot-sim", &args)?);
        if controlled { robots.address().await.map(Some) } else { Ok(None) }
    }

    /// Waits until a program ends that should not have, and says why it did.
    pub(crate) async fn failure(&mut self) -> anyhow::Error {
        loop {
            for child in self.services.iter_mut().chain(&mut self.gateway) {
                if child.has_ended() {
                    return child.died().await;
                }
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Waits until the robots end by themselves; for ever when there are none.
    pub(crate) async fn robots_ended(robots: &mut Option<Child>) -> anyhow::Result<()> {
        let Some(child) = robots else { return std::future::pending().await };
        let status = child.ended().await?;
        if status.success() { Ok(()) } else { Err(child.died().await) }
    }

    /// Splits the robots off, so that they can be waited for beside [`Stack::failure`].
    pub(crate) fn take_robots(&mut self) -> Option<Child> {
        self.robots.take()
    }

    /// Stops what tells the collector something, in the order of the way: the gateway finishes
    /// what is under way and delivers its last records, then the services. The collector stays.
    /// When it is gone there is no order to keep.
    pub(crate) async fn stop_senders(&mut self, patience: Patience) {
        if self.services.first_mut().is_some_and(Child::has_ended) {
            return;
        }
        if let Some(gateway) = &mut self.gateway {
            gateway.stop(patience.until(Patience::GATEWAY)).await;
        }
        let services = patience.until(Patience::SERVICES);
        stop_all(self.services.iter_mut().skip(1), services).await;
    }

    /// Stops all that is left.
    pub(crate) async fn stop(mut self, patience: Patience) {
        if let Some(robots) = &mut self.robots {
            stop_robots(robots, patience).await;
        }
        self.stop_senders(patience).await;
        let all = patience.until(Patience::ALL);
        stop_all(self.services.iter_mut().chain(&mut self.gateway), all).await;
    }
}

/// Keeps a program, and waits until it tells where it listens.
async fn listening(services: &mut Vec<Child>, child: Child) -> anyhow::Result<SocketAddr> {
    services.push(child);
    match services.last_mut() {
        Some(child) => child.address().await,
        None => anyhow::bail!("nothing was started"),
    }
}

/// Stops robots that were split off.
pub(crate) async fn stop_robots(robots: &mut Child, patience: Patience) {
    robots.stop(patience.until(Patience::ROBOTS)).await;
}

async fn stop_all(children: impl Iterator<Item = &mut Child>, patience: Duration) {
    let stopping: Vec<_> = children.map(|child| child.stop(patience)).collect();
    futures_util::future::join_all(stopping).await;
}

fn common(pipeline: &Pipeline) -> Vec<String> {
    let file = pipeline.config.as_ref().map(|path| path.display().to_string());
    file.map(|file| vec![s("--config"), file]).unwrap_or_default()
}

/// Where the collector keeps records, and what its live page judges by.
#[expect(clippy::cast_precision_loss, reason = "limits are far below 2^53 ns")]
pub(crate) fn collector_args(database: &Path, budget: &Budget) -> Vec<String> {
    let ms = |ns: i64| ns as f64 / 1e6;
    vec![
        flag("database", database.display()),
        flag("budget-total-ms", ms(budget.total_ns)),
        flag("budget-communication-ms", ms(budget.communication_ns)),
        flag("budget-p99-ms", ms(budget.p99_total_ns)),
        flag("budget-delivered", budget.min_delivered.unwrap_or(0.0)),
    ]
}

fn ai_args(pipeline: &Pipeline) -> Vec<String> {
    [
        given("model-ms", pipeline.ai_ms.as_ref()),
        given("sigma", pipeline.ai_sigma.as_ref()),
        given("concurrency", pipeline.ai_concurrency.as_ref()),
        given("failure-rate", pipeline.ai_failure_rate.as_ref()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn gateway_args(pipeline: &Pipeline) -> Vec<String> {
    let serial = pipeline.serial.then(|| s("--serial"));
    [
        given("qos", pipeline.qos.as_ref().map(name)),
        given("topic", pipeline.topic.as_ref()),
        given("link", pipeline.link.as_ref().map(name)),
        given("in-flight", pipeline.in_flight.as_ref()),
        given("clock-peers", pipeline.clock_peers.as_ref()),
        given("probes-hz", pipeline.probes.as_ref()),
        serial,
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Gateway and robots read the same lanes.
fn lanes_arg(lanes: &[LaneSpec]) -> Option<String> {
    (!lanes.is_empty()).then(|| flag("lanes", LaneSpec::join(lanes)))
}

fn s(text: &str) -> String {
    text.to_owned()
}

/// In one word, so that a value that begins with a minus is taken for a value.
fn flag(name: &str, value: impl std::fmt::Display) -> String {
    format!("--{name}={value}")
}

/// The same for a value that may have been left to the configuration.
fn given(name: &str, value: Option<impl std::fmt::Display>) -> Option<String> {
    value.map(|value| flag(name, value))
}

/// Makes the folder of a run and the one for its logs.
pub(crate) fn make_folders(out: &Path) -> Result<std::path::PathBuf, Usage> {
    let logs = out.join("logs");
    match std::fs::create_dir_all(&logs) {
        Ok(()) => Ok(logs),
        Err(error) => Err(Usage(format!(
            "failed to make the folder {}: {error}; choose another --out",
            logs.display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stages_of_an_end_add_up_to_less_than_five_seconds() {
        let stages = [Patience::ROBOTS, Patience::GATEWAY, Patience::SERVICES, Patience::ALL];
        assert!(stages.is_sorted());
        // What is late at each stage has the least at the next ones.
        let late = Patience::ALL + Patience::LEAST;
        assert!(late < Duration::from_secs(5));
        let long_ago = Instant::now().checked_sub(Duration::from_secs(60)).map(Some).map(Patience);
        for stage in stages {
            assert_eq!(Patience::RELAXED.until(stage), Patience::EACH);
            assert!(Patience::from_now().until(stage) <= stage);
            assert_eq!(long_ago.map(|patience| patience.until(stage)), Some(Patience::LEAST));
        }
    }
}
