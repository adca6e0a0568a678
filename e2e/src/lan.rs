//! A network of hosts: a namespace each, joined by a switch in a namespace of its own.
//!
//! Nothing of it is outside the namespaces, and all is gone with the value. They need root.

use crate::hosts::{ip, skip};
use std::net::Ipv4Addr;

/// Four hosts that see nothing but each other.
pub struct Lan {
    names: Vec<String>,
    switch: String,
}

impl Lan {
    /// The robot's.
    pub const ROBOT: u8 = 1;
    /// The gateway's.
    pub const GATEWAY: u8 = 2;
    /// The AI service's.
    pub const AI: u8 = 3;
    /// That of the page, the broadcaster and the collector.
    pub const WEB: u8 = 4;

    /// All four; `None` with a word on standard error when that can't be had here.
    pub fn new() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            skip("network namespaces need root");
            return None;
        }
        let own = |name: &str| format!("hopwatch-{name}-{}", std::process::id());
        let names: Vec<String> = ["robot", "gateway", "ai", "web"].map(own).into();
        let lan = Self { names, switch: own("switch") };
        if let Err(said) = lan.wire() {
            skip(&format!("a network of namespaces can't be made: {said}"));
            return None;
        }
        Some(lan)
    }

    fn wire(&self) -> Result<(), String> {
        let switch = &self.switch;
        ip(&format!("netns add {switch}"))?;
        // Whoever asks for a group gets it: there is no router that would keep the lists.
        ip(&format!("-n {switch} link add br0 type bridge mcast_snooping 0"))?;
        ip(&format!("-n {switch} link set br0 up"))?;
        for (at, host) in (1..).zip(&self.names) {
            let address = Self::address(at);
            for words in [
                format!("netns add {host}"),
                format!("-n {host} link add eth0 type veth peer name port{at} netns {switch}"),
                format!("-n {switch} link set port{at} master br0 up"),
                format!("-n {host} addr add {address}/24 dev eth0"),
                format!("-n {host} link set eth0 up multicast on"),
                format!("-n {host} link set lo up multicast on"),
                format!("-n {host} route add 224.0.0.0/4 dev eth0"),
            ] {
                ip(&words)?;
            }
        }
        Ok(())
    }

    /// A host's address.
    pub fn address(host: u8) -> Ipv4Addr {
        Ipv4Addr::new(10, 78, 0, host)
    }

    /// The words before a command that run it on a host.
    pub fn on(&self, host: u8) -> String {
        format!("netns exec {}", self.names[usize::from(host) - 1])
    }
}

impl Drop for Lan {
    fn drop(&mut self) {
        for name in self.names.iter().chain([&self.switch]) {
            let _gone = ip(&format!("netns del {name}"));
        }
    }
}
