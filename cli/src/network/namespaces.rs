//! The namespaces of one run, and the cables between them.
//!
//! ```text
//! robot ──ros── gateway ──ai───── services (AI service, broadcaster, collector)
//!                       ──web────
//!                       ──records─  never lossy
//! ```
//!
//! Each cable is a veth pair, and each leg has one of its own: what is done to its packets is done
//! to no other's. Addresses are of these namespaces alone, so every run has the same.
//!
//! Packets are dropped where they arrive, before fragments are put together: a packet that its own
//! sender drops is an error of `send` and no loss, and a long datagram is lost with any of its
//! fragments, as on a wire. ARP isn't dropped.

use super::asked::{Asked, Leg};
use super::loss::{LOSE, Loss};
use crate::args::Usage;
use anyhow::Context;
use hopwatch_analysis::{Network, NetworkLeg};
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::Duration;

/// Where `ip` keeps what names a namespace.
pub(super) const FOLDER: &str = "/var/run/netns";

/// The device of the cable that records and questions to the collector take.
const RECORDS: &str = "records";

/// A namespace of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Robot,
    Gateway,
    Services,
}

impl Place {
    pub(super) const ALL: [Self; 3] = [Self::Robot, Self::Gateway, Self::Services];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Robot => "robot",
            Self::Gateway => "gateway",
            Self::Services => "services",
        }
    }
}

/// The namespaces of a run. They are gone with the value.
pub(crate) struct Namespaces {
    asked: Asked,
    owner: String,
    loss: Arc<Loss>,
}

impl Namespaces {
    /// Makes them; without the privilege or a program that is needed, that is a matter of usage.
    pub(crate) fn make(asked: &Asked) -> anyhow::Result<Self> {
        if !rustix::process::geteuid().is_root() {
            return Err(Usage(
                "packets are lost in network namespaces, which need root: run it as root, or \
                 without --loss and --delay"
                    .to_owned(),
            )
            .into());
        }
        let owner = super::sweep::own_name()?;
        let ends = |leg: &Leg| ends(&owner, *leg).map(|name| (name, *leg));
        let lossy = asked.legs.iter().flat_map(ends).collect();
        let loss = Arc::new(Loss::new(asked.loss, lossy));
        let made = Self { asked: asked.clone(), owner, loss };
        made.build().map_err(|error| {
            Usage(format!("a network that loses packets can't be made here: {error:#}"))
        })?;
        Ok(made)
    }

    fn build(&self) -> anyhow::Result<()> {
        for place in Place::ALL {
            ip(&format!("netns add {}", self.name(place)))?;
            ip(&format!("-n {} link set lo up multicast on", self.name(place)))?;
        }
        for (number, (device, far)) in (1u8..).zip(cables()) {
            let (near, far) = (self.name(Place::Gateway), self.name(far));
            ip(&format!("-n {near} link add {device} type veth peer name {device} netns {far}"))?;
            for (name, end) in [(&near, 1u8), (&far, 2)] {
                ip(&format!("-n {name} addr add {}/24 dev {device}", address(number, end)))?;
                // What is dropped is one packet, and not what the kernel would carry as one.
                ip(&format!("-n {name} link set {device} up multicast on gso_max_segs 1"))?;
            }
        }
        for place in [Place::Robot, Place::Gateway] {
            ip(&format!("-n {} route add 224.0.0.0/4 dev ros", self.name(place)))?;
        }
        for leg in Leg::ALL {
            for name in self.ends(leg) {
                count(&name, leg)?;
                self.delay(&name, leg)?;
            }
        }
        self.loss.build()
    }

    fn delay(&self, name: &str, leg: Leg) -> anyhow::Result<()> {
        let Asked { delay, jitter, legs, .. } = &self.asked;
        if delay.is_zero() || !legs.contains(&leg) {
            return Ok(());
        }
        let (device, delay, jitter) = (leg.name(), delay.as_micros(), jitter.as_micros());
        ip(&format!(
            "netns exec {name} tc qdisc add dev {device} root netem delay {delay}us {jitter}us"
        ))
        .context("--delay and --jitter need tc and a kernel with netem: leave them out")?;
        Ok(())
    }

    /// What the kernel counted so far. Where it can't be asked, nothing is claimed.
    pub(crate) fn counted(&self) -> Network {
        let legs = Leg::ALL.map(|leg| {
            let (packets, dropped) = self
                .ends(leg)
                .iter()
                .filter_map(|name| {
                    let words = format!("netns exec {name} iptables -w -t mangle -nvxL");
                    Some(counters(&ip(&words).ok()?, leg.name()))
                })
                .fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
            let lossy = self.asked.legs.contains(&leg);
            NetworkLeg { leg: leg.name().to_owned(), lossy, packets, dropped }
        });
        Network {
            loss: self.asked.loss,
            delay_ns: ns(self.asked.delay),
            jitter_ns: ns(self.asked.jitter),
            changes: self.loss.changes(),
            legs: legs.to_vec(),
        }
    }

    /// Whether messages of the robots are lost, or may be once the loss is set.
    pub(crate) fn lose_messages(&self, settable: bool) -> bool {
        self.asked.loses_messages(settable)
    }

    /// How much is lost.
    pub(crate) fn loss(&self) -> Arc<Loss> {
        Arc::clone(&self.loss)
    }

    fn ends(&self, leg: Leg) -> [String; 2] {
        ends(&self.owner, leg)
    }

    /// The name of a namespace, for `ip netns exec`.
    pub(crate) fn name(&self, place: Place) -> String {
        name(&self.owner, place)
    }

    /// The file that names it.
    pub(crate) fn file(&self, place: Place) -> PathBuf {
        Path::new(FOLDER).join(self.name(place))
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for place in Place::ALL {
            if self.file(place).exists()
                && let Err(error) = ip(&format!("netns del {}", self.name(place)))
            {
                tracing::warn!("{error:#}");
            }
        }
    }
}

fn name(owner: &str, place: Place) -> String {
    format!("{owner}-{}", place.name())
}

/// The namespaces at both ends of a leg.
fn ends(owner: &str, leg: Leg) -> [String; 2] {
    let far = if leg == Leg::Ros { Place::Robot } else { Place::Services };
    [name(owner, Place::Gateway), name(owner, far)]
}

/// Counts what arrives.
fn count(name: &str, leg: Leg) -> anyhow::Result<()> {
    let leg = leg.name();
    ip(&format!("netns exec {name} iptables -w -t mangle -A PREROUTING -i {leg}")).map(drop)
}

/// The cables of the gateway's namespace, each with the place at its other end; numbered from 1.
fn cables() -> [(&'static str, Place); 4] {
    [
        (Leg::Ros.name(), Place::Robot),
        (Leg::Ai.name(), Place::Services),
        (Leg::Web.name(), Place::Services),
        (RECORDS, Place::Services),
    ]
}

/// What a program listens on in its namespace.
pub(crate) fn address_of(program: &str) -> IpAddr {
    match program {
        "ai-mock" => address(2, 2),
        "broadcaster" => address(3, 2),
        "collector" => address(4, 2),
        _ => Ipv4Addr::LOCALHOST.into(),
    }
}

fn address(cable: u8, end: u8) -> IpAddr {
    Ipv4Addr::new(10, 77, cable, end).into()
}

fn ns(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

/// (arrived, dropped) on a device, from `iptables -nvxL`: packets, bytes, target where there is
/// one, protocol, options, device, …
fn counters(table: &str, device: &str) -> (u64, u64) {
    let mut sums = (0, 0);
    for line in table.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(packets) = words.first().and_then(|word| word.parse::<u64>().ok()) else {
            continue;
        };
        // What is sent to a chain was counted before.
        if !words.contains(&device) || words.iter().any(|word| word.starts_with(LOSE)) {
            continue;
        }
        if words.contains(&"DROP") {
            sums.1 += packets;
        } else {
            sums.0 += packets;
        }
    }
    sums
}

/// Whether such a network can be made here: makes one, and takes it away again.
pub(crate) fn can_be_had() -> Result<(), String> {
    can_be_made(0.5, Duration::ZERO)
}

/// The same of one on which packets are late.
pub(crate) fn can_be_late() -> Result<(), String> {
    can_be_made(0.0, Duration::from_millis(1))
}

fn can_be_made(loss: f64, delay: Duration) -> Result<(), String> {
    let asked = Asked { loss, delay, jitter: Duration::ZERO, legs: Leg::ALL.to_vec() };
    Namespaces::make(&asked).map(drop).map_err(|error| format!("{error:#}"))
}

/// `ip` with these words; what it printed.
pub(super) fn ip(words: &str) -> anyhow::Result<String> {
    let Output { status, stdout, stderr } = Command::new("ip")
        .args(words.split(' '))
        .output()
        .context("failed to start ip (Debian: iproute2)")?;
    if status.success() {
        return Ok(String::from_utf8_lossy(&stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&stderr).trim().replace('\n', " ");
    let hint =
        if said.contains("exec of \"iptables\" failed") { " (Debian: iptables)" } else { "" };
    anyhow::bail!("ip {words}: {said}{hint}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_counters_are_read() {
        let table = "Chain PREROUTING (policy ACCEPT 0 packets, 0 bytes)
    pkts      bytes target     prot opt in     out     source               destination
    2800  4057600            0    --  ros    *       0.0.0.0/0            0.0.0.0/0
      10     1000            all  --  ai     *       0.0.0.0/0            0.0.0.0/0
    2800  4057600 lose-ros   0    --  ros    *       0.0.0.0/0            0.0.0.0/0
      10     1000 lose-ai    all  --  ai     *       0.0.0.0/0            0.0.0.0/0

Chain drop-ai (1 references)
    pkts      bytes target     prot opt in     out     source               destination
       4      400 DROP       all  --  ai     *       0.0.0.0/0            0.0.0.0/0

Chain drop-ros (1 references)
    pkts      bytes target     prot opt in     out     source               destination
     287   416260 DROP       0    --  ros    *       0.0.0.0/0            0.0.0.0/0

Chain lose-ros (1 references)
    pkts      bytes target     prot opt in     out     source               destination
     150   216260 drop-ros   0    --  *      *       0.0.0.0/0            0.0.0.0/0    statistic mode
";
        assert_eq!(counters(table, "ros"), (2800, 287));
        assert_eq!(counters(table, "ai"), (10, 4));
        assert_eq!(counters(table, "web"), (0, 0));
        assert_eq!(counters("", "ros"), (0, 0));
    }

    #[test]
    fn devices_have_names_that_the_kernel_takes() {
        assert!(cables().iter().all(|(device, _)| device.len() < 16));
    }
}
