//! The system's clocks, and the trait by which everything else asks for the time.

use hopwatch_model::{ClockId, Ns};
use rustix::time::{ClockId as Which, clock_gettime};
use std::sync::OnceLock;

/// A clock that stamps are read from. Tests give a virtual one.
pub trait Clock: Send + Sync + 'static {
    /// Its name.
    fn id(&self) -> &ClockId;
    /// Now, in ns.
    fn now(&self) -> Ns;
}

/// This host's `CLOCK_MONOTONIC`.
#[derive(Clone, Debug)]
pub struct SystemClock(ClockId);

impl Default for SystemClock {
    fn default() -> Self {
        Self(clock_id())
    }
}

impl Clock for SystemClock {
    fn id(&self) -> &ClockId {
        &self.0
    }
    fn now(&self) -> Ns {
        mono_ns()
    }
}

/// The name of this process's monotonic clock: boot id / time namespace (METHOD 1).
///
/// Two processes with the same name read the same clock, whatever container they are in. Where
/// the system tells no boot id, a name is made up that no other process has: then nothing is
/// taken for the same clock that may not be.
pub fn clock_id() -> ClockId {
    static ID: OnceLock<ClockId> = OnceLock::new();
    ID.get_or_init(|| {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
        let namespace = std::fs::read_link("/proc/self/ns/time");
        match (boot, namespace) {
            (Ok(boot), Ok(namespace)) => {
                let inode: String =
                    namespace.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
                ClockId::new(format!("{}/{inode}", boot.trim()))
            }
            // Kernels without time namespaces (before 5.6): the boot id is enough.
            (Ok(boot), Err(_)) => ClockId::new(format!("{}/0", boot.trim())),
            _ => ClockId::new(format!("process-{}-{}", std::process::id(), wall_ns())),
        }
    })
    .clone()
}

/// `CLOCK_MONOTONIC` in ns.
pub fn mono_ns() -> Ns {
    read(Which::Monotonic)
}

/// `CLOCK_REALTIME` in ns of Unix time.
pub fn wall_ns() -> Ns {
    read(Which::Realtime)
}

fn read(which: Which) -> Ns {
    let time = clock_gettime(which);
    time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_has_one_clock_that_goes_on() {
        assert_eq!(clock_id(), SystemClock::default().id().clone());
        let before = mono_ns();
        assert!(mono_ns() >= before);
        assert!(wall_ns() > 1_500_000_000_000_000_000);
    }
}
