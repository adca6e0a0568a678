//! `--clean`: takes away what Fast DDS left behind in shared memory.

use super::look::memory::{Life, Memory, is_lock, lock};
use rustix::fs::FlockOperation;
use serde::Serialize;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Cleaned {
    /// Names of files that were removed.
    pub(crate) removed: Vec<String>,
    /// What they took.
    pub(crate) bytes: u64,
    /// Why others were kept, each a sentence.
    pub(crate) kept: Vec<String>,
}

/// Removes files of objects that nobody has, if no participant is alive and all of them are this
/// user's own.
pub(crate) fn clean(folder: &Path) -> Cleaned {
    let memory = Memory::look(folder);
    let mut cleaned = Cleaned::default();
    if let Some(failure) = memory.failure {
        cleaned.kept.push(failure);
        return cleaned;
    }
    if memory.somebody_lives() && memory.left().next().is_some() {
        let ids: Vec<String> = memory.processes.iter().map(u32::to_string).collect();
        let who =
            if ids.is_empty() { "which is not seen from here".to_owned() } else { ids.join(", ") };
        cleaned.kept.push(format!(
            "nothing was removed: a DDS participant is alive (process {who}), and may be about to \
             use a port that is left; end it, then clean"
        ));
        return cleaned;
    }
    for object in &memory.objects {
        if object.users != [memory.own_user] {
            let users: Vec<String> = object.users.iter().map(u32::to_string).collect();
            cleaned.kept.push(format!("{} belongs to user {}", object.name, users.join(", ")));
        } else if object.life == Life::Left {
            remove(folder, &object.files, memory.own_user, &mut cleaned);
        } else {
            let why = "whether somebody has it can't be told from here";
            cleaned.kept.push(format!("{}: {why}", object.name));
        }
    }
    cleaned
}

/// Removes an object with its lock held, so that nobody takes it up meanwhile.
fn remove(folder: &Path, files: &[String], own_user: u32, cleaned: &mut Cleaned) {
    let mut locked = Vec::new();
    for file in files.iter().filter(|file| is_lock(file)) {
        match lock(&folder.join(file), own_user, FlockOperation::NonBlockingLockExclusive) {
            Ok(Some(held)) => locked.push(held),
            Ok(None) => return cleaned.kept.push(format!("{file} was taken up just now")),
            Err(error) => return cleaned.kept.push(format!("{file} can't be locked: {error}")),
        }
    }
    for file in files {
        let path = folder.join(file);
        // It must still be the file that was judged: nobody's link to somewhere else.
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        if !metadata.is_file() || metadata.uid() != own_user {
            cleaned.kept.push(format!("{file} is not a file of this user any more"));
            continue;
        }
        match fs::remove_file(&path) {
            Ok(()) => {
                cleaned.removed.push(file.clone());
                cleaned.bytes += metadata.len();
            }
            Err(error) => cleaned.kept.push(format!("{file}: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_nobody_has_is_removed_and_only_when_nobody_lives() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let make = |name: &str| fs::write(path(name), [0; 7]).unwrap();
        for name in ["fastrtps_aaaaaaaaaaaaaaaa", "fastrtps_aaaaaaaaaaaaaaaa_el", "precious"] {
            make(name);
        }
        make("fastrtps_port7411_el");
        let (own, alone) =
            (rustix::process::geteuid().as_raw(), FlockOperation::NonBlockingLockExclusive);
        let held = lock(&path("fastrtps_port7411_el"), own, alone).unwrap().unwrap();
        let cleaned = clean(folder.path());
        assert!(cleaned.removed.is_empty(), "{cleaned:?}");
        assert!(cleaned.kept[0].contains("participant is alive"), "{cleaned:?}");
        drop(held);
        let link = path("fastrtps_bbbbbbbbbbbbbbbb");
        std::os::unix::fs::symlink(path("precious"), &link).unwrap();
        let cleaned = clean(folder.path());
        // No process of this host has it mapped, or that can't be seen: a link is kept in any case.
        assert!(link.symlink_metadata().is_ok() && path("precious").exists());
        let expected =
            ["fastrtps_aaaaaaaaaaaaaaaa", "fastrtps_aaaaaaaaaaaaaaaa_el", "fastrtps_port7411_el"];
        assert_eq!(cleaned.removed, expected, "{cleaned:?}");
        assert_eq!(cleaned.bytes, 21);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        assert!(!clean(&path("nowhere")).kept.is_empty());
    }
}
