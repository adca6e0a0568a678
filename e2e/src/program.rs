//! A program that a test starts, and what it said when it ended.

use crate::patience::{PATIENCE, wait_until, within};
use crate::processes::{self, MARK, Pid};
use crate::report::Report;
use crate::traces::{self, Row};
use crate::world::built;
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often is looked at what DDS keeps for the running processes.
const LOOK: Duration = Duration::from_millis(200);

/// A program about to be started.
pub struct Start {
    command: Command,
    name: String,
    folder: PathBuf,
    out: PathBuf,
    mark: String,
    dds_files: Arc<Mutex<BTreeSet<String>>>,
}

impl Start {
    pub(crate) fn new(
        program: &Path,
        folder: &Path,
        dds_files: Arc<Mutex<BTreeSet<String>>>,
    ) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let mut command = Command::new(program);
        // What the user's shell says to the services is none of a test's.
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if name.starts_with("HOPWATCH_") && name != "HOPWATCH_ROS" {
                command.env_remove(name);
            }
        }
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let file = program.file_name().unwrap_or_default().to_string_lossy();
        Self {
            command,
            name: format!("{number}-{file}"),
            folder: folder.to_owned(),
            out: folder.join("out"),
            mark: String::new(),
            dds_files,
        }
    }

    pub(crate) fn out(self, out: &Path) -> Self {
        self.out_of(out)
    }

    /// Its report is in another folder than a test's own.
    #[must_use]
    pub fn out_of(mut self, out: &Path) -> Self {
        out.clone_into(&mut self.out);
        self
    }

    /// One more word on the command line.
    pub fn arg(&mut self, word: &str) -> &mut Self {
        self.command.arg(word);
        self
    }

    /// More words on the command line.
    pub fn args(&mut self, words: &str) -> &mut Self {
        self.command.args(words.split_whitespace());
        self
    }

    /// A variable of the environment.
    pub fn env(&mut self, name: &str, value: &str) -> &mut Self {
        if name == MARK {
            value.clone_into(&mut self.mark);
        }
        self.command.env(name, value);
        self
    }

    /// It has nothing to do with DDS: what DDS has for it isn't looked for.
    pub fn without_dds(&mut self) -> &mut Self {
        self.mark.clear();
        self
    }

    /// Starts it.
    #[track_caller]
    pub fn start(&mut self) -> Running {
        let file = |end: &str| self.folder.join(format!("{}.{end}", self.name));
        let (stdout, stderr) = (file("stdout.log"), file("stderr.log"));
        self.command
            .stdin(Stdio::null())
            .stdout(File::create(&stdout).unwrap())
            .stderr(File::create(&stderr).unwrap());
        let child = self.command.spawn().unwrap_or_else(|error| {
            panic!("failed to start {}: {error}", self.command.get_program().display())
        });
        let over = Arc::new(AtomicBool::new(false));
        let watched = || watch(self.mark.clone(), Arc::clone(&self.dds_files), Arc::clone(&over));
        let watch = (!self.mark.is_empty()).then(watched);
        Running {
            child,
            started: Instant::now(),
            name: self.name.clone(),
            out: self.out.clone(),
            stdout,
            stderr,
            over,
            watch,
        }
    }

    /// Starts it and waits until it ends by itself.
    #[track_caller]
    pub fn end(&mut self) -> Ended {
        self.start().end()
    }
}

/// Gathers what DDS has in /dev/shm for the marked processes, while they live.
fn watch(
    mark: String,
    files: Arc<Mutex<BTreeSet<String>>>,
    over: Arc<AtomicBool>,
) -> JoinHandle<()> {
    std::thread::spawn(move || {
        while !over.load(Ordering::Relaxed) {
            let held = processes::dds_files(&processes::marked(&mark));
            files.lock().unwrap_or_else(PoisonError::into_inner).extend(held);
            std::thread::park_timeout(LOOK);
        }
    })
}

/// A program that runs. Dropped, it is killed.
pub struct Running {
    child: Child,
    started: Instant,
    name: String,
    out: PathBuf,
    stdout: PathBuf,
    stderr: PathBuf,
    over: Arc<AtomicBool>,
    watch: Option<JoinHandle<()>>,
}

impl Running {
    /// Its process.
    pub fn pid(&self) -> Pid {
        Pid(i32::try_from(self.child.id()).unwrap())
    }

    /// Ctrl-C.
    pub fn interrupt(&self) {
        self.pid().signal(Signal::INT);
    }

    /// SIGTERM.
    pub fn terminate(&self) {
        self.pid().signal(Signal::TERM);
    }

    /// Whether it still runs.
    pub fn lives(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Waits until it is gone, for one that was killed.
    pub(crate) fn wait(&mut self) {
        self.child.wait().unwrap();
    }

    /// Where it listens, once it tells, as services do.
    #[track_caller]
    pub fn listening(&mut self) -> SocketAddr {
        self.wait_for("address", |running| {
            let stdout = running.stdout();
            let told = stdout.lines().find_map(|line| {
                let told: Value = serde_json::from_str(line).ok()?;
                told["listening"].as_str()?.parse().ok()
            });
            told.ok_or(stdout)
        })
    }

    /// What it has said so far on standard output.
    pub fn stdout(&self) -> String {
        fs::read_to_string(&self.stdout).unwrap_or_default()
    }

    /// What it has said so far on standard error.
    pub fn stderr(&self) -> String {
        fs::read_to_string(&self.stderr).unwrap_or_default()
    }

    /// The page's address, once it is told.
    #[track_caller]
    pub fn page(&mut self) -> String {
        self.wait_for("live page", |running| {
            let stdout = running.stdout();
            let line = stdout.lines().find_map(|line| line.strip_prefix("live page: "));
            line.map(str::to_owned).ok_or(stdout)
        })
    }

    /// Where a service listens, by its log.
    #[track_caller]
    pub fn address(&mut self, service: &str) -> SocketAddr {
        let log = self.out.join("logs").join(format!("{service}.log"));
        self.wait_for(&format!("address of {service}"), |_| {
            let text = fs::read_to_string(&log).map_err(|error| error.to_string())?;
            let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            let mut told = lines.filter(|line| line["message"] == "listening");
            let address = told.next().and_then(|line| line["address"].as_str()?.parse().ok());
            address.ok_or(text)
        })
    }

    /// The account of its only or first lane, by the collector; `Err` while there is none.
    pub fn account(&mut self) -> Result<Value, String> {
        let collector = self.address("collector");
        let status = crate::get_json(collector, "/v1/status")?;
        let lanes = status["lanes"].as_object().ok_or_else(|| status.to_string())?;
        lanes.values().next().cloned().ok_or_else(|| status.to_string())
    }

    /// Waits until so many messages went the whole way.
    #[track_caller]
    pub fn delivered(&mut self, count: u64) {
        self.wait_for(&format!("{count} delivered messages"), |running| {
            let account = running.account()?;
            let enough = account["delivered"].as_u64().is_some_and(|n| n >= count);
            if enough { Ok(()) } else { Err(account.to_string()) }
        });
    }

    /// Waits for something of it; its end before is a failure.
    #[track_caller]
    pub fn wait_for<T>(
        &mut self,
        what: &str,
        mut look: impl FnMut(&mut Self) -> Result<T, String>,
    ) -> T {
        wait_until(what, || {
            look(self).inspect_err(|seen| {
                let ended = self.child.try_wait().unwrap();
                assert!(
                    ended.is_none(),
                    "{} ended before {what}: {} {seen}",
                    self.name,
                    self.stderr()
                );
            })
        })
    }

    /// Waits until it ends by itself.
    #[track_caller]
    pub fn end(self) -> Ended {
        self.end_within(PATIENCE)
    }

    /// The same with a deadline of its own.
    #[track_caller]
    pub fn end_within(mut self, deadline: Duration) -> Ended {
        let asked = Instant::now();
        let status = within(deadline, &format!("end of {}", self.name), || {
            let said = || fs::read_to_string(&self.stderr).unwrap_or_default();
            self.child.try_wait().unwrap().ok_or_else(said)
        });
        self.unwatch();
        Ended {
            status,
            took: self.started.elapsed(),
            waited: asked.elapsed(),
            stdout: self.stdout(),
            stderr: fs::read_to_string(&self.stderr).unwrap_or_default(),
            out: self.out.clone(),
        }
    }

    fn unwatch(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(watch) = self.watch.take() {
            watch.thread().unpark();
            watch.join().unwrap();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.unwatch();
        if matches!(self.child.try_wait(), Ok(None)) {
            // Its children end by themselves when it is gone; the world sees to the rest.
            self.child.kill().unwrap();
            self.child.wait().unwrap();
        }
    }
}

/// A program that has ended.
#[derive(Debug)]
pub struct Ended {
    status: ExitStatus,
    /// From its start to its end.
    pub took: Duration,
    /// From the moment it was waited for to its end.
    pub waited: Duration,
    /// All of its standard output.
    pub stdout: String,
    /// All of its standard error.
    pub stderr: String,
    /// The folder of its report.
    pub out: PathBuf,
}

impl Ended {
    /// It ended with exit code 0.
    pub fn succeeded(&self) -> bool {
        self.status.success()
    }

    /// It ended with this exit code.
    #[track_caller]
    pub fn has_code(&self, code: i32) -> &Self {
        let signal = self.status.signal();
        assert_eq!(
            self.status.code(),
            Some(code),
            "signal {signal:?}\n{}\n{}",
            self.stdout,
            self.stderr
        );
        self
    }

    /// It said all of these on standard error.
    #[track_caller]
    pub fn says(&self, words: &[&str]) -> &Self {
        for word in words {
            assert!(self.stderr.contains(word), "it does not say {word:?}:\n{}", self.stderr);
        }
        self
    }

    /// A file of its report.
    #[track_caller]
    pub fn text(&self, name: &str) -> String {
        let path = self.out.join(name);
        let text = fs::read_to_string(&path);
        text.unwrap_or_else(|error| panic!("{}: {error}\n{}", path.display(), self.stderr))
    }

    /// report.md as a reader sees it: without the escapes of Markdown.
    #[track_caller]
    pub fn markdown(&self) -> String {
        self.text("report.md").replace('\\', "")
    }

    /// report.json as it is.
    #[track_caller]
    pub fn json(&self) -> Value {
        let text = self.text("report.json");
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// report.json by the contract.
    #[track_caller]
    pub fn report(&self) -> Report {
        let text = self.text("report.json");
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// traces.csv.
    #[track_caller]
    pub fn traces(&self) -> Vec<Row> {
        traces::rows(&self.text("traces.csv"))
    }

    /// glass.csv.
    #[track_caller]
    pub fn glass(&self) -> Vec<Row> {
        traces::rows(&self.text("glass.csv"))
    }

    /// The records that the report was made from, of one kind, by source and number.
    #[track_caller]
    pub fn records(&self, kind: &str) -> Vec<Value> {
        let mut command = Command::new(built("hopwatch"));
        let printed = command.args(["report", "--records"]).arg(&self.out).output().unwrap();
        assert!(printed.status.success(), "{}", String::from_utf8_lossy(&printed.stderr));
        let text = String::from_utf8(printed.stdout).unwrap();
        let all = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        all.filter(|record| record["kind"] == kind).collect()
    }
}
