//! Of shared memory.

use crate::doctor::clean::Cleaned;
use crate::doctor::finding::{Area, Finding, Severity};
use crate::doctor::look::memory::{FOLDER, Life, Memory};
use std::collections::BTreeMap;

const MEMORY: Area = Area("shared memory");

/// A participant's segment is half a MiB and a port some 50 KiB (Fast DDS' defaults).
const FULL_BYTES: u64 = 1 << 20;
/// Below it, images and point clouds of several participants may not fit.
const LITTLE_BYTES: u64 = 16 << 20;

/// Where it isn't used.
const UNUSED: &str =
    "messages go without it here (FASTDDS_BUILTIN_TRANSPORTS, or another middleware)";

/// All of it. `without`: messages go another way, and nothing that is wrong with it matters.
pub(crate) fn judge(memory: &Memory, without: bool, cleaned: Option<&Cleaned>) -> Vec<Finding> {
    if let Some(failure) = &memory.failure {
        let what = format!("there is no shared memory: {failure}");
        if without {
            return vec![MEMORY.note("usable", what).why(UNUSED)];
        }
        let finding = MEMORY
            .problem("usable", what)
            .why("Fast DDS hands messages of one host over by it")
            .todo(format!(
                "mount a tmpfs on {FOLDER} (of a container: --shm-size=256m), or, on both sides, {}",
                super::BY_UDP
            ));
        return vec![finding];
    }
    let usable = usable(memory);
    let mut all = vec![match usable.severity {
        Severity::Problem | Severity::Warning if without => {
            MEMORY.note("usable", usable.what).why(UNUSED)
        }
        _ => usable,
    }];
    all.extend(private(memory, without));
    all.extend(others(memory, without));
    all.extend(leftovers(memory));
    all.extend(cleaned.map(of_cleaning));
    all
}

fn usable(memory: &Memory) -> Finding {
    const NAME: &str = "usable";
    let Memory { size_bytes, free_bytes, own_user, .. } = memory;
    let space = format!("{} of {} free", size(*free_bytes), size(*size_bytes));
    if !memory.writable {
        return MEMORY
            .problem(NAME, format!("{FOLDER} can't be written by user {own_user}"))
            .why("no participant of this user can have shared memory")
            .todo(format!("chmod 1777 {FOLDER}, or {}", super::BY_UDP));
    }
    let todo = "enlarge it (mount -o remount,size=512m /dev/shm; of a container: --shm-size=512m), or \
                remove what is left over (below)";
    if *free_bytes < FULL_BYTES {
        return MEMORY
            .problem(NAME, format!("{FOLDER} is full: {space}"))
            .why("a new participant gets no segment: it is matched and nothing of it arrives")
            .todo(todo);
    }
    if *free_bytes < LITTLE_BYTES {
        return MEMORY
            .warning(NAME, format!("{FOLDER} has little space: {space}"))
            .why("large messages (images, point clouds) of several participants may not fit")
            .todo(todo);
    }
    MEMORY.ok(NAME, format!("{FOLDER} can be used: {space}"))
}

fn private(memory: &Memory, without: bool) -> Option<Finding> {
    if memory.private != Some(true) {
        return None;
    }
    let what = format!("{FOLDER} is private: process 1 has another one");
    Some(if without {
        MEMORY.note("private", what).why("and Fast DDS is told to use no shared memory")
    } else {
        MEMORY
            .warning("private", what)
            .why(
                "a robot on the host's network and with the host's shared memory is matched from \
                 here, and nothing of it arrives",
            )
            .todo(format!(
                "start the container with --ipc=host, or, on both sides, {}",
                super::BY_UDP
            ))
    })
}

/// Users whose objects can't be opened, and how many each has; those that nobody has don't count.
pub(super) fn closed(memory: &Memory) -> BTreeMap<u32, usize> {
    let mut users = BTreeMap::new();
    let closed = memory.objects.iter().filter(|of| !of.usable && of.life != Life::Left);
    for user in closed.flat_map(|object| &object.users) {
        if *user != memory.own_user {
            *users.entry(*user).or_default() += 1;
        }
    }
    users
}

/// Objects of other users that can't be opened.
fn others(memory: &Memory, without: bool) -> Option<Finding> {
    let users = closed(memory);
    if users.is_empty() {
        return None;
    }
    let told: Vec<String> = users.iter().map(|(user, n)| format!("{n} of user {user}")).collect();
    let what = format!(
        "DDS participants of other users have shared memory that user {} can't open: {}",
        memory.own_user,
        told.join(", ")
    );
    Some(if without {
        MEMORY
            .note("other_users", what)
            .why("Fast DDS is told to use none here; let robots do so, too")
    } else {
        MEMORY
            .warning("other_users", what)
            .why("if one of them is the robot: it is matched, and nothing of it arrives")
            .todo(format!(
                "run gateway and robots as one user (docker run --user …), or, on both sides, {}; --topic \
                 /T tells whether it matters",
                super::BY_UDP
            ))
    })
}

fn leftovers(memory: &Memory) -> Vec<Finding> {
    const NAME: &str = "leftovers";
    let left: Vec<_> = memory.left().collect();
    let mut all = Vec::new();
    if left.is_empty() {
        all.push(MEMORY.ok(NAME, "no leftovers of Fast DDS"));
    } else {
        let (files, bytes) =
            left.iter().fold((0, 0), |(n, b), of| (n + of.files.len(), b + of.bytes));
        let todo = if memory.somebody_lives() {
            "end all ROS nodes of this host, then hopwatch doctor --clean"
        } else {
            "hopwatch doctor --clean"
        };
        let what = format!(
            "{} of Fast DDS that nobody has any more: {files} files, {}",
            objects(left.len()),
            size(bytes)
        );
        all.push(
            MEMORY
                .warning(NAME, what)
                .why(
                    "they were left by processes that were killed; they take memory, and a port that \
                     is taken up again may be broken",
                )
                .todo(todo),
        );
    }
    let unclear = memory.objects.iter().filter(|object| object.life == Life::Unknown).count();
    if unclear > 0 {
        all.push(MEMORY.unknown(
            "unclear",
            format!("whether somebody has {} of Fast DDS", objects(unclear)),
            "their locks can't be read, or their processes can't be seen, by this user or from this \
             container",
        ));
    }
    all
}

fn of_cleaning(cleaned: &Cleaned) -> Finding {
    const NAME: &str = "cleaned";
    let Cleaned { removed, bytes, kept } = cleaned;
    let what = if removed.is_empty() {
        "nothing was removed".to_owned()
    } else {
        format!("removed {} files, {}: {}", removed.len(), size(*bytes), removed.join(", "))
    };
    if kept.is_empty() {
        MEMORY.ok(NAME, what)
    } else {
        MEMORY.note(NAME, what).why(kept.join("; "))
    }
}

/// Segments and ports, counted.
fn objects(n: usize) -> String {
    if n == 1 { "1 segment or port".to_owned() } else { format!("{n} segments and ports") }
}

/// As "12.0 MiB".
fn size(bytes: u64) -> String {
    const KIB: u64 = 1 << 10;
    let (unit, of) = match bytes {
        0..KIB => return format!("{bytes} bytes"),
        KIB..0x10_0000 => ("KiB", KIB),
        0x10_0000..0x4000_0000 => ("MiB", 1 << 20),
        _ => ("GiB", 1 << 30),
    };
    format!("{}.{} {unit}", bytes / of, bytes % of * 10 / of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::judge::tests::{one, severity};
    use crate::doctor::look::memory::Object;

    fn sound() -> Memory {
        Memory {
            size_bytes: 1 << 30,
            free_bytes: 1 << 29,
            writable: true,
            own_user: 1000,
            private: Some(false),
            ..Memory::default()
        }
    }

    fn object(user: u32, usable: bool, life: Life) -> Object {
        let files = vec!["fastrtps_port7411".to_owned()];
        Object { name: files[0].clone(), files, bytes: 52_400, users: vec![user], usable, life }
    }

    #[test]
    fn memory_of_ones_own_is_fine() {
        let memory = Memory { objects: vec![object(1000, true, Life::Held)], ..sound() };
        let all = judge(&memory, false, None);
        assert!(all.iter().all(|of| of.severity == Severity::Ok), "{all:?}");
        assert_eq!(one(&all, "usable").what, "/dev/shm can be used: 512.0 MiB of 1.0 GiB free");
    }

    #[test]
    fn memory_that_cannot_be_used_is_a_problem() {
        for memory in [
            Memory { failure: Some("/dev/shm: no such".into()), ..sound() },
            Memory { writable: false, ..sound() },
            Memory { free_bytes: 1000, ..sound() },
        ] {
            assert_eq!(severity(&judge(&memory, false, None), "usable"), Severity::Problem);
            // Where it isn't used, nothing is wrong.
            let all = judge(&memory, true, None);
            assert_eq!(severity(&all, "usable"), Severity::Note);
            assert!(one(&all, "usable").why.contains("go without it"));
        }
        let little = Memory { free_bytes: 2 << 20, ..sound() };
        assert_eq!(severity(&judge(&little, false, None), "usable"), Severity::Warning);
    }

    #[test]
    fn memory_that_is_not_shared_matters_where_it_is_used() {
        let private = Memory { private: Some(true), ..sound() };
        assert_eq!(severity(&judge(&private, false, None), "private"), Severity::Warning);
        assert_eq!(severity(&judge(&private, true, None), "private"), Severity::Note);
        let objects = vec![object(0, false, Life::Held), object(0, false, Life::Unknown)];
        let of_root = Memory { objects, ..sound() };
        let all = judge(&of_root, false, None);
        assert_eq!(severity(&all, "other_users"), Severity::Warning);
        assert!(one(&all, "other_users").what.ends_with("user 1000 can't open: 2 of user 0"));
        assert_eq!(severity(&all, "unclear"), Severity::Unknown);
        assert_eq!(severity(&judge(&of_root, true, None), "other_users"), Severity::Note);
        // What is left of another user is in nobody's way.
        let left = Memory { objects: vec![object(0, false, Life::Left)], ..sound() };
        assert!(!judge(&left, false, None).iter().any(|of| of.name == "other_users"));
    }

    #[test]
    fn leftovers_are_counted_and_cleaned_when_nobody_lives() {
        let objects = vec![object(1000, true, Life::Left)];
        let left = Memory { objects, ..sound() };
        let all = judge(&left, false, None);
        assert_eq!(severity(&all, "leftovers"), Severity::Warning);
        assert!(one(&all, "leftovers").what.contains("1 files, 51.1 KiB"), "{all:?}");
        assert_eq!(one(&all, "leftovers").todo, "hopwatch doctor --clean");
        let alive = Memory { processes: vec![7], ..left };
        assert!(one(&judge(&alive, false, None), "leftovers").todo.starts_with("end all"));
        let cleaned = Cleaned { removed: vec!["a".into()], bytes: 9, kept: Vec::new() };
        assert_eq!(severity(&judge(&sound(), false, Some(&cleaned)), "cleaned"), Severity::Ok);
        let kept = Cleaned { kept: vec!["b belongs to user 0".into()], ..Cleaned::default() };
        let all = judge(&sound(), false, Some(&kept));
        assert_eq!(severity(&all, "cleaned"), Severity::Note);
        assert!(one(&all, "cleaned").why.contains("user 0"));
    }
}
