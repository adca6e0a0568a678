//! Measured runs: a part of a run, from a start to a stop that the page asks for, with a report of
//! its own.
//!
//! **The rule.** A message belongs to a measured run when the gateway took it between start and
//! stop, whatever becomes of it. After the stop its outcome is waited for, but no longer than
//! [`PATIENCE`]. Where the gateway's clock is this host's, a take is placed by the clock. Elsewhere
//! start and stop stand at the newest take that was known here then.
//!
//! The account is by the writers' numbers from the first message of the run to the last: a robot's
//! census doesn't say how much of it falls between two takes. A missing number is a loss in ROS only
//! as far as the gateway's tap counted gaps meanwhile; else what became of it isn't known.

mod part;
mod routes;

use crate::told::{Told, What};
use hopwatch_analysis::{Event, LedgerBuilder};
use hopwatch_folder::ReportFiles;
use hopwatch_kit::clock::{clock_id, mono_ns};
use hopwatch_model::{ClockId, GatewayCounters, Hop, Ns, Probe, Trace};
use hopwatch_wire::feed::{MeasuredRun, MeasuredState};
use hopwatch_wire::record::{EventRecord, Record};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

pub(crate) use routes::routes;

/// How long outcomes are waited for after the stop: longer than the gateway waits for the services
/// by default (5 s and 2 s).
const PATIENCE: Duration = Duration::from_secs(10);
/// Counters that arrive so long after the stop were made after it: the gateway holds records back
/// for 0.2 s.
const UNDER_WAY: Duration = Duration::from_millis(700);
/// A gateway that said nothing for so long after the stop has nothing to tell, or is gone.
const SILENCE: Duration = Duration::from_millis(1500);
/// Runs that the feed shows.
const SHOWN: usize = 20;
/// Runs that a folder may hold: no page can fill the disk.
const MOST: usize = 1000;
/// Reports that are kept in memory where there is no database.
const IN_MEMORY: usize = 5;
/// Events and probes of a run, each.
const BESIDE: usize = 10_000;

/// The file that says how a run ended. It is written last.
const SUMMARY: &str = "measured.json";
/// Its schema.
const SCHEMA: &str = "hopwatch.measured/1";
/// How the names of runs begin.
const PREFIX: &str = "measured-";

/// All measured runs, and what has to be known to begin one.
pub(crate) struct Measured {
    started: Instant,
    /// `None`: without a database, in memory only.
    folder: Option<PathBuf>,
    /// The newest take on each clock.
    newest: BTreeMap<ClockId, Ns>,
    /// The newest counters, by source and lane.
    counters: BTreeMap<(Arc<str>, String), (u64, GatewayCounters)>,
    /// The one that goes on.
    course: Option<Course>,
    /// Newest first.
    runs: VecDeque<Run>,
}

/// A run and where its report is.
struct Run {
    view: MeasuredRun,
    files: Option<Arc<ReportFiles>>,
}

/// A measured run from its start until its report is made.
pub(crate) struct Course {
    name: String,
    began: SystemTime,
    ended: Option<SystemTime>,
    from: Edges,
    to: Option<Edges>,
    /// Counters from now on were made after the stop.
    settling: bool,
    waited: Duration,
    gateways: BTreeMap<(Arc<str>, String), Heard>,
    /// By lane, of all messages since the start: a hole in it may be one that is on its way.
    ledgers: BTreeMap<String, LedgerBuilder>,
    events: Vec<Event>,
    probes: Vec<Probe>,
}

/// What a gateway told of a lane since the start.
#[derive(Default)]
struct Heard {
    /// Its counters before the start. `None`: it told none.
    before: Option<GatewayCounters>,
    now: Option<GatewayCounters>,
    /// Messages of the run.
    taken: u64,
    /// The first ones that were made after the stop, and how many outcomes came since.
    after: Option<(GatewayCounters, u64)>,
}

/// Messages in its queue or with a worker.
fn open(counters: &GatewayCounters) -> u64 {
    counters.queued.saturating_add(counters.working)
}

impl Heard {
    /// It told something since the start.
    fn is_part(&self) -> bool {
        self.now.is_some() || self.taken > 0
    }

    fn is_idle(&self, waited: Duration) -> bool {
        self.is_over()
            || self.after.as_ref().is_some_and(|(counters, _)| open(counters) == 0)
            || waited >= SILENCE && self.is_quiet()
    }

    /// A gateway tells its counters when they have changed. It told none after the stop, and had
    /// nothing on the way before.
    fn is_quiet(&self) -> bool {
        self.after.is_none() && self.newest().is_some_and(|counters| open(counters) == 0)
    }

    fn newest(&self) -> Option<&GatewayCounters> {
        self.now.as_ref().or(self.before.as_ref())
    }

    /// Nothing that was open at the stop is open any more, if messages end in the order of their
    /// takes.
    fn has_caught_up(&self, waited: Duration) -> bool {
        self.is_idle(waited)
            || self.after.as_ref().is_some_and(|(then, since)| *since >= open(then))
    }

    /// The counters next to its end.
    fn at_the_end(&self) -> Option<&GatewayCounters> {
        self.after.as_ref().map(|(counters, _)| counters).or(self.newest())
    }

    fn is_over(&self) -> bool {
        self.now.as_ref().is_some_and(|counters| counters.last)
    }
}

/// Where on each clock something begins or ends.
#[derive(Clone, Debug, Default)]
pub(crate) struct Edges(BTreeMap<ClockId, Ns>);

/// The stretch of a run: behind the one, up to the other.
#[derive(Clone, Debug)]
pub(crate) struct Stretch {
    from: Edges,
    to: Edges,
}

impl Stretch {
    pub(crate) fn holds(&self, trace: &Trace) -> bool {
        trace.stamps.get(Hop::Taken).is_some_and(|taken| {
            self.from.is_before(&taken.clock, taken.ns)
                && !self.to.is_before(&taken.clock, taken.ns)
        })
    }
}

impl Edges {
    /// A clock that was not known yet has its edge before everything.
    fn is_before(&self, clock: &ClockId, ns: Ns) -> bool {
        self.0.get(clock).is_none_or(|edge| ns > *edge)
    }
}

/// How a run ended, in its folder.
#[derive(Debug, Serialize, Deserialize)]
struct Summary {
    schema: String,
    messages: Option<u64>,
    decision: Option<String>,
    trouble: Option<String>,
}

/// What can't be done now; a sentence.
pub(crate) type Refusal = String;

/// What became of a report.
pub(crate) struct Made {
    pub(crate) messages: u64,
    pub(crate) decision: String,
    pub(crate) files: ReportFiles,
}

impl Measured {
    /// None yet, in memory.
    pub(crate) fn new() -> Self {
        Self {
            started: Instant::now(),
            folder: None,
            newest: BTreeMap::new(),
            counters: BTreeMap::new(),
            course: None,
            runs: VecDeque::new(),
        }
    }

    /// Keeps runs in a folder, and knows those that are there already.
    pub(crate) fn keep_in(&mut self, folder: PathBuf) {
        let mut names: Vec<String> = std::fs::read_dir(&folder)
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| name.starts_with(PREFIX))
            .collect();
        // Names are times.
        names.sort_unstable_by(|a, b| b.cmp(a));
        let found = names.into_iter().map(|name| Run { view: found(&folder, name), files: None });
        self.runs = found.collect();
        self.folder = Some(folder);
    }

    /// The runs for the feed, newest first.
    pub(crate) fn runs(&self) -> Vec<MeasuredRun> {
        self.runs.iter().take(SHOWN).map(|run| run.view.clone()).collect()
    }

    /// Takes note of an entry that is new.
    pub(crate) fn observe(&mut self, told: &Told) {
        match &told.what {
            What::Trace(trace) => self.observe_trace(trace),
            What::Probe(probe) => {
                if let Some(course) = self.going_on().filter(|c| c.probes.len() < BESIDE) {
                    course.probes.push((**probe).clone());
                }
            }
            What::Word { record: Record::Gateway(counters), .. } => {
                let (source, number) = &told.origin;
                self.observe_counters(source, *number, counters);
            }
            What::Client(_) | What::Peer(_) | What::Word { .. } => {}
        }
    }

    /// Takes note of an event, whoever tells it.
    pub(crate) fn observe_event(&mut self, event: &EventRecord) {
        if let Some(course) = self.going_on().filter(|course| course.events.len() < BESIDE) {
            course.events.push(Event { kind: event.event.clone(), text: event.text.clone() });
        }
    }

    /// The run between its start and its stop.
    fn going_on(&mut self) -> Option<&mut Course> {
        self.course.as_mut().filter(|course| course.to.is_none())
    }

    fn observe_trace(&mut self, trace: &Trace) {
        let Some(taken) = trace.stamps.get(Hop::Taken) else { return };
        match self.newest.get_mut(&taken.clock) {
            Some(newest) => *newest = taken.ns.max(*newest),
            None => drop(self.newest.insert(taken.clock.clone(), taken.ns)),
        }
        let Some(course) = &mut self.course else { return };
        let key = (Arc::from(trace.gateway.as_str()), trace.lane.clone());
        let heard = course.gateways.entry(key).or_default();
        if let Some((_, since)) = &mut heard.after {
            *since += 1;
        }
        if course.from.is_before(&taken.clock, taken.ns) {
            let within = |to: &Edges| !to.is_before(&taken.clock, taken.ns);
            heard.taken += u64::from(course.to.as_ref().is_none_or(within));
            let ledger = course.ledgers.entry(trace.lane.clone()).or_default();
            ledger.observe_trace(trace);
        }
    }

    fn observe_counters(&mut self, source: &Arc<str>, number: u64, counters: &GatewayCounters) {
        let key = (Arc::clone(source), counters.lane.clone());
        let counters = GatewayCounters { gateway: source.to_string(), ..counters.clone() };
        if self.counters.get(&key).is_some_and(|(known, _)| *known >= number) {
            return;
        }
        if let Some(course) = &mut self.course {
            let heard = course.gateways.entry(key.clone()).or_default();
            if course.settling && heard.after.is_none() {
                heard.after = Some((counters.clone(), 0));
            }
            heard.now = Some(counters.clone());
        }
        self.counters.insert(key, (number, counters));
    }

    /// Now, on each clock.
    fn edges(&self) -> Edges {
        let mut edges = self.newest.clone();
        edges.insert(clock_id(), mono_ns());
        Edges(edges)
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Begins a run.
    pub(crate) fn start(&mut self) -> Result<MeasuredRun, Refusal> {
        if let Some(course) = &self.course {
            let name = &course.name;
            return Err(match course.to {
                None => format!("{name} goes on: stop it first"),
                Some(_) => format!("the report of {name} is being made: start again after it"),
            });
        }
        if self.folder.is_some() && self.runs.len() >= MOST {
            return Err(format!(
                "there are {MOST} measured runs: move some away, and start the collector again"
            ));
        }
        let began = SystemTime::now();
        let name = self.new_name(began)?;
        let heard = |(_, counters): &(u64, GatewayCounters)| Heard {
            before: Some(counters.clone()),
            ..Heard::default()
        };
        let course = Course {
            name: name.clone(),
            began,
            ended: None,
            from: self.edges(),
            to: None,
            settling: false,
            waited: Duration::ZERO,
            // Those that are gone are none of its.
            gateways: self
                .counters
                .iter()
                .filter(|(_, (_, counters))| !counters.last)
                .map(|(key, known)| (key.clone(), heard(known)))
                .collect(),
            ledgers: BTreeMap::new(),
            events: Vec::new(),
            probes: Vec::new(),
        };
        self.course = Some(course);
        let view = MeasuredRun {
            name,
            state: MeasuredState::Running,
            from_ms: self.now_ms(),
            to_ms: None,
            messages: None,
            decision: None,
            trouble: None,
        };
        self.runs.push_front(Run { view: view.clone(), files: None });
        Ok(view)
    }

    /// A name that no other run has. Its folder is made, where runs have folders.
    fn new_name(&self, began: SystemTime) -> Result<String, Refusal> {
        let time = humantime::format_rfc3339_seconds(began).to_string().replace(':', "-");
        for nth in 1..=MOST {
            let more = if nth == 1 { String::new() } else { format!("-{nth}") };
            let name = format!("{PREFIX}{time}{more}");
            if self.runs.iter().any(|run| run.view.name == name) {
                continue;
            }
            let Some(folder) = &self.folder else { return Ok(name) };
            let made = std::fs::create_dir_all(folder);
            match made.and_then(|()| std::fs::create_dir(folder.join(&name))) {
                Ok(()) => return Ok(name),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(format!("the folder of a measured run can't be made: {error}"));
                }
            }
        }
        Err(format!("there is no name left for a measured run at {time}"))
    }

    /// Ends the run. Its report is to be made once [`Measured::is_settled`].
    pub(crate) fn stop(&mut self) -> Result<MeasuredRun, Refusal> {
        let (edges, now_ms) = (self.edges(), self.now_ms());
        let Some(course) = self.going_on() else {
            return Err(match &self.course {
                Some(course) => format!("{} was stopped already", course.name),
                None => "no measured run goes on: start one first".to_owned(),
            });
        };
        course.to = Some(edges);
        course.ended = Some(SystemTime::now());
        let name = course.name.clone();
        let view = |view: &mut MeasuredRun| {
            view.state = MeasuredState::Writing;
            view.to_ms = Some(now_ms);
        };
        Ok(self.change(&name, view))
    }

    fn change(&mut self, name: &str, change: impl FnOnce(&mut MeasuredRun)) -> MeasuredRun {
        let of_name = |run: &&mut Run| run.view.name == name;
        match self.runs.iter_mut().find(of_name) {
            Some(run) => {
                change(&mut run.view);
                run.view.clone()
            }
            // It is put there when it starts.
            None => failed(name.to_owned(), "it is not known any more".to_owned()),
        }
    }

    /// Whether every message of the run has its outcome, as far as can be told; asked again and
    /// again, `waited` after the stop.
    pub(crate) fn is_settled(&mut self, waited: Duration) -> bool {
        let Some(course) = &mut self.course else { return true };
        course.waited = waited;
        course.settling |= waited >= UNDER_WAY;
        if waited >= PATIENCE {
            return true;
        }
        // One that said nothing since the start may be long gone. One that said nothing since the
        // stop may still tell.
        let of = |is: fn(&Heard, Duration) -> bool| {
            let mut part = course.gateways.values().filter(|heard| heard.is_part());
            part.all(|heard| is(heard, waited))
        };
        let whole = |ledger: &LedgerBuilder| {
            let ledger = ledger.ledger(true);
            ledger.lost_in_ros == 0 && ledger.outcome_unknown == 0
        };
        course.settling
            && (of(Heard::is_idle)
                || of(Heard::has_caught_up) && course.ledgers.values().all(whole))
    }

    /// The run that has settled, for its report.
    pub(crate) fn settled(&mut self) -> Option<Settled> {
        let course = self.course.as_mut()?;
        Some(Settled {
            name: course.name.clone(),
            began: course.began,
            ended: course.ended?,
            stretch: Stretch { from: course.from.clone(), to: course.to.clone()? },
            waited: course.waited,
            gateways: std::mem::take(&mut course.gateways),
            events: std::mem::take(&mut course.events),
            probes: std::mem::take(&mut course.probes),
            folder: self.folder.as_ref().map(|folder| folder.join(&course.name)),
        })
    }

    /// The report is made, or it can't be: the next run may start.
    pub(crate) fn end(&mut self, name: &str, made: Result<Made, String>) {
        self.course = None;
        let files = match made {
            Ok(made) => {
                self.change(name, |view| {
                    view.state = MeasuredState::Done;
                    view.messages = Some(made.messages);
                    view.decision = Some(made.decision);
                });
                self.folder.is_none().then(|| Arc::new(made.files))
            }
            Err(trouble) => {
                self.change(name, |view| {
                    view.state = MeasuredState::Failed;
                    view.trouble = Some(trouble);
                });
                None
            }
        };
        if let Some(run) = self.runs.iter_mut().find(|run| run.view.name == name) {
            run.files = files;
        }
        if self.folder.is_none() {
            let trouble = "its report is no longer kept: without a database the newest few are";
            for run in self.runs.iter_mut().filter(|run| run.files.is_some()).skip(IN_MEMORY) {
                run.files = None;
                run.view.state = MeasuredState::Failed;
                run.view.trouble = Some(trouble.to_owned());
            }
            self.runs.truncate(SHOWN);
        }
    }

    /// Where a file of a run is.
    pub(crate) fn find(&self, name: &str) -> Result<Place, (bool, String)> {
        let known = self.runs.iter().find(|run| run.view.name == name);
        let run = known.ok_or((false, "there is no measured run of this name".to_owned()))?;
        match run.view.state {
            MeasuredState::Running => Err((true, format!("{name} goes on: stop it first"))),
            MeasuredState::Writing => Err((true, format!("the report of {name} is being made"))),
            MeasuredState::Failed => {
                let why = run.view.trouble.as_deref().unwrap_or("it failed");
                Err((false, format!("{name} has no report: {why}")))
            }
            MeasuredState::Done => Ok(match (&run.files, &self.folder) {
                (Some(files), _) => Place::Memory(Arc::clone(files)),
                (None, folder) => Place::Folder(folder.clone().unwrap_or_default().join(name)),
            }),
        }
    }
}

/// Where the files of a run are.
pub(crate) enum Place {
    Memory(Arc<ReportFiles>),
    Folder(PathBuf),
}

/// What is known of a run that has settled, beside the records.
pub(crate) struct Settled {
    pub(crate) name: String,
    began: SystemTime,
    ended: SystemTime,
    stretch: Stretch,
    waited: Duration,
    gateways: BTreeMap<(Arc<str>, String), Heard>,
    events: Vec<Event>,
    probes: Vec<Probe>,
    /// Its own.
    folder: Option<PathBuf>,
}

/// Writes the report and then how it went; a failure is written, too, if it can be.
fn write(folder: &Path, made: Result<Made, String>) -> Result<Made, String> {
    let told = |error: hopwatch_folder::FilesError| {
        let why = std::error::Error::source(&error).map(|why| format!(": {why}"));
        format!("{error}{}", why.unwrap_or_default())
    };
    let made = made.and_then(|made| match made.files.write(folder) {
        Ok(()) => Ok(made),
        Err(error) => Err(told(error)),
    });
    let summary = Summary {
        schema: SCHEMA.to_owned(),
        messages: made.as_ref().ok().map(|made| made.messages),
        decision: made.as_ref().ok().map(|made| made.decision.clone()),
        trouble: made.as_ref().err().cloned(),
    };
    let text = serde_json::to_string_pretty(&summary).map_err(|error| error.to_string())?;
    hopwatch_folder::replace(&folder.join(SUMMARY), &(text + "\n")).map_err(told)?;
    made
}

/// A run that is found in its folder when the collector starts.
fn found(folder: &Path, name: String) -> MeasuredRun {
    let path = folder.join(&name).join(SUMMARY);
    let Ok(text) = std::fs::read_to_string(&path) else {
        return failed(name, "the collector ended before its report was made".to_owned());
    };
    match serde_json::from_str::<Summary>(&text) {
        Ok(summary) if summary.schema == SCHEMA => MeasuredRun {
            state: match summary.trouble {
                None => MeasuredState::Done,
                Some(_) => MeasuredState::Failed,
            },
            messages: summary.messages,
            decision: summary.decision,
            trouble: summary.trouble,
            ..failed(name, String::new())
        },
        Ok(summary) => failed(name, format!("{SUMMARY} is {:?}, not {SCHEMA:?}", summary.schema)),
        Err(error) => failed(name, format!("{SUMMARY} can't be read: {error}")),
    }
}

/// A run of an earlier start, without a report.
fn failed(name: String, trouble: String) -> MeasuredRun {
    MeasuredRun {
        name,
        state: MeasuredState::Failed,
        // Before this start: the feed has no time for it but in the name.
        from_ms: 0,
        to_ms: Some(0),
        messages: None,
        decision: None,
        trouble: Some(trouble),
    }
}

#[cfg(test)]
#[path = "measured_tests.rs"]
mod tests;
