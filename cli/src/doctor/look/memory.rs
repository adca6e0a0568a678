//! Shared memory, and what Fast DDS has in it.
//!
//! Fast DDS keeps a participant's data in a segment (`fastrtps_<16 digits>`), and a queue for each
//! port (`fastrtps_port<n>`, with a semaphore). Beside each lies a lock file (`…_el`, `…_sl`) that the
//! living hold by `flock`; the kernel lets go of it however a process ends (`RobustExclusiveLock` and
//! `RobustSharedLock` of Fast DDS, and its own `fastdds shm clean`).

use rustix::fs::{
    Access, AtFlags, CWD, FlockOperation, Mode, OFlags, accessat, flock, open, statvfs,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where POSIX shared memory lies on Linux (`shm_overview(7)`).
pub(crate) const FOLDER: &str = "/dev/shm";

/// What Fast DDS' files begin with: up to version 2, and from 3 on.
const PREFIXES: [&str; 2] = ["fastrtps_", "fastdds_"];
/// What its lock files end with.
const LOCKS: [&str; 2] = ["_el", "_sl"];

/// The folder, as it is seen from here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Memory {
    /// Why it can't be looked at.
    pub(crate) failure: Option<String>,
    pub(crate) size_bytes: u64,
    pub(crate) free_bytes: u64,
    pub(crate) writable: bool,
    /// The user that this runs as.
    pub(crate) own_user: u32,
    /// Whether it is another one than that of process 1; `None`: that can't be seen.
    pub(crate) private: Option<bool>,
    /// Fast DDS' segments and ports.
    pub(crate) objects: Vec<Object>,
    /// Processes that have some of it mapped.
    pub(crate) processes: Vec<u32>,
}

/// A segment or port of Fast DDS, with what belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Object {
    /// `fastrtps_port7411`
    pub(crate) name: String,
    /// Its files, the lock file last.
    pub(crate) files: Vec<String>,
    /// What they take, in bytes.
    pub(crate) bytes: u64,
    /// Whose they are.
    pub(crate) users: Vec<u32>,
    /// All of them can be opened for reading and writing.
    pub(crate) usable: bool,
    pub(crate) life: Life,
}

/// Whether somebody has an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    /// A living process does.
    Held,
    /// Nobody does.
    Left,
    /// It can't be told: its lock file can't be opened, or there is none and not all processes can be
    /// seen.
    Unknown,
}

impl Memory {
    /// Looks at `folder`.
    pub(crate) fn look(folder: &Path) -> Self {
        let own_user = rustix::process::geteuid().as_raw();
        let (names, space) = match (names(folder), statvfs(folder)) {
            (Ok(names), Ok(space)) => (names, space),
            (Err(error), _) => return Self::failed(own_user, folder, &error),
            (_, Err(error)) => return Self::failed(own_user, folder, &error.into()),
        };
        let holders = Holders::look(folder);
        let objects = grouped(&names).into_iter().map(|(name, files)| {
            let paths: Vec<PathBuf> = files.iter().map(|file| folder.join(file)).collect();
            let metadata = paths.iter().filter_map(|path| fs::symlink_metadata(path).ok());
            let (mut bytes, mut users) = (0, BTreeSet::new());
            for of in metadata {
                bytes += of.len();
                users.insert(of.uid());
            }
            let both = Access::READ_OK | Access::WRITE_OK;
            let may = |path: &PathBuf| accessat(CWD, path, both, AtFlags::EACCESS).is_ok();
            // What is never written needs no right to: Fast DDS only opens lock files for reading.
            let data = paths.iter().filter(|path| !is_lock(&path.to_string_lossy()));
            let usable = data.into_iter().all(may);
            let life = life(folder, &files, &holders);
            Object { name, files, bytes, users: users.into_iter().collect(), usable, life }
        });
        Self {
            failure: None,
            size_bytes: space.f_blocks.saturating_mul(space.f_frsize),
            free_bytes: space.f_bavail.saturating_mul(space.f_frsize),
            writable: accessat(CWD, folder, Access::WRITE_OK, AtFlags::EACCESS).is_ok(),
            own_user,
            private: is_private(folder),
            objects: objects.collect(),
            processes: holders.processes,
        }
    }

    fn failed(own_user: u32, folder: &Path, error: &std::io::Error) -> Self {
        let failure = Some(format!("{}: {error}", folder.display()));
        Self { failure, own_user, ..Self::default() }
    }

    /// Objects that nobody has.
    pub(crate) fn left(&self) -> impl Iterator<Item = &Object> {
        self.objects.iter().filter(|object| object.life == Life::Left)
    }

    /// Whether a participant is alive here.
    pub(crate) fn somebody_lives(&self) -> bool {
        !self.processes.is_empty() || self.objects.iter().any(|object| object.life == Life::Held)
    }
}

fn names(folder: &Path) -> std::io::Result<Vec<String>> {
    let mut names: Vec<String> = fs::read_dir(folder)?
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    Ok(names)
}

/// The object that a file belongs to; `None`: it is none of Fast DDS'.
fn object_of(file: &str) -> Option<&str> {
    let name = match file.strip_prefix("sem.") {
        Some(semaphore) => semaphore.strip_suffix("_mutex")?,
        None => LOCKS.iter().find_map(|lock| file.strip_suffix(lock)).unwrap_or(file),
    };
    let rest = PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix))?;
    let is_port = rest.strip_prefix("port").is_some_and(|number| {
        (1..=5).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_digit())
    });
    let is_segment = rest.len() == 16 && rest.bytes().all(|b| b.is_ascii_alphanumeric());
    (is_port || is_segment).then_some(name)
}

pub(crate) fn is_lock(file: &str) -> bool {
    LOCKS.iter().any(|lock| file.ends_with(lock))
}

/// Fast DDS' files by their objects, lock files last.
fn grouped(names: &[String]) -> BTreeMap<String, Vec<String>> {
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in names {
        if let Some(object) = object_of(file) {
            all.entry(object.to_owned()).or_default().push(file.clone());
        }
    }
    for files in all.values_mut() {
        files.sort_by_key(|file| is_lock(file));
    }
    all
}

/// What processes have of it.
struct Holders {
    /// By id.
    processes: Vec<u32>,
    /// The names of what they have mapped.
    mapped: BTreeSet<String>,
    /// No process was passed over.
    all_seen: bool,
}

impl Holders {
    fn look(folder: &Path) -> Self {
        let here = fs::metadata(folder).map(|of| of.dev()).ok();
        let mut holders =
            Self { processes: Vec::new(), mapped: BTreeSet::new(), all_seen: is_host_pids() };
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            let Ok(maps) = fs::read_to_string(entry.path().join("maps")) else {
                // One that has just ended is no matter.
                holders.all_seen &= !entry.path().exists();
                continue;
            };
            let root = entry.path().join("root").join(folder.strip_prefix("/").unwrap_or(folder));
            if fs::metadata(root).map(|of| of.dev()).ok() != here {
                continue;
            }
            let paths = maps.lines().filter_map(|line| line.split_once('/'));
            let mut any = false;
            for path in paths.map(|(_, path)| format!("/{path}")) {
                let Ok(file) = Path::new(&path).strip_prefix(folder) else { continue };
                if let Some(object) = file.to_str().and_then(object_of) {
                    any = true;
                    holders.mapped.insert(object.to_owned());
                }
            }
            if any {
                holders.processes.push(pid);
            }
        }
        holders.processes.sort_unstable();
        holders
    }
}

/// Whether all processes that can have this memory have a number here: those of a host do, those
/// beside a container don't. The kernel gives its first PID namespace this number
/// (`PROC_PID_INIT_INO`).
pub(crate) fn is_host_pids() -> bool {
    super::namespace("/proc/self", "pid") == Some(super::FIRST_PIDS)
}

fn is_private(folder: &Path) -> Option<bool> {
    let theirs = Path::new("/proc/1/root").join(folder.strip_prefix("/").ok()?);
    let (theirs, ours) = (fs::metadata(theirs).ok()?, fs::metadata(folder).ok()?);
    Some(theirs.dev() != ours.dev())
}

fn life(folder: &Path, files: &[String], holders: &Holders) -> Life {
    let mut locks = files.iter().filter(|file| is_lock(file)).peekable();
    if files.first().and_then(|file| object_of(file)).is_some_and(|of| holders.mapped.contains(of))
    {
        return Life::Held;
    }
    if locks.peek().is_none() {
        return if holders.all_seen { Life::Left } else { Life::Unknown };
    }
    // A lock that isn't of the one whose data it stands for tells nothing.
    let owner = files.first().and_then(|file| fs::symlink_metadata(folder.join(file)).ok());
    let Some(owner) = owner.map(|of| of.uid()) else { return Life::Unknown };
    let mut life = Life::Left;
    for file in locks {
        match lock(&folder.join(file), owner, looking(file)) {
            Ok(Some(_free)) => {}
            Ok(None) => return Life::Held,
            Err(_) => life = Life::Unknown,
        }
    }
    life
}

/// How a lock is tried by who only looks. The living hold `…_el` alone: that shows by sharing it,
/// which leaves room for others who look. They share `…_sl`, and only who wants it alone sees that.
fn looking(file: &str) -> FlockOperation {
    if file.ends_with("_sl") {
        FlockOperation::NonBlockingLockExclusive
    } else {
        FlockOperation::NonBlockingLockShared
    }
}

/// Locks a lock file, for as long as the value lives; `None`: somebody has it.
///
/// Anybody may put anything under its name: what isn't a regular file of user `owner` is refused,
/// unlocked, and a link or pipe is neither followed nor waited for.
pub(crate) fn lock(
    path: &Path,
    owner: u32,
    operation: FlockOperation,
) -> std::io::Result<Option<File>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(open(path, flags, Mode::empty())?);
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.uid() != owner {
        let why = format!("{} is no file of user {owner}", path.display());
        return Err(std::io::Error::other(why));
    }
    match flock(&file, operation) {
        Ok(()) => Ok(Some(file)),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_belong_to_their_objects_and_others_to_none() {
        for (file, object) in [
            ("fastrtps_port7411", Some("fastrtps_port7411")),
            ("fastrtps_port7411_el", Some("fastrtps_port7411")),
            ("sem.fastrtps_port7411_mutex", Some("fastrtps_port7411")),
            ("fastrtps_port7400_sl", Some("fastrtps_port7400")),
            ("fastrtps_c758fa0b27b4857e", Some("fastrtps_c758fa0b27b4857e")),
            ("fastdds_c758fa0b27b4857e_el", Some("fastdds_c758fa0b27b4857e")),
            ("fastrtps_port", None),
            ("fastrtps_port123456", None),
            ("fastrtps_mine", None),
            ("sem.fastrtps_port7411", None),
            ("lttng-ust-wait-6", None),
            ("precious_el", None),
        ] {
            assert_eq!(object_of(file), object, "{file}");
        }
    }

    #[test]
    fn what_is_locked_is_alive_and_the_rest_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in [
            "fastrtps_aaaaaaaaaaaaaaaa",
            "fastrtps_aaaaaaaaaaaaaaaa_el",
            "fastrtps_port7411",
            "fastrtps_port7411_el",
            "sem.fastrtps_port7411_mutex",
            "other",
        ] {
            fs::write(path(name), [0; 10]).unwrap();
        }
        let look = || Memory::look(folder.path());
        let own = look().own_user;
        let alone = FlockOperation::NonBlockingLockExclusive;
        let held = lock(&path("fastrtps_port7411_el"), own, alone).unwrap().unwrap();
        let memory = look();
        assert!(memory.somebody_lives() && memory.writable, "{memory:?}");
        let names: Vec<&str> = memory.left().map(|of| of.name.as_str()).collect();
        assert_eq!(names, ["fastrtps_aaaaaaaaaaaaaaaa"]);
        let port = &memory.objects[1];
        assert_eq!((port.files.len(), port.bytes, port.life), (3, 30, Life::Held));
        assert_eq!(port.files[2], "fastrtps_port7411_el");
        assert_eq!(port.users, [memory.own_user]);
        drop(held);
        assert!(!look().somebody_lives());
        assert_eq!(look().left().count(), 2);
        let gone = Memory::look(&path("nowhere"));
        assert!(gone.failure.unwrap().contains("nowhere"));
    }

    #[test]
    fn who_only_looks_leaves_room_for_others_and_sees_what_is_shared() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["fastrtps_port7411", "fastrtps_port7411_el", "fastrtps_port7400_sl"] {
            fs::write(path(name), "x").unwrap();
        }
        let own = rustix::process::geteuid().as_raw();
        let lives = || Memory::look(folder.path()).somebody_lives();
        let looks = lock(&path("fastrtps_port7411_el"), own, looking("_el")).unwrap().unwrap();
        assert!(!lives());
        drop(looks);
        let shared = FlockOperation::NonBlockingLockShared;
        let held = lock(&path("fastrtps_port7400_sl"), own, shared).unwrap().unwrap();
        assert!(lives());
        drop(held);
        assert!(!lives());
    }

    #[test]
    fn what_is_no_file_of_the_owner_is_neither_waited_for_nor_locked() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let own = rustix::process::geteuid().as_raw();
        let alone = FlockOperation::NonBlockingLockExclusive;
        fs::write(path("precious"), "x").unwrap();
        std::os::unix::fs::symlink(path("precious"), path("fastrtps_port7411_el")).unwrap();
        // Opening it as a file would wait for a writer.
        let fifo = path("fastrtps_port7412_el");
        rustix::fs::mknodat(CWD, &fifo, rustix::fs::FileType::Fifo, Mode::RWXU, 0).unwrap();
        for name in ["fastrtps_port7411", "fastrtps_port7412"] {
            fs::write(path(name), "x").unwrap();
            assert!(lock(&path(&format!("{name}_el")), own, alone).is_err(), "{name}");
        }
        let memory = Memory::look(folder.path());
        let lives: Vec<Life> = memory.objects.iter().map(|object| object.life).collect();
        assert_eq!(lives, [Life::Unknown; 2]);
        let of_other = lock(&path("precious"), own + 1, alone).unwrap_err().to_string();
        assert!(of_other.contains(&format!("no file of user {}", own + 1)), "{of_other}");
        assert!(lock(&path("precious"), own, alone).unwrap().is_some());
    }
}
