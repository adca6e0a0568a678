//! The host: clocks, timers, processors.

use hopwatch_kit::clock::{mono_ns, wall_ns};
use hopwatch_kit::timer::PreciseTimer;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Clocks and timers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Clocks {
    /// `tsc`, `kvm-clock`, …
    pub(crate) source: Option<String>,
    /// Those that there are.
    pub(crate) sources: Option<String>,
    /// Whether the wall clock follows a time server, and who says so.
    pub(crate) synchronised: Option<(bool, &'static str)>,
    /// Whether this is the host's time namespace; `None`: the kernel has none.
    pub(crate) first_time: Option<bool>,
    /// By how much this namespace's `CLOCK_MONOTONIC` is shifted.
    pub(crate) shift: Option<String>,
    /// The kernel tells a boot id.
    pub(crate) has_boot_id: bool,
    /// One reading of `CLOCK_MONOTONIC` and of `CLOCK_REALTIME`, in ns.
    pub(crate) read_ns: (i64, i64),
    /// Overshoots of a sleep of 1 ms; `None`: the timer could not be started.
    pub(crate) timer: Option<Timer>,
}

/// Median and maximum of the overshoots, in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Timer {
    /// Of the timer that robots and AI mock are paced by.
    pub(crate) precise: (i64, i64),
    /// Of `clock_nanosleep`, by which everything else waits.
    pub(crate) plain: (i64, i64),
}

/// Processors.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Processors {
    /// Those that the host has, and those that this process may use.
    pub(crate) cores: (usize, usize),
    /// What a control group allows, in processors.
    pub(crate) quota: Option<f64>,
    pub(crate) governor: Option<String>,
    /// The lowest and the highest frequency, in kHz.
    pub(crate) frequencies: Option<(u64, u64)>,
    /// The machine is virtual: by whose word.
    pub(crate) virtual_machine: Option<String>,
    /// Processes that want to run, on average over a minute.
    pub(crate) load: Option<f64>,
}

const SLEEPS: usize = 20;
const SLEEP: Duration = Duration::from_millis(1);
/// Clocks are read in so many batches, of so many readings.
const BATCHES: usize = 20;
const READINGS: i64 = 500;

impl Clocks {
    pub(crate) async fn look() -> Self {
        const SOURCES: &str = "/sys/devices/system/clocksource/clocksource0";
        let first_time = super::namespace("/proc/self", "time").map(|id| id == super::FIRST_TIME);
        Self {
            source: word(&format!("{SOURCES}/current_clocksource")),
            sources: word(&format!("{SOURCES}/available_clocksource")),
            synchronised: synchronised(),
            first_time,
            shift: shift(),
            has_boot_id: word("/proc/sys/kernel/random/boot_id").is_some(),
            read_ns: (cost(mono_ns), cost(wall_ns)),
            timer: timer().await,
        }
    }
}

impl Processors {
    pub(crate) fn look() -> Self {
        const FREQUENCY: &str = "/sys/devices/system/cpu/cpu0/cpufreq";
        let number = |file: &str| word(&format!("{FREQUENCY}/{file}"))?.parse().ok();
        let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let load = fs::read_to_string("/proc/loadavg").ok();
        let usable = std::thread::available_parallelism().map_or(0, usize::from);
        Self {
            cores: (cpus.lines().filter(|line| line.starts_with("processor")).count(), usable),
            quota: quota(Path::new("/sys/fs/cgroup")),
            governor: word(&format!("{FREQUENCY}/scaling_governor")),
            frequencies: number("cpuinfo_min_freq").zip(number("cpuinfo_max_freq")),
            virtual_machine: virtual_machine(&cpus),
            load: load.and_then(|text| text.split(' ').next()?.parse().ok()),
        }
    }
}

/// What a file says, if anything.
fn word(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// The mean of the fastest batch: of the others, some were interrupted.
fn cost(read: impl Fn() -> i64) -> i64 {
    let batch = || {
        let begin = mono_ns();
        for _ in 0..READINGS {
            std::hint::black_box(read());
        }
        (mono_ns() - begin) / READINGS
    };
    (0..BATCHES).map(|_| batch()).min().unwrap_or_default()
}

async fn timer() -> Option<Timer> {
    let timer = PreciseTimer::start().ok()?;
    let (mut precise, mut plain) = (Vec::new(), Vec::new());
    let sleep = i64::try_from(SLEEP.as_nanos()).unwrap_or(i64::MAX);
    for _ in 0..SLEEPS {
        let due = mono_ns() + sleep;
        timer.sleep_until(due).await;
        precise.push(mono_ns() - due);
    }
    let plainly = tokio::task::spawn_blocking(move || {
        for _ in 0..SLEEPS {
            let due = mono_ns() + sleep;
            std::thread::sleep(SLEEP);
            plain.push(mono_ns() - due);
        }
        plain
    });
    let middle = |mut of: Vec<i64>| {
        of.sort_unstable();
        Some((*of.get(of.len() / 2)?, *of.last()?))
    };
    Some(Timer { precise: middle(precise)?, plain: middle(plainly.await.ok()?)? })
}

/// Asks those who know, in turn. The kernel itself can only be asked by a call that needs unsafe
/// code.
fn synchronised() -> Option<(bool, &'static str)> {
    if Path::new("/run/systemd/timesync/synchronized").exists() {
        return Some((true, "systemd-timesyncd"));
    }
    let said = |program: &str, words: &[&str]| {
        let output = Command::new(program).args(words).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    if let Some(text) = said("chronyc", &["-c", "tracking"]) {
        // The last field: Normal, Insert second, Delete second or Not synchronised.
        return Some((!text.to_lowercase().contains("not synchronised"), "chrony"));
    }
    let text = said("timedatectl", &["show", "--property=NTPSynchronized", "--value"])?;
    match text.trim() {
        "yes" => Some((true, "timedatectl")),
        "no" => Some((false, "timedatectl")),
        _ => None,
    }
}

/// `time_namespaces(7)`: `monotonic <seconds> <nanoseconds>`.
fn shift() -> Option<String> {
    let text = fs::read_to_string("/proc/self/timens_offsets").ok()?;
    let words: Vec<&str> =
        text.lines().find(|line| line.starts_with("monotonic"))?.split_whitespace().collect();
    match words.as_slice() {
        [_, "0", "0"] => None,
        [_, seconds, _] => Some(format!("{seconds} s")),
        _ => None,
    }
}

/// The smallest `cpu.max` on the way up from this process's control group (version 2).
fn quota(root: &Path) -> Option<f64> {
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = own.lines().find_map(|line| line.strip_prefix("0::"))?.trim_start_matches('/');
    let folder = root.join(path);
    let limits =
        folder.ancestors().take_while(|folder| folder.starts_with(root)).filter_map(|at| {
            let text = fs::read_to_string(at.join("cpu.max")).ok()?;
            processors(&text)
        });
    limits.min_by(f64::total_cmp)
}

/// "50000 100000" is half a processor, "max 100000" no limit.
fn processors(limit: &str) -> Option<f64> {
    let (quota, period) = limit.trim().split_once(' ')?;
    Some(quota.parse::<f64>().ok()? / period.parse::<f64>().ok()?)
}

fn virtual_machine(cpus: &str) -> Option<String> {
    let flags = cpus.lines().find(|line| line.starts_with("flags"))?;
    let is_virtual = flags.split_whitespace().any(|flag| flag == "hypervisor");
    let vendor = word("/sys/class/dmi/id/sys_vendor");
    is_virtual.then(|| vendor.unwrap_or_else(|| "the processor says so".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read() {
        assert_eq!(processors("50000 100000\n"), Some(0.5));
        assert_eq!(processors("max 100000"), None);
        assert_eq!(processors("nonsense"), None);
        assert_eq!(virtual_machine("flags : fpu tsc\n"), None);
        assert!(virtual_machine("flags : fpu hypervisor\n").is_some());
    }

    #[test]
    fn an_interruption_costs_no_reading() {
        let readings = std::cell::Cell::new(0);
        let read = || {
            readings.set(readings.get() + 1);
            if readings.get() == 700 {
                std::thread::sleep(Duration::from_millis(100));
            }
            readings.get()
        };
        let begin = mono_ns();
        let cost = cost(read);
        assert_eq!(readings.get(), 10_000);
        // Were it spread over all readings, it would be told.
        let spread = (mono_ns() - begin) / 10_000;
        assert!(cost < spread / 2, "{cost} ns, and {spread} ns on average");
    }

    #[tokio::test]
    async fn this_host_has_a_clock_and_a_processor() {
        let clocks = Clocks::look().await;
        assert!(clocks.read_ns.0 > 0 && clocks.timer.is_some(), "{clocks:?}");
        let timer = clocks.timer.unwrap();
        assert!(timer.precise.0 >= 0 && timer.precise.1 >= timer.precise.0, "{timer:?}");
        let processors = Processors::look();
        assert!(processors.cores.1 > 0, "{processors:?}");
    }
}
