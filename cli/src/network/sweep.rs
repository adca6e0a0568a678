//! Namespaces whose run is gone without a word: taken away at the next start.

use super::namespaces::{FOLDER, ip};
use anyhow::Context;
use std::time::{Duration, Instant};

/// How long programs of a run that was killed may take to notice and to end.
const END: Duration = Duration::from_secs(12);

/// What the names of this process's namespaces begin with: its id, and when it started, since ids
/// are used again.
pub(super) fn own_name() -> anyhow::Result<String> {
    let pid = std::process::id();
    let started = started(pid).context("failed to read /proc/self/stat")?;
    Ok(format!("hopwatch-{pid}-{started}"))
}

/// Takes away the namespaces of runs that are gone, and says so.
pub(crate) fn sweep_and_say() {
    let swept = sweep();
    if swept > 0 {
        tell!("took away {swept} network namespaces of a run that was killed");
    }
}

/// Takes away the namespaces of runs that are gone; how many there were.
///
/// Programs that are still in one end by themselves, since their parent is gone; a namespace
/// that has some for longer stays, with a word.
fn sweep() -> usize {
    let Ok(entries) = std::fs::read_dir(FOLDER) else { return 0 };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let orphans: Vec<String> = names.filter(|name| is_orphan(name, started)).collect();
    let deadline = Instant::now() + END;
    let swept = |name: &&String| {
        let pids = format!("netns pids {name}");
        while ip(&pids).is_ok_and(|pids| !pids.trim().is_empty()) {
            if Instant::now() >= deadline {
                tracing::warn!(
                    "the network namespace {name} of a run that is gone still has programs in it: \
                     `ip netns pids {name}` tells which; end them, and the next run takes it away"
                );
                return false;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        // Another start may have swept it meanwhile.
        ip(&format!("netns del {name}")).is_ok()
    };
    orphans.iter().filter(swept).count()
}

/// Whether a namespace is of a run (`hopwatch-PID-TICKS-PLACE`) whose process is gone.
fn is_orphan(name: &str, started: impl Fn(u32) -> Option<u64>) -> bool {
    let words: Vec<&str> = name.split('-').collect();
    let ["hopwatch", pid, ticks, "robot" | "gateway" | "services"] = words[..] else {
        return false;
    };
    match (pid.parse(), ticks.parse()) {
        (Ok(pid), Ok(ticks)) => started(pid) != Some(ticks),
        _ => false,
    }
}

/// When a process started, in clock ticks since the boot; `None` when it is gone
/// (proc_pid_stat(5), field 22).
fn started(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may hold anything.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    // One that has ended and waits for its parent is gone.
    let state = fields.next()?;
    let ticks = fields.nth(18)?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(ticks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_owns_its_names() {
        let name = format!("{}-robot", own_name().unwrap());
        assert!(!is_orphan(&name, started), "{name}");
        let again = name.replace("-robot", "0-robot");
        assert!(is_orphan(&again, started), "started at another time: {again}");
    }

    #[test]
    fn only_namespaces_of_runs_that_are_gone_are_touched() {
        let lives = |pid: u32| (pid == 7).then_some(500);
        for (name, orphan) in [
            ("hopwatch-7-500-robot", false),
            ("hopwatch-7-501-robot", true),
            ("hopwatch-8-500-services", true),
            ("hopwatch-8-500-kitchen", false),
            ("hopwatch-robot-8", false),
            ("hopwatch-8-500-robot-x", false),
            ("hopwatch-x-500-robot", false),
            ("other-8-500-robot", false),
        ] {
            assert_eq!(is_orphan(name, lives), orphan, "{name}");
        }
    }
}
