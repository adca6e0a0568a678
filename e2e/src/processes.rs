//! The processes of a world, and what DDS keeps in /dev/shm for them.
//!
//! A process is known by a mark in its environment, which its children inherit: also those of a
//! process that is gone.

use rustix::process::{Signal, kill_process};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The variable that marks the processes of a world.
pub(crate) const MARK: &str = "HOPWATCH_E2E_WORLD";

/// A process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pid(pub i32);

impl Pid {
    /// Sends it a signal, if it is still there.
    pub(crate) fn signal(self, signal: Signal) {
        let pid = rustix::process::Pid::from_raw(self.0).unwrap();
        let _gone = kill_process(pid, signal);
    }

    /// SIGKILL: it has no time for anything.
    pub fn kill(self) {
        self.signal(Signal::KILL);
    }

    /// SIGSTOP: it is there, and does nothing any more.
    pub fn hang(self) {
        self.signal(Signal::STOP);
    }

    /// SIGCONT: it goes on where it was stopped.
    pub fn resume(self) {
        self.signal(Signal::CONT);
    }

    /// The file name of its program; `None` when it is gone.
    pub fn program(self) -> Option<String> {
        let path = fs::read_link(format!("/proc/{}/exe", self.0)).ok()?;
        Some(path.file_name()?.to_string_lossy().into_owned())
    }

    /// Its parent and its process group.
    pub fn parent_and_group(self) -> Option<(Self, Self)> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0)).ok()?;
        // The name, in parentheses, may hold anything.
        let mut words = stat.rsplit_once(") ")?.1.split(' ').skip(1);
        let mut next = || words.next()?.parse().ok().map(Self);
        Some((next()?, next()?))
    }

    /// The files of Fast DDS in /dev/shm that it has open or mapped.
    fn held(self) -> BTreeSet<String> {
        let maps = fs::read_to_string(format!("/proc/{}/maps", self.0)).unwrap_or_default();
        let mapped = maps.lines().filter_map(|line| line.split_once('/').map(|(_, path)| path));
        let open = fs::read_dir(format!("/proc/{}/fd", self.0)).into_iter().flatten().flatten();
        let open = open.filter_map(|entry| fs::read_link(entry.path()).ok());
        let mapped = mapped.map(|path| Path::new("/").join(path));
        let files: BTreeSet<String> = open.chain(mapped).filter_map(|path| of_dds(&path)).collect();
        // Each port has a semaphore, which whoever made it has mapped by another name.
        let is_port = |name: &&String| {
            let number = name.strip_prefix("fastrtps_port").unwrap_or_default();
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        };
        let semaphores: Vec<String> =
            files.iter().filter(is_port).map(|port| format!("sem.{port}_mutex")).collect();
        files.into_iter().chain(semaphores).collect()
    }
}

/// The name of a file of Fast DDS in /dev/shm.
fn of_dds(path: &Path) -> Option<String> {
    let name = path.strip_prefix("/dev/shm").ok()?.to_str()?;
    name.contains("fastrtps").then(|| name.trim_end_matches(" (deleted)").to_owned())
}

fn all() -> impl Iterator<Item = Pid> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok().map(Pid))
}

/// The living processes with this mark.
pub(crate) fn marked(mark: &str) -> Vec<Pid> {
    let entry = format!("{MARK}={mark}");
    let mut found: Vec<Pid> = all()
        .filter(|pid| {
            // A process that has ended and waits for its parent has no environment.
            let environment = fs::read(format!("/proc/{}/environ", pid.0)).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == entry.as_bytes())
        })
        .collect();
    found.sort();
    found
}

/// Whatever Fast DDS keeps in /dev/shm for these processes.
pub(crate) fn dds_files(pids: &[Pid]) -> BTreeSet<String> {
    pids.iter().flat_map(|pid| pid.held()).collect()
}

/// Everything that Fast DDS has in /dev/shm now.
pub(crate) fn all_dds_files() -> BTreeSet<String> {
    let entries = fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    entries.filter_map(|entry| of_dds(&entry.path())).collect()
}

/// Those of the files that are still there though no process has them any more.
///
/// Ports of shared memory are shared by all of the host's participants: one that another
/// program's participant has is no remains of ours.
pub(crate) fn left_over(files: &BTreeSet<String>) -> Vec<String> {
    let mut left: BTreeSet<String> = files.intersection(&all_dds_files()).cloned().collect();
    if !left.is_empty() {
        for pid in all() {
            for held in pid.held() {
                left.remove(&held);
            }
        }
    }
    left.into_iter().collect()
}
