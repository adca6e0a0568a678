//! What the system tells of processes: memory, processor time, open files.

use anyhow::{Context, ensure};
use hopwatch_kit::Shutdown;
use hopwatch_kit::clock::mono_ns;
use hopwatch_model::Ns;
use rustix::process::{Resource, getrlimit, setrlimit};
use std::time::Duration;

/// Open files beside the pages' connections, in each of the two processes.
const OTHER_FILES: u64 = 256;
/// How often memory is looked at.
const LOOK: Duration = Duration::from_millis(500);

/// What was seen at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Since the first message, in ns.
    pub at_ns: Ns,
    /// The broadcaster's resident memory.
    pub resident_bytes: u64,
    /// What all TCP sockets of this network namespace hold in the kernel beyond what they held
    /// before.
    pub socket_bytes: u64,
}

/// Makes sure that this process and its children may hold so many connections.
pub(crate) fn allow_files(pages: usize) -> anyhow::Result<()> {
    let needed = pages as u64 + OTHER_FILES;
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    ensure!(
        limit.maximum.is_none_or(|maximum| maximum >= needed),
        "{pages} pages need {needed} open files, and this system allows {} (ulimit -Hn): raise \
         the limit, or choose a smaller --pages",
        limit.maximum.unwrap_or_default()
    );
    limit.current = Some(needed);
    setrlimit(Resource::Nofile, limit).context("failed to raise the limit of open files")
}

/// The resident memory of a process in bytes, now and at most.
pub(crate) fn memory(pid: u32) -> anyhow::Result<(u64, u64)> {
    let path = format!("/proc/{pid}/status");
    let text = std::fs::read_to_string(&path).with_context(|| format!("failed to read {path}"))?;
    let field = |name| kib(&text, name).with_context(|| format!("{path} has no {name}"));
    Ok((field("VmRSS:")?, field("VmHWM:")?))
}

/// A line like "VmRSS:      1234 kB", in bytes.
fn kib(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}

/// The processor time of this process in seconds.
pub(crate) fn own_cpu() -> anyhow::Result<f64> {
    cpu("self")
}

/// The processor time (user and system) of a process in seconds.
pub(crate) fn cpu(pid: &str) -> anyhow::Result<f64> {
    let path = format!("/proc/{pid}/stat");
    let text = std::fs::read_to_string(&path).with_context(|| format!("failed to read {path}"))?;
    let ticks = ticks(&text).with_context(|| format!("{path} is not as proc(5) says"))?;
    let a_second = rustix::param::clock_ticks_per_second();
    Ok(f64::from(ticks) / f64::from(u32::try_from(a_second).unwrap_or(100)))
}

/// utime + stime: the 12th and 13th word behind the name, which may hold anything.
fn ticks(stat: &str) -> Option<u32> {
    let mut words = stat.rsplit_once(") ")?.1.split(' ').skip(11);
    let mut next = || words.next()?.parse::<u32>().ok();
    Some(next()? + next()?)
}

/// What all TCP sockets of this network namespace hold in the kernel, in bytes; 0 where it
/// doesn't tell.
pub(crate) fn socket_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/net/sockstat").unwrap_or_default();
    pages_of_sockets(&text).unwrap_or(0) * rustix::param::page_size() as u64
}

/// A line like "TCP: inuse 5 orphan 0 tw 2 alloc 7 mem 3", in pages.
fn pages_of_sockets(sockstat: &str) -> Option<u64> {
    let line = sockstat.lines().find_map(|line| line.strip_prefix("TCP: "))?;
    let mut words = line.split(' ');
    words.find(|word| *word == "mem")?;
    words.next()?.parse().ok()
}

/// Looks at the memory of a process again and again, until the end.
pub(crate) async fn sample(pid: u32, sockets_before: u64, since: Ns, end: Shutdown) -> Vec<Sample> {
    let mut samples = Vec::new();
    loop {
        if let Ok((resident_bytes, _)) = memory(pid) {
            let socket_bytes = socket_memory().saturating_sub(sockets_before);
            samples.push(Sample { at_ns: mono_ns() - since, resident_bytes, socket_bytes });
        }
        if end.has_begun() {
            return samples;
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            () = end.begun() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_proc_says_is_read() {
        let status = "Name:\tx\nVmHWM:\t    9000 kB\nVmRSS:\t    8000 kB\n";
        assert_eq!(kib(status, "VmRSS:"), Some(8000 << 10));
        assert_eq!(kib(status, "VmSwap:"), None);
        let stat = "7 (a) b) S 1 7 7 0 -1 4 1 0 0 0 150 25 0 0 20";
        assert_eq!(ticks(stat), Some(175));
        let sockstat =
            "sockets: used 9\nTCP: inuse 5 orphan 0 tw 2 alloc 7 mem 3\nUDP: inuse 1 mem 9\n";
        assert_eq!(pages_of_sockets(sockstat), Some(3));
        assert!(own_cpu().is_ok_and(|seconds| seconds >= 0.0));
    }

    #[test]
    fn too_many_files_are_refused_before_anything_starts() {
        let refused = allow_files(usize::MAX >> 8).map_err(|error| error.to_string());
        match getrlimit(Resource::Nofile).maximum {
            Some(_) => assert!(refused.is_err_and(|why| why.contains("--pages"))),
            None => assert_eq!(refused, Ok(())),
        }
    }
}
