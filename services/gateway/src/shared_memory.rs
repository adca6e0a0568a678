//! What this machine shows of publishers that are matched and of which nothing comes: what it
//! says of shared memory, which Fast DDS uses between processes that it takes for one host's.

use hopwatch_model::PublisherId;
use hopwatch_tap::EndpointInfo;
use rustix::fs::{Access, AtFlags, CWD, accessat, statvfs};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const FOLDER: &str = "/dev/shm";
/// Fast DDS' segment of a participant is half a MiB, and a port some 50 KiB more.
const LITTLE_BYTES: u64 = 1 << 20;

/// What can be seen, each a clause for the user. Nothing that isn't seen is claimed.
pub(crate) fn evidence(publishers: &[&EndpointInfo]) -> Vec<String> {
    let mut found = Vec::new();
    found.extend(little_space(Path::new(FOLDER)));
    found.extend(unusable(&files(Path::new(FOLDER))));
    found.extend(publishers.iter().filter_map(|publisher| process(publisher.id)).flatten());
    found.dedup();
    found
}

fn little_space(folder: &Path) -> Option<String> {
    let space = statvfs(folder).ok()?;
    let free = space.f_bavail.saturating_mul(space.f_frsize);
    (free < LITTLE_BYTES).then(|| format!("{FOLDER} has only {free} bytes free"))
}

/// A file of Fast DDS.
struct File {
    name: String,
    user: u32,
    usable: bool,
}

fn files(folder: &Path) -> Vec<File> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let of_dds = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let both = Access::READ_OK | Access::WRITE_OK;
        let file = File {
            user: entry.metadata().ok()?.uid(),
            usable: accessat(CWD, entry.path(), both, AtFlags::EACCESS).is_ok(),
            name,
        };
        file.name.contains("fastrtps").then_some(file)
    });
    of_dds.collect()
}

/// Files that this process may not open, by their user.
fn unusable(files: &[File]) -> Vec<String> {
    let mut users: BTreeMap<u32, (usize, &str)> = BTreeMap::new();
    for file in files.iter().filter(|file| !file.usable) {
        users.entry(file.user).or_insert((0, &file.name)).0 += 1;
    }
    let own = rustix::process::geteuid().as_raw();
    let told = users.into_iter().map(|(user, (count, example))| {
        format!(
            "{count} of Fast DDS' files in {FOLDER} belong to user {user} and can't be opened by \
             user {own}, as whom this runs (for example {example})"
        )
    });
    told.collect()
}

/// What tells the publisher's process from this one, when it is a process of this host.
fn process(publisher: PublisherId) -> Option<Vec<String>> {
    let short = pid_of(publisher)?;
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let mut found = processes.filter_map(|entry| {
        let status = fs::read_to_string(entry.path().join("status")).ok()?;
        (inner_pid(&status)? & 0xffff == u32::from(short)).then(|| (entry.path(), status))
    });
    let (path, status) = found.find(|(path, _)| {
        // Not to be read by other users; then its number has to do.
        fs::read_to_string(path.join("maps")).map_or(true, |maps| maps.contains("fastrtps"))
    })?;
    let name = format!("process {}", path.file_name()?.to_string_lossy());
    let mut told = Vec::new();
    let own = rustix::process::geteuid().as_raw();
    if let Some(user) = line(&status, "Uid:", 1).filter(|user| *user != own) {
        told.push(format!("the publisher's {name} runs as user {user}, this one as user {own}"));
    }
    let folder = |root: &Path| fs::metadata(root.join("dev/shm")).ok().map(|of| of.dev());
    if let (Some(theirs), Some(ours)) = (folder(&path.join("root")), folder(Path::new("/")))
        && theirs != ours
    {
        told.push(format!("the publisher's {name} has another {FOLDER} than this one"));
    }
    let network = |path: &Path| fs::read_link(path.join("ns/net")).ok();
    if let (Some(theirs), Some(ours)) = (network(&path), network(Path::new("/proc/self")))
        && theirs != ours
    {
        told.push(format!("the publisher's {name} is in another network namespace"));
    }
    Some(told)
}

/// The lower half of the number of a writer's process: Fast DDS puts it into its ids, behind its
/// vendor's and the host's (`GuidUtils` of Fast DDS 2.6 and later). It is a guess that
/// [`process`] checks.
fn pid_of(publisher: PublisherId) -> Option<u16> {
    let [1, 15, _, _, low, high, ..] = publisher.0 else { return None };
    Some(u16::from_le_bytes([low, high]))
}

/// The number that a process has for itself: in its own, innermost, PID namespace.
fn inner_pid(status: &str) -> Option<u32> {
    let line = status.lines().find(|line| line.starts_with("NSpid:"))?;
    line.split_whitespace().last()?.parse().ok()
}

fn line(status: &str, key: &str, at: usize) -> Option<u32> {
    // Real, effective, saved and file system user: the second is what opens files.
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    line.split_whitespace().nth(at)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_others_are_told_by_their_user() {
        let file = |name: &str, user, usable| File { name: name.to_owned(), user, usable };
        let all = [
            file("fastrtps_a", 1000, false),
            file("fastrtps_b", 1000, false),
            file("fastrtps_c", 0, true),
            file("fastrtps_d", 2000, false),
        ];
        let told = unusable(&all);
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].starts_with("2 of") && told[0].contains("user 1000"), "{told:?}");
        assert!(told[1].contains("fastrtps_d"), "{told:?}");
        assert!(unusable(&all[2..3]).is_empty());
    }

    #[test]
    fn a_writers_id_tells_its_process() {
        let mut id = [0; 16];
        id[..6].copy_from_slice(&[1, 15, 0x78, 0xfd, 0x02, 0x53]);
        assert_eq!(pid_of(PublisherId(id)), Some(0x5302));
        id[1] = 16;
        assert_eq!(pid_of(PublisherId(id)), None, "another vendor");
        let status = "Name:\tx\nUid:\t1000\t1001\t1000\t1000\nNSpid:\t4711\t7\n";
        assert_eq!(inner_pid(status), Some(7));
        assert_eq!(line(status, "Uid:", 1), Some(1001));
    }

    #[test]
    fn this_process_tells_nothing_of_itself() {
        // No participant is in here: it is none of Fast DDS' processes, or it differs in nothing.
        let [low, high, ..] = std::process::id().to_le_bytes();
        let mut id = [0; 16];
        id[..6].copy_from_slice(&[1, 15, 0, 0, low, high]);
        assert!(process(PublisherId(id)).unwrap_or_default().is_empty());
        assert_eq!(little_space(Path::new("/nowhere")), None);
    }
}
