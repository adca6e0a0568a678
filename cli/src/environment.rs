//! Where it was measured: what must be alike before two reports are compared.

mod programs;

use std::collections::BTreeMap;

/// What describes this machine and its ROS. No host name, no user, no path.
pub(crate) fn fingerprint(ros: &[(String, String)]) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let mut put = |key: &str, value: Option<String>| {
        if let Some(value) = value.filter(|v| !v.is_empty()) {
            all.insert(key.to_owned(), value);
        }
    };
    put("hopwatch", Some(env!("CARGO_PKG_VERSION").to_owned()));
    put("programs", programs::programs());
    put("build", Some(if cfg!(debug_assertions) { "debug" } else { "release" }.to_owned()));
    put("kernel", file("/proc/sys/kernel/osrelease"));
    put("architecture", Some(std::env::consts::ARCH.to_owned()));
    put("cores", std::thread::available_parallelism().ok().map(|n| n.to_string()));
    put("cpu", cpu_model());
    put(
        "governor",
        file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
            .or_else(|| Some("unknown".to_owned())),
    );
    put("load_before", file("/proc/loadavg").map(|text| first_words(&text, 3)));
    put("clocksource", file("/sys/devices/system/clocksource/clocksource0/current_clocksource"));
    put("container", Some(container().to_owned()));
    for key in [
        "ROS_DISTRO",
        "RMW_IMPLEMENTATION",
        "ROS_DOMAIN_ID",
        "ROS_AUTOMATIC_DISCOVERY_RANGE",
        "FASTDDS_BUILTIN_TRANSPORTS",
        "HOPWATCH_ROS",
    ] {
        let own = ros.iter().find(|(k, _)| k == key).map(|(_, v)| v.clone());
        put(key, own.or_else(|| std::env::var(key).ok()));
    }
    all
}

fn file(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

fn first_words(text: &str, n: usize) -> String {
    text.split_whitespace().take(n).collect::<Vec<_>>().join(" ")
}

fn cpu_model() -> Option<String> {
    let text = file("/proc/cpuinfo")?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    line.split_once(':').map(|(_, name)| name.trim().to_owned())
}

fn container() -> &'static str {
    if std::path::Path::new("/.dockerenv").exists() { "docker" } else { "none seen" }
}
