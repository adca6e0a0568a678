//! Of the host: clocks, timers, processors.

use crate::doctor::finding::{Area, Finding};
use crate::doctor::look::host::{Clocks, Processors, Timer};

const CLOCKS: Area = Area("clocks");
const PROCESSORS: Area = Area("processors");

/// Clock sources that are read without a call of the kernel (vDSO).
const FAST: [&str; 4] = ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"];
/// A reading that takes longer isn't by the vDSO (METHOD: 30 to 44 ns).
const SLOW_READ_NS: i64 = 200;
/// The timer that paces robots is precise below it.
const PRECISE_NS: i64 = 200_000;
/// Frequencies as far apart change what a cold call costs.
const SCALES: u64 = 110;

/// Clocks and timers.
pub(crate) fn clocks(clocks: &Clocks) -> Vec<Finding> {
    let mut all = vec![source(clocks), namespace(clocks)];
    all.push(match clocks.synchronised {
        Some((true, by)) => {
            CLOCKS.ok("synchronised", format!("the wall clock follows a time server ({by})"))
        }
        Some((false, by)) => CLOCKS
            .warning("synchronised", format!("the wall clock follows no time server ({by})"))
            .why("stamps of robots on other hosts are placed by wall clocks, until a responder tells more")
            .todo("run chrony or systemd-timesyncd, or hopwatch respond on the robots' hosts"),
        None => CLOCKS.unknown(
            "synchronised",
            "whether the wall clock follows a time server",
            "neither systemd-timesyncd nor chronyc nor timedatectl answers here; it matters only with \
             robots on other hosts, and hopwatch respond there measures the difference",
        ),
    });
    if !clocks.has_boot_id {
        all.push(
            CLOCKS
                .warning("boot_id", "the kernel tells no boot id")
                .why("then no two processes are known to share a clock, and nothing between them is exact")
                .todo("mount /proc (of a sandbox: let /proc/sys/kernel/random/boot_id be read)"),
        );
    }
    all.push(timer(clocks.timer));
    all
}

fn source(clocks: &Clocks) -> Finding {
    const NAME: &str = "clock_source";
    let (mono, wall) = clocks.read_ns;
    let cost = format!("a reading takes {mono} ns (monotonic) and {wall} ns (wall)");
    let Some(source) = clocks.source.as_deref() else {
        return CLOCKS.unknown(NAME, format!("clock source; {cost}"), "/sys doesn't tell it here");
    };
    let what = format!("clock source {source}: {cost}");
    let is_slow = !FAST.contains(&source) || mono > SLOW_READ_NS;
    if !is_slow {
        return CLOCKS.ok(NAME, what);
    }
    let has_tsc = clocks.sources.as_deref().is_some_and(|all| all.contains("tsc"));
    let todo = if source != "tsc" && has_tsc {
        "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource, if the kernel \
         log doesn't call it unstable"
    } else {
        "look into the kernel log for \"clocksource\": it says why a faster one was given up"
    };
    CLOCKS
        .warning(NAME, what)
        .why("each stamp costs a call of the kernel, a dozen times a message")
        .todo(todo)
}

fn namespace(clocks: &Clocks) -> Finding {
    const NAME: &str = "time_namespace";
    match (clocks.first_time, &clocks.shift) {
        (None, _) => CLOCKS.ok(NAME, "this kernel has no time namespaces: one monotonic clock"),
        (Some(true), _) => CLOCKS.ok(NAME, "the host's own time namespace"),
        (Some(false), shift) => {
            let by = shift.as_ref().map_or_else(String::new, |by| format!(", shifted by {by}"));
            CLOCKS
                .note(NAME, format!("a time namespace other than the host's{by}"))
                .why(
                    "processes outside of it read another monotonic clock: what lies between is an \
                     interval and not exact",
                )
                .todo("run gateway and services in one time namespace, where the split should be exact")
        }
    }
}

fn timer(timer: Option<Timer>) -> Finding {
    const NAME: &str = "timer";
    let Some(Timer { precise, plain }) = timer else {
        return CLOCKS.unknown(NAME, "timer precision", "no thread could be started for it");
    };
    let us = |(middle, most): (i64, i64)| {
        format!("{}.{} µs (at most {} µs)", middle / 1000, middle % 1000 / 100, most / 1000)
    };
    let what = format!(
        "a sleep of 1 ms ends {} late by the timer that paces robots, {} by clock_nanosleep",
        us(precise),
        us(plain)
    );
    if precise.0 <= PRECISE_NS {
        return CLOCKS.ok(NAME, what);
    }
    CLOCKS
        .warning(NAME, what)
        .why("simulated robots publish, and the AI mock answers, later than asked for")
        .todo("stop what else runs here, or give the machine more processors")
}

/// Processors.
pub(crate) fn processors(of: &Processors) -> Vec<Finding> {
    let mut all = vec![cores(of), governor(of)];
    if let Some(vendor) = &of.virtual_machine {
        all.push(
            PROCESSORS
                .note("virtual_machine", format!("a virtual machine ({vendor})"))
                .why("the host may take the processor away at any time: the slowest messages tell of it")
                .todo("compare runs of this machine with each other only"),
        );
    }
    let usable = u32::try_from(of.cores.1.max(1)).unwrap_or(u32::MAX);
    if let Some(load) = of.load.filter(|load| *load > f64::from(usable)) {
        all.push(
            PROCESSORS
                .warning("load", format!("{load} processes want to run, on {usable} cores"))
                .why("what is measured now is their waiting, too")
                .todo("stop what else runs here before measuring"),
        );
    }
    all
}

fn cores(of: &Processors) -> Finding {
    const NAME: &str = "cores";
    let (there, usable) = of.cores;
    let mut what = format!("{usable} of {there} cores may be used");
    if let Some(quota) = of.quota {
        what = format!("{what}, for {quota:.2} cores' time (control group)");
    }
    let few = |why: &str, todo: &str| PROCESSORS.warning(NAME, what.clone()).why(why).todo(todo);
    let all = u32::try_from(usable).unwrap_or(u32::MAX);
    if of.quota.is_some_and(|quota| quota < f64::from(all)) {
        return few(
            "when the time of a period (100 ms) is used up, all stop until the next one: jumps of tens \
             of ms in the slowest messages",
            "run without --cpus and limits.cpu while measuring, or pin to cores (--cpuset-cpus) instead",
        );
    }
    if usable < 2 {
        return few(
            "gateway and services wait for each other on one core",
            "allow at least two cores, or run the services elsewhere",
        );
    }
    PROCESSORS.ok(NAME, what)
}

fn governor(of: &Processors) -> Finding {
    const NAME: &str = "governor";
    let Some(governor) = of.governor.as_deref() else {
        let why = "the kernel shows no frequency scaling here, as in most virtual machines";
        return PROCESSORS.unknown(NAME, "frequency governor", why);
    };
    let scales = of.frequencies.is_some_and(|(low, high)| high * 100 > low * SCALES);
    let what = format!("frequency governor {governor}");
    if governor == "performance" || (of.frequencies.is_some() && !scales) {
        return PROCESSORS.ok(NAME, what);
    }
    PROCESSORS
        .warning(NAME, what)
        .why("at low rates the cores are slow when a message comes: the same call takes several times as long")
        .todo(
            "while measuring: cpupower frequency-set -g performance; keep it as it is where the robot \
             will run with it, too",
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Severity;
    use crate::doctor::judge::tests::{one, severity};

    fn sound() -> Clocks {
        Clocks {
            source: Some("tsc".into()),
            sources: Some("tsc hpet acpi_pm".into()),
            synchronised: Some((true, "chrony")),
            first_time: Some(true),
            shift: None,
            has_boot_id: true,
            read_ns: (25, 26),
            timer: Some(Timer { precise: (1_000, 9_000), plain: (60_000, 90_000) }),
        }
    }

    #[test]
    fn a_usual_host_is_fine() {
        let all = clocks(&sound());
        assert!(all.iter().all(|of| of.severity == Severity::Ok) && all.len() == 4, "{all:?}");
        let of = Processors {
            cores: (8, 8),
            governor: Some("performance".into()),
            load: Some(0.4),
            ..Processors::default()
        };
        let all = processors(&of);
        assert!(all.iter().all(|of| of.severity == Severity::Ok) && all.len() == 2, "{all:?}");
    }

    #[test]
    fn clocks_that_cost_or_part_are_told() {
        let all = clocks(&Clocks { source: Some("hpet".into()), ..sound() });
        assert_eq!(severity(&all, "clock_source"), Severity::Warning);
        assert!(one(&all, "clock_source").todo.contains("echo tsc"));
        let slow = Clocks { read_ns: (900, 900), ..sound() };
        assert!(one(&clocks(&slow), "clock_source").todo.contains("kernel log"));
        let all = clocks(&Clocks { source: None, ..sound() });
        assert_eq!(severity(&all, "clock_source"), Severity::Unknown);
        let shift = Some("12345 s".to_owned());
        let all = clocks(&Clocks { first_time: Some(false), shift, ..sound() });
        assert!(one(&all, "time_namespace").what.contains("shifted by 12345 s"));
        assert_eq!(severity(&all, "time_namespace"), Severity::Note);
        let all = clocks(&Clocks { first_time: None, ..sound() });
        assert_eq!(severity(&all, "time_namespace"), Severity::Ok);
        for (synchronised, expected) in
            [(Some((false, "chrony")), Severity::Warning), (None, Severity::Unknown)]
        {
            let all = clocks(&Clocks { synchronised, ..sound() });
            assert_eq!(severity(&all, "synchronised"), expected);
        }
        let all = clocks(&Clocks { has_boot_id: false, ..sound() });
        assert_eq!(severity(&all, "boot_id"), Severity::Warning);
    }

    #[test]
    fn timers_that_are_late_are_told() {
        let late = Timer { precise: (900_000, 2_000_000), plain: (1_100_000, 1_200_000) };
        let all = clocks(&Clocks { timer: Some(late), ..sound() });
        assert_eq!(severity(&all, "timer"), Severity::Warning);
        assert!(one(&all, "timer").what.contains("900.0 µs (at most 2000 µs)"));
        let all = clocks(&Clocks { timer: None, ..sound() });
        assert_eq!(severity(&all, "timer"), Severity::Unknown);
    }

    #[test]
    fn processors_that_blur_a_measurement_are_told() {
        let of = |of: Processors| processors(&of);
        let all = of(Processors { cores: (8, 8), quota: Some(0.5), ..Processors::default() });
        assert!(one(&all, "cores").what.contains("0.50 cores' time"));
        assert_eq!(severity(&all, "cores"), Severity::Warning);
        assert_eq!(severity(&all, "governor"), Severity::Unknown);
        // What can't be used up stops nobody.
        let all = of(Processors { cores: (8, 2), quota: Some(2.0), ..Processors::default() });
        assert_eq!(severity(&all, "cores"), Severity::Ok);
        let all = of(Processors { cores: (8, 2), quota: Some(1.9), ..Processors::default() });
        assert_eq!(severity(&all, "cores"), Severity::Warning);
        let all = of(Processors { cores: (8, 1), ..Processors::default() });
        assert_eq!(severity(&all, "cores"), Severity::Warning);
        let governor = Some("powersave".to_owned());
        let scaling = Processors {
            cores: (8, 8),
            governor: governor.clone(),
            frequencies: Some((800_000, 3_000_000)),
            ..Processors::default()
        };
        assert_eq!(severity(&of(scaling), "governor"), Severity::Warning);
        let fixed = Processors { governor, frequencies: Some((1, 1)), ..Processors::default() };
        assert_eq!(severity(&of(fixed), "governor"), Severity::Ok);
        let busy = Processors {
            cores: (2, 2),
            load: Some(7.0),
            virtual_machine: Some("QEMU".into()),
            ..Processors::default()
        };
        let all = of(busy);
        assert_eq!(severity(&all, "load"), Severity::Warning);
        assert_eq!(severity(&all, "virtual_machine"), Severity::Note);
    }
}
