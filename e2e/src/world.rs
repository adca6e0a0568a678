//! A test's own place: a ROS domain, a folder, a mark on every process in it.

use crate::domain::Domain;
use crate::patience::within;
use crate::processes::{self, MARK, Pid};
use crate::program::Start;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long what is over may take to be gone: the kernel takes a process apart in steps.
const GONE: Duration = Duration::from_secs(2);

/// A test's own place. Dropped, it kills what still runs in it.
pub struct World {
    domain: Domain,
    folder: TempDir,
    mark: String,
    dds_before: BTreeSet<String>,
    dds_files: Arc<Mutex<BTreeSet<String>>>,
}

/// The Python of the ROS environment.
pub fn python() -> String {
    std::env::var("HOPWATCH_PYTHON").unwrap_or_else(|_| "python3".into())
}

impl World {
    /// An empty one.
    pub fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        assert!(
            std::env::var_os("AMENT_PREFIX_PATH").is_some(),
            "these tests need ROS 2: run them by `./hopwatch test e2e`, or source \
             .hopwatch/env.sh before"
        );
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Self {
            domain: Domain::take(),
            folder: tempfile::Builder::new().prefix("hopwatch-e2e-").tempdir().unwrap(),
            mark: format!("{}-{number}", std::process::id()),
            dds_before: processes::all_dds_files(),
            dds_files: Arc::default(),
        }
    }

    /// Its ROS domain.
    pub fn domain(&self) -> u8 {
        self.domain.id
    }

    /// A path in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file into the folder.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// `hopwatch` with these words, in this world's domain and with `--out`.
    pub fn hopwatch(&self, words: &str) -> Start {
        let out = self.path("out");
        let mut start = self.bare(words).out(&out);
        start.arg("--domain").arg(&self.domain.id.to_string());
        start.arg("--out").arg(out.to_str().unwrap());
        start
    }

    /// `hopwatch` with these words and no others.
    pub fn bare(&self, words: &str) -> Start {
        self.program(&built("hopwatch"), words)
    }

    /// `hopwatch lab` with these words, and with the Python that has rclpy.
    pub fn lab(&self, words: &str) -> Start {
        let mut start = self.bare(&format!("lab {words}"));
        start.env("HOPWATCH_PYTHON", &python());
        start
    }

    /// `hopwatch` whose program `other` runs with a clock of its own, [`crate::AHEAD_S`] ahead.
    pub fn hopwatch_with_a_clock_for(&self, other: &str, words: &str) -> Start {
        let folder = self.path("programs");
        std::fs::create_dir(&folder).unwrap();
        let real = built("hopwatch");
        for entry in std::fs::read_dir(real.parent().unwrap()).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if name == "hopwatch" {
                // It looks for the others beside itself: a link would lead it back.
                std::fs::copy(&path, folder.join(&name)).unwrap();
            } else if name == other {
                let script = format!(
                    "#!/bin/sh\nexec python3 {} {} {} \"$@\"\n",
                    peer("in_time_namespace.py").display(),
                    crate::AHEAD_S,
                    path.display()
                );
                let file = folder.join(&name);
                std::fs::write(&file, script).unwrap();
                let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
                std::fs::set_permissions(&file, mode).unwrap();
            } else if name.starts_with("hopwatch-") && path.extension().is_none() {
                std::os::unix::fs::symlink(&path, folder.join(&name)).unwrap();
            }
        }
        let out = self.path("out");
        let mut start = self.program(&folder.join("hopwatch"), words).out(&out);
        start.arg("--domain").arg(&self.domain.id.to_string());
        start.arg("--out").arg(out.to_str().unwrap());
        start
    }

    /// Any program of ours by its path, for scripts.
    pub fn built(&self, name: &str) -> PathBuf {
        built(name)
    }

    /// `hopwatch report` of a folder.
    pub fn report(&self, folder: &Path) -> Start {
        let mut start = self.bare("report").out(folder);
        start.arg(folder.to_str().unwrap());
        start
    }

    /// The robots, started by the test itself.
    pub fn robots(&self, words: &str) -> Start {
        self.program(&built("hopwatch-robot-sim"), words)
    }

    /// A script of tests/peers.
    pub fn peer(&self, script: &str, words: &str) -> Start {
        let mut start = self.program(Path::new(&python()), "");
        start.arg(peer(script).to_str().unwrap());
        start.args(words);
        start
    }

    /// Any program.
    pub fn program(&self, program: &Path, words: &str) -> Start {
        let mut start = Start::new(program, self.folder.path(), Arc::clone(&self.dds_files));
        start.env("ROS_DOMAIN_ID", &self.domain.id.to_string());
        // Nothing leaves this machine.
        start.env("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST");
        start.env(MARK, &self.mark);
        start.args(words);
        start
    }

    /// The processes of this world that live.
    pub fn processes(&self) -> Vec<Pid> {
        processes::marked(&self.mark)
    }

    /// The one that runs this program, a child of `hopwatch`.
    #[track_caller]
    pub fn child_of(&self, parent: Pid, program: &str) -> Pid {
        let mut children = self.processes();
        children.retain(|pid| pid.parent_and_group().is_some_and(|(of, _)| of == parent));
        let found = children.iter().find(|pid| pid.program().as_deref() == Some(program));
        *found.unwrap_or_else(|| panic!("{parent:?} has no child {program}: {children:?}"))
    }

    /// Nothing runs any more, and nothing is left of DDS.
    #[track_caller]
    pub fn is_empty_now(&self) {
        self.is_empty_within(GONE);
    }

    /// The same for what needs time to notice that it should end.
    #[track_caller]
    pub fn is_empty_within(&self, deadline: Duration) {
        within(deadline, "end of all processes", || {
            let alive = self.processes();
            let named = || alive.iter().map(|pid| (*pid, pid.program())).collect::<Vec<_>>();
            if alive.is_empty() { Ok(()) } else { Err(format!("{:?}", named())) }
        });
        within(GONE, "empty /dev/shm", || {
            let left = self.left_of_dds();
            if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
        });
    }

    /// What DDS made in /dev/shm for this world's processes, and nobody has any more.
    fn left_of_dds(&self) -> Vec<String> {
        let held = self.dds_files.lock().unwrap_or_else(PoisonError::into_inner).clone();
        processes::left_over(&held.difference(&self.dds_before).cloned().collect())
    }

    /// Removes what DDS processes that were killed left in /dev/shm: nobody has it any more.
    pub fn clear_after_the_killed(&self) {
        for name in self.left_of_dds() {
            let _gone = std::fs::remove_file(Path::new("/dev/shm").join(name));
        }
    }

    /// Looks whether DDS has anything in /dev/shm for this world's processes: if nothing is ever
    /// seen, that nothing is left says nothing.
    pub fn dds_is_seen(&self) -> bool {
        let held = processes::dds_files(&self.processes());
        let mut files = self.dds_files.lock().unwrap_or_else(PoisonError::into_inner);
        files.extend(held);
        !files.is_empty()
    }
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // Only a failed test comes here with something alive, or with something left.
        for pid in self.processes() {
            pid.kill();
        }
        if std::thread::panicking() {
            show_logs(self.folder.path());
            let gone = Instant::now() + GONE;
            while !self.processes().is_empty() && Instant::now() < gone {
                std::thread::sleep(Duration::from_millis(20));
            }
            self.clear_after_the_killed();
        }
    }
}

/// What the programs said, for whoever has to find out why a test failed.
fn show_logs(folder: &Path) {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "log") {
                let text = std::fs::read_to_string(&path).unwrap_or_default();
                let tail = text.lines().rev().take(15).collect::<Vec<_>>();
                let tail = tail.into_iter().rev().collect::<Vec<_>>().join("\n");
                eprintln!("--- {}\n{tail}", path.display());
            }
        }
    }
}

/// A program of ours: in the folder `HOPWATCH_PROGRAMS`, else beside the tests' own folder.
pub(crate) fn built(name: &str) -> PathBuf {
    let folder = std::env::var_os("HOPWATCH_PROGRAMS").map(PathBuf::from);
    let folder = folder.unwrap_or_else(|| {
        let own = std::env::current_exe().unwrap();
        own.parent().and_then(Path::parent).unwrap().to_owned()
    });
    let program = folder.join(name);
    assert!(
        program.exists(),
        "{} is not built: cargo build --release --workspace --bins, and HOPWATCH_PROGRAMS says \
         where it is if not beside these tests",
        program.display()
    );
    program
}

/// The path of a script of tests/peers.
pub fn peer(script: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/peers").join(script)
}

/// The folder of the browser's part.
pub fn browser_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("browser")
}
