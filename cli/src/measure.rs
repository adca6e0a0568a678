//! `hopwatch up` and `hopwatch run`: start, watch, stop in the order of the way, report.

use crate::args::{Pipeline, Run, Up, Usage};
use crate::environment::fingerprint;
use crate::fetch::Collector;
use crate::interrupts::Interrupts;
use crate::network::{Asked, Inside, Namespaces, NetworkArgs, Place, sweep_and_say};
use crate::progress::Progress;
use crate::report;
use crate::settings::{self, Settings, gives_gateway};
use crate::stack::{
    Addresses, Patience, Ports, Site, Stack, collector_args, make_folders, stop_robots,
};
use crate::watched::{self, Connects, Watched};
use anyhow::Context;
use hopwatch_analysis::Budget;
use hopwatch_folder::{DATABASE, End, REPORT, RUN_FILE, RunFile, UnderWay};
use hopwatch_kit::net::Token;
use hopwatch_model::lane::LaneSpec;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// How long messages under way may take to end after the robots did.
const SETTLE: Duration = Duration::from_secs(8);
/// The same after Ctrl-C, which must be over within 5 s: the robots take up to 1 s for their last
/// words, and the gateway itself lets what is under way end for 2 s.
const SETTLE_INTERRUPTED: Duration = Duration::from_millis(500);
/// Shadow probes a second, where somebody watches: each link and service once in 8 s.
const PROBES_HZ: f64 = 2.0;
/// How often the folder is told that the run still lives: so well is the length of a killed one
/// known.
const LIFE_SIGN: Duration = Duration::from_secs(5);

/// What to measure.
struct Plan {
    pipeline: Pipeline,
    /// None: the programs' own keys describe the only one.
    lanes: Vec<LaneSpec>,
    ports: Ports,
    /// `None`: until Ctrl-C.
    time: Option<Duration>,
    simulate: bool,
    /// `None`: on this host's own network.
    network: Option<Asked>,
    /// End when standard input does.
    end_with_parent: bool,
    budget: Budget,
    /// Somebody set the budget.
    judged: bool,
}

/// `hopwatch up`.
pub(crate) async fn up(up: Up) -> anyhow::Result<u8> {
    let settings = Settings::load(up.pipeline.config.as_deref())?;
    let network = network_of(&up.network, up.no_sim, false, &up.pipeline)?;
    let page = up.page_port;
    let ports = if up.any_ports { Ports::free(Some(page)) } else { Ports::usual(page) };
    let lanes = settings.lanes(&up.pipeline, !up.no_sim, true)?;
    let mut pipeline = up.pipeline;
    if pipeline.probes.is_none() && !settings::gives_probes(&pipeline) {
        pipeline.probes = Some(PROBES_HZ);
    }
    let plan = Plan {
        lanes,
        pipeline,
        ports,
        time: None,
        simulate: !up.no_sim,
        network,
        end_with_parent: false,
        budget: settings.budget(&up.budget)?,
        // `up` shows whether limits hold, and ends well all the same.
        judged: false,
    };
    measure(plan).await
}

/// `hopwatch run`.
pub(crate) async fn run(run: Run) -> anyhow::Result<u8> {
    let settings = Settings::load(run.pipeline.config.as_deref())?;
    let plan = Plan {
        lanes: settings.lanes(&run.pipeline, !run.no_sim, false)?,
        network: network_of(&run.network, run.no_sim, run.page_port.is_some(), &run.pipeline)?,
        end_with_parent: run.end_with_parent,
        budget: settings.budget(&run.budget)?,
        judged: true,
        ports: Ports::free(run.page_port),
        time: Some(run.duration),
        simulate: !run.no_sim,
        pipeline: run.pipeline,
    };
    measure(plan).await
}

/// The network that is asked for, if the rest of the command line leaves it possible.
fn network_of(
    network: &NetworkArgs,
    no_sim: bool,
    page: bool,
    pipeline: &Pipeline,
) -> Result<Option<Asked>, Usage> {
    let asked = network.asked()?;
    let elsewhere = [
        (no_sim, "--no-sim: robots of yours"),
        (page, "--page-port of `hopwatch run` (`up` has a way in): the live page"),
        (pipeline.ai_url.is_some(), "--ai-url: your AI service"),
        (gives_gateway(pipeline, "ai_url"), "gateway.ai_url: your AI service"),
        (gives_gateway(pipeline, "web_url"), "gateway.web_url: your web service"),
        (pipeline.clock_peers.is_some(), "--clock-peers: clock responders"),
    ];
    match elsewhere.iter().find(|(given, _)| asked.is_some() && *given) {
        None => Ok(asked),
        Some((_, what)) => {
            Err(Usage(format!("{what} would not be on the network that --loss or --delay makes")))
        }
    }
}

async fn measure(plan: Plan) -> anyhow::Result<u8> {
    if plan.simulate {
        settings::robots_fit(&plan.pipeline)?;
    }
    let mut interrupts = Interrupts::new(plan.end_with_parent)?;
    tokio::task::spawn_blocking(sweep_and_say).await.context("failed to sweep")?;
    let started = SystemTime::now();
    let out = out_folder(&plan.pipeline, started)?;
    let namespaces = match plan.network.clone() {
        Some(asked) => {
            let making = tokio::task::spawn_blocking(move || Namespaces::make(&asked));
            Some(making.await.context("failed to make network namespaces")??)
        }
        None => None,
    };
    let logs = make_folders(&out)?;
    let token = token(namespaces.is_some())?;
    let ros = ros_environment(&plan, &token);
    let since = humantime::format_rfc3339_seconds(started).to_string();
    let file = RunFile::new(since, fingerprint(&ros), &plan.budget, plan.judged);
    let mut run = UnderWay::begin(out, file)?;
    let clock = Instant::now();
    let mut stack = Stack::default();
    let keep = collector_args(&run.out.join(DATABASE), &plan.budget);
    let site = Site { environment: &ros, logs: &logs, namespaces: namespaces.as_ref() };
    let starting = tokio::select! {
        starting = stack.start(&plan.pipeline, &plan.lanes, plan.ports, &site, &keep) => starting,
        _ = interrupts.next() => Err(anyhow::anyhow!("stopped before it began")),
    };
    run.measure();
    let begun = match starting {
        Ok(addresses) => tokio::select! {
            begun = begin(&plan, &mut stack, &addresses, &site, &token) => begun,
            _ = interrupts.next() => Err(anyhow::anyhow!("stopped before it began")),
        },
        Err(error) => Err(error),
    };
    let (collector, _watched) = match begun {
        Ok(begun) => begun,
        Err(error) => {
            stack.stop(Patience::from_now()).await;
            run.discard();
            return Err(error);
        }
    };
    let (ended, patience) = watch(&plan, &mut stack, &collector, &mut interrupts, &mut run).await;
    let ended = match ended {
        Ok(ended) => ended,
        // The robots could not do what they were asked: nothing was measured.
        Err(error) if error.is::<Usage>() => {
            stack.stop(patience).await;
            run.discard();
            return Err(error);
        }
        // What was measured before something failed is still reported, if it can be.
        Err(error) => {
            tell!("hopwatch: {error:#}");
            Ended::Failed(format!("{error:#}"))
        }
    };
    let out = run.out.display().to_string();
    let code = tokio::select! {
        code = finish(stack, patience, run, &ended, namespaces) => code?,
        // Asked again while the end itself hangs: dropped children are killed.
        _ = interrupts.next() => anyhow::bail!("stopped at once; nothing was reported"),
    };
    tell!("report: {out} ({:.0} s in all)", clock.elapsed().as_secs_f64());
    Ok(code)
}

/// Lets messages come, and tells where the page is. The robots are started first: the page is told
/// where they can be set.
async fn begin(
    plan: &Plan,
    stack: &mut Stack,
    addresses: &Addresses,
    site: &Site<'_>,
    token: &Token,
) -> anyhow::Result<(Arc<Collector>, Option<Watched>)> {
    let file = site.namespaces.map(|all| all.file(Place::Services));
    let inside = file.map(|file| Inside::enter(&file)).transpose()?;
    let collector = Arc::new(Collector::at(addresses.collector, token, inside)?);
    let mut robots = None;
    if plan.simulate {
        let controlled = plan.ports.page.is_some();
        let (pipeline, lanes) = (&plan.pipeline, &plan.lanes);
        robots = stack.start_robots(pipeline, lanes, plan.time, controlled, site).await?;
    }
    let mut watched = None;
    if let Some(port) = plan.ports.page {
        let connects = Connects { addresses, robots, ports: plan.ports, token };
        let (page_ports, kept) = watched::open(connects, site.namespaces, &collector).await?;
        let page = stack.start_page(&plan.pipeline, port, &page_ports, site).await?;
        watched = Some(kept);
        // The line that people and scripts look for.
        writeln!(std::io::stdout(), "live page: http://{page}/").context("failed to print")?;
    }
    if !plan.simulate {
        let of = |key: &str, default: &str| {
            let own = site
                .environment
                .iter()
                .find(|(name, _)| name == key)
                .map(|(_, value)| value.clone());
            own.or_else(|| std::env::var(key).ok()).unwrap_or_else(|| default.to_owned())
        };
        tell!(
            "waiting for messages in ROS domain {}, discovery range {} (robots on other hosts need \
             ROS_AUTOMATIC_DISCOVERY_RANGE=SUBNET)",
            of("ROS_DOMAIN_ID", "0"),
            of("ROS_AUTOMATIC_DISCOVERY_RANGE", "SUBNET")
        );
    }
    Ok((collector, watched))
}

/// How the measurement ended.
enum Ended {
    Whole,
    Interrupted(&'static str),
    Failed(String),
}

impl Ended {
    fn reason(&self) -> Option<String> {
        match self {
            Self::Whole => None,
            Self::Interrupted(signal) => Some((*signal).to_owned()),
            Self::Failed(why) => Some(why.clone()),
        }
    }
}

/// Watches until the robots have ended and their messages with them, or somebody stops us.
async fn watch(
    plan: &Plan,
    stack: &mut Stack,
    collector: &Collector,
    interrupts: &mut Interrupts,
    run: &mut UnderWay,
) -> (anyhow::Result<Ended>, Patience) {
    let mut progress = Progress::new(plan.time);
    let mut robots = stack.take_robots();
    // Without robots of ours, time itself ends a run.
    let time_up = async {
        match plan.time.filter(|_| !plan.simulate) {
            Some(time) => tokio::time::sleep(time).await,
            None => std::future::pending().await,
        }
    };
    let showing = async {
        let mut told = Instant::now();
        loop {
            tokio::time::sleep(Duration::from_millis(500)).await;
            // A collector that is gone is told by its end, not by this.
            if let Ok(status) = collector.status().await {
                progress.show(&status);
            }
            if told.elapsed() >= LIFE_SIGN {
                told = Instant::now();
                run.lives();
            }
        }
    };
    let ended = tokio::select! {
        robots = Stack::robots_ended(&mut robots) => robots.map(|()| Ended::Whole),
        () = time_up => Ok(Ended::Whole),
        signal = interrupts.next() => Ok(Ended::Interrupted(signal)),
        error = stack.failure() => Err(error),
        never = showing => never,
    };
    progress.end();
    let (settle, patience) = match &ended {
        Ok(Ended::Whole) => (SETTLE, Patience::RELAXED),
        _ => (SETTLE_INTERRUPTED, Patience::from_now()),
    };
    if let Some(mut robots) = robots {
        stop_robots(&mut robots, patience).await;
    }
    let settled = async {
        while !collector.status().await.is_ok_and(|s| s.state == "ended" || idle(&s)) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let patience = tokio::select! {
        _ = tokio::time::timeout(settle, settled) => patience,
        _ = interrupts.next() => patience.or_from_now(),
    };
    (ended, patience)
}

/// Nothing is on the way. Of robots with a census, the state says so; others have none.
fn idle(status: &crate::fetch::Status) -> bool {
    status.state == "waiting" || status.lanes.values().all(|lane| lane.in_flight == 0)
}

/// Stops everything, and makes the report from what is in the folder then.
async fn finish(
    mut stack: Stack,
    patience: Patience,
    mut run: UnderWay,
    ended: &Ended,
    namespaces: Option<Namespaces>,
) -> anyhow::Result<u8> {
    let end = if matches!(ended, Ended::Failed(_)) { End::Failed } else { End::InOrder };
    run.end(end, ended.reason());
    stack.stop_senders(patience).await;
    stack.stop(patience).await;
    let making = tokio::task::spawn_blocking(move || {
        if let Some(namespaces) = namespaces {
            run.set_network(namespaces.counted());
        }
        run.write_or_warn();
        report::make(&run.out)
    });
    // Its folder is our own: nothing that is wrong with it is a matter of usage.
    let made = making.await.context("nothing can be reported")?;
    made.map_err(|error| anyhow::anyhow!("nothing can be reported: {error:#}"))
}

fn out_folder(pipeline: &Pipeline, now: SystemTime) -> anyhow::Result<PathBuf> {
    let out = pipeline.out.clone().unwrap_or_else(|| {
        let stamp = humantime::format_rfc3339_seconds(now).to_string().replace(':', "-");
        Path::new("out").join(stamp)
    });
    if out.to_str().is_none() {
        let text = format!("{} is not UTF-8: choose another --out", out.display());
        return Err(Usage(text).into());
    }
    if [REPORT, RUN_FILE, DATABASE].iter().any(|name| out.join(name).exists()) {
        let text = format!(
            "{} holds a run already: choose another --out (`hopwatch report` reports it again)",
            out.display()
        );
        return Err(Usage(text).into());
    }
    Ok(out)
}

/// What the services show each other. On addresses beyond loopback they listen with one only,
/// though nobody else is on this network.
fn token(needed: bool) -> anyhow::Result<Token> {
    let given = Token::from_environment().map_err(|refused| Usage(refused.to_string()))?;
    let none = given.authorization().is_none();
    Ok(if needed && none { Token::some(&uuid::Uuid::new_v4().to_string()) } else { given })
}

/// Nothing leaves this machine, and simulated robots meet nobody else's.
fn ros_environment(plan: &Plan, token: &Token) -> Vec<(String, String)> {
    let mut environment = Vec::new();
    if plan.network.is_some() {
        // The range is that of the namespaces. Shared memory would be a way around the network.
        environment.push(("ROS_AUTOMATIC_DISCOVERY_RANGE".to_owned(), "SUBNET".to_owned()));
        environment.push(("FASTDDS_BUILTIN_TRANSPORTS".to_owned(), "UDPv4".to_owned()));
        if let Some(token) = token.secret() {
            environment.push(("HOPWATCH_TOKEN".to_owned(), token.to_owned()));
        }
    } else if std::env::var_os("ROS_AUTOMATIC_DISCOVERY_RANGE").is_none() {
        environment.push(("ROS_AUTOMATIC_DISCOVERY_RANGE".to_owned(), "LOCALHOST".to_owned()));
    }
    let given = plan.pipeline.domain.map(|domain| domain.to_string());
    let own = || {
        let free = plan.simulate && std::env::var_os("ROS_DOMAIN_ID").is_none();
        free.then(|| crate::domain::free().to_string())
    };
    if let Some(domain) = given.or_else(own) {
        environment.push(("ROS_DOMAIN_ID".to_owned(), domain));
    }
    environment
}
