//! Hosts: a network namespace each, joined by a cable, with a clock of their own where wanted.
//!
//! Everything stays inside the namespaces; they and what was joined to them are gone with the
//! value. They need root.

use std::net::Ipv4Addr;
use std::process::Command;

/// Whoever runs the tests where it must be possible to have namespaces sets it to `1`: a test that
/// would skip itself for want of them then fails.
const REQUIRE: &str = "HOPWATCH_REQUIRE_NAMESPACES";

/// Says on standard error why a test is skipped.
///
/// # Panics
/// When `HOPWATCH_REQUIRE_NAMESPACES` is `1`.
pub fn skip(why: &str) {
    let required = std::env::var_os(REQUIRE).is_some_and(|value| value == "1");
    assert!(!required, "{REQUIRE} is set, and this test would be skipped: {why}");
    eprintln!("skipped: {why}");
}

/// How far the clock of a host that has its own is ahead, in seconds.
pub const AHEAD_S: i64 = 12_345;

/// Two hosts that see nothing but each other.
pub struct Hosts {
    names: [String; 2],
}

impl Hosts {
    /// Two of them; `None` with a word on standard error when that can't be had here.
    pub fn new() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            skip("network namespaces need root");
            return None;
        }
        let names =
            ["robot", "server"].map(|host| format!("hopwatch-{host}-{}", std::process::id()));
        let hosts = Self { names };
        let [robot, server] = &hosts.names;
        for words in [
            format!("netns add {robot}"),
            format!("netns add {server}"),
            format!("-n {robot} link add eth0 type veth peer name eth0 netns {server}"),
        ] {
            if let Err(said) = ip(&words) {
                skip(&format!("network namespaces can't be made: {said}"));
                return None;
            }
        }
        for (host, address) in hosts.names.iter().zip([hosts.robot(), hosts.server()]) {
            for words in [
                format!("-n {host} addr add {address}/24 dev eth0"),
                format!("-n {host} link set eth0 up multicast on"),
                format!("-n {host} link set lo up multicast on"),
                format!("-n {host} route add 224.0.0.0/4 dev eth0"),
            ] {
                ip(&words).unwrap();
            }
        }
        Some(hosts)
    }

    /// From now on, so many hundredths of the UDP packets that either host sends are lost. False
    /// with a word on standard error when that can't be had here.
    pub fn lose(&self, hundredths: u8) -> bool {
        for name in &self.names {
            let words = format!(
                "netns exec {name} iptables -A OUTPUT -o eth0 -p udp -m statistic --mode random \
                 --probability {} -j DROP",
                f64::from(hundredths) / 100.0
            );
            if let Err(said) = ip(&words) {
                skip(&format!("packets can't be lost here: {said}"));
                return false;
            }
        }
        true
    }

    /// `GET` of a URL on the server's host; its body.
    pub fn get(&self, url: &str) -> Result<String, String> {
        // Without the proxy that the environment may name.
        const ASK: &str = "import sys, urllib.request as r; ask = r.build_opener(r.ProxyHandler({})); \
                           print(ask.open(sys.argv[1], timeout=5).read().decode())";
        let asked = Command::new("ip")
            .args(["netns", "exec", &self.names[1], "python3", "-c", ASK, url])
            .output()
            .map_err(|error| error.to_string())?;
        if !asked.status.success() {
            return Err(String::from_utf8_lossy(&asked.stderr).into_owned());
        }
        Ok(String::from_utf8_lossy(&asked.stdout).into_owned())
    }

    /// The robot's address.
    pub fn robot(&self) -> Ipv4Addr {
        Ipv4Addr::new(10, 77, 0, 1)
    }

    /// The address of the host with everything else.
    pub fn server(&self) -> Ipv4Addr {
        Ipv4Addr::new(10, 77, 0, 2)
    }

    /// The words before a command that run it on the robot's host.
    pub fn on_robot(&self) -> String {
        format!("netns exec {}", self.names[0])
    }

    /// The words before a command that run it on the server's.
    pub fn on_server(&self) -> String {
        format!("netns exec {}", self.names[1])
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for name in &self.names {
            let _gone = ip(&format!("netns del {name}"));
        }
    }
}

pub(crate) fn ip(words: &str) -> Result<(), String> {
    let ended = Command::new("ip").args(words.split(' ')).output().map_err(|e| e.to_string())?;
    if ended.status.success() {
        return Ok(());
    }
    Err(format!("ip {words}: {}", String::from_utf8_lossy(&ended.stderr).trim()))
}

/// Whether a process can get a clock of its own here; says why not.
pub fn clocks_can_differ() -> bool {
    let tried = Command::new("python3")
        .arg(crate::peer("in_time_namespace.py"))
        .args(["1", "true"])
        .output();
    match tried {
        Ok(ended) if ended.status.success() => true,
        Ok(ended) => {
            skip(&String::from_utf8_lossy(&ended.stderr));
            false
        }
        Err(error) => {
            skip(&error.to_string());
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs this very test again, with the variable set or not, where it skips itself.
    #[test]
    fn a_skip_is_a_failure_where_namespaces_are_required() {
        const AGAIN: &str = "HOPWATCH_SKIP_AGAIN";
        if std::env::var_os(AGAIN).is_some() {
            skip("for want of root");
            return;
        }
        for (value, passes) in [("1", false), ("0", true), ("", true)] {
            let ended = Command::new(std::env::current_exe().unwrap())
                .args(["--nocapture", "a_skip_is_a_failure"])
                .env(AGAIN, "1")
                .env(REQUIRE, value)
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&ended.stderr);
            assert_eq!(ended.status.success(), passes, "{value:?}: {said}");
            assert!(said.contains("for want of root"), "{said}");
        }
    }
}
