//! What a process can see of itself and of its host: processors, memory that it shares, loopback.

use anyhow::Context;
use hopwatch_lab::handover::{Buffer, Mapped};
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeSet;

/// What this process has spent on the processors so far, in ns.
pub(super) fn cpu_ns() -> i64 {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    spent.tv_sec * 1_000_000_000 + spent.tv_nsec
}

/// Bytes that came over this network namespace's loopback interface so far.
pub(super) fn loopback_bytes() -> anyhow::Result<u64> {
    let text = std::fs::read_to_string("/proc/self/net/dev").context("failed to read net/dev")?;
    received(&text, "lo").context("/proc/self/net/dev has no loopback interface")
}

fn received(text: &str, interface: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.trim().strip_prefix(interface)?.strip_prefix(':'));
    line?.split_whitespace().next()?.parse().ok()
}

/// What this process has in its memory.
#[derive(Debug, Default)]
pub(super) struct Maps(Vec<Map>);

#[derive(Debug, PartialEq, Eq)]
struct Map {
    from: u64,
    to: u64,
    offset: u64,
    /// Device and inode; empty: of no file.
    file: String,
    path: String,
}

impl Maps {
    pub(super) fn now() -> anyhow::Result<Self> {
        let text = std::fs::read_to_string("/proc/self/maps").context("failed to read the maps")?;
        Ok(Self(text.lines().filter_map(map).collect()))
    }

    /// Files of shared memory.
    pub(super) fn shared(&self) -> Vec<Mapped> {
        let shared = self.0.iter().filter_map(|map| {
            let name = map.path.strip_prefix("/dev/shm/")?;
            Some(Mapped { name: name.to_owned(), file: map.file.clone() })
        });
        shared.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Where the bytes of a message lie.
    pub(super) fn buffer(&self, number: u64, payload: &[u8]) -> Buffer {
        let address = payload.as_ptr().addr() as u64;
        let of = self.0.iter().find(|map| (map.from..map.to).contains(&address));
        match of {
            Some(map) if !map.file.is_empty() => {
                Buffer { number, file: map.file.clone(), at: map.offset + (address - map.from) }
            }
            _ => Buffer { number, file: String::new(), at: address },
        }
    }
}

/// `7f0000000000-7f0000001000 rw-s 00000000 00:1a 42   /dev/shm/name` (proc(5)).
fn map(line: &str) -> Option<Map> {
    let mut words = line.split_whitespace();
    let (from, to) = words.next()?.split_once('-')?;
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    let offset = hex(words.nth(1)?)?;
    let (device, inode) = (words.next()?, words.next()?);
    let file = if inode == "0" { String::new() } else { format!("{device} {inode}") };
    let path = words.collect::<Vec<_>>().join(" ");
    Some(Map { from: hex(from)?, to: hex(to)?, offset, file, path })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn proc_is_read() {
        let dev = "Inter-|   Receive\n face |bytes    packets\n    lo: 1234 5 0\n  eth0:77 1 0\n";
        assert_eq!(received(dev, "lo"), Some(1234));
        assert_eq!(received(dev, "eth0"), Some(77));
        assert_eq!(received(dev, "l"), None);
        let line = "7f10-7f20 rw-s 00001000 00:1a 42                  /dev/shm/a name";
        let of = map(line).unwrap();
        assert_eq!((of.from, of.to, of.offset), (0x7f10, 0x7f20, 0x1000));
        assert_eq!((of.file.as_str(), of.path.as_str()), ("00:1a 42", "/dev/shm/a name"));
        let anonymous = map("7f10-7f20 rw-p 00000000 00:00 0 ").unwrap();
        assert_eq!((anonymous.file.as_str(), anonymous.path.as_str()), ("", ""));
        assert_eq!(map("what"), None);
    }

    #[test]
    fn a_buffer_is_told_by_its_file_or_its_address() {
        let heap = vec![1_u8; 100];
        let of = Maps::now().unwrap().buffer(3, &heap);
        assert_eq!((of.number, of.file.as_str(), of.at), (3, "", heap.as_ptr().addr() as u64));
        // The program itself is of a file.
        let constant = Maps::now().unwrap().buffer(0, "some text of this program".as_bytes());
        assert!(constant.file.contains(' '), "{constant:?}");
        assert!(loopback_bytes().is_ok() && cpu_ns() > 0);
    }
}
