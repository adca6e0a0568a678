//! A ROS domain for simulated robots, where they meet nobody else's.

use std::collections::BTreeSet;

/// Domains whose ports lie below Linux's ephemeral ones.
const DOMAINS: std::ops::RangeInclusive<u16> = 1..=101;

/// A domain in which no DDS participant of this host is now; searched from a start that differs
/// from process to process.
pub(crate) fn free() -> u16 {
    let start = u16::try_from(std::process::id() % 101).unwrap_or(0);
    let used: BTreeSet<u16> = ["/proc/net/udp", "/proc/net/udp6"]
        .iter()
        .filter_map(|path| std::fs::read_to_string(path).ok())
        .flat_map(|table| ports(&table))
        .collect();
    pick(start, &used)
}

fn pick(start: u16, used: &BTreeSet<u16>) -> u16 {
    let candidates = (0..*DOMAINS.end()).map(|i| DOMAINS.start() + (start + i) % DOMAINS.end());
    let is_free = |domain: &u16| used.range(dds_ports(*domain)).next().is_none();
    candidates.clone().find(is_free).unwrap_or(DOMAINS.start() + start % DOMAINS.end())
}

/// The ports of a domain (DDSI-RTPS 9.6.2.3: base 7400, 250 a domain).
fn dds_ports(domain: u16) -> std::ops::Range<u16> {
    let first = 7400 + 250 * domain;
    first..first + 250
}

/// Local ports in a table of `/proc/net`: the second column is address:port in hexadecimal.
fn ports(table: &str) -> Vec<u16> {
    table
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().nth(1)?.rsplit_once(':'))
        .filter_map(|(_, port)| u16::from_str_radix(port, 16).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_in_use_is_passed_over() {
        let table = "  sl  local_address rem_address\n  1: 0100007F:20D0 00000000:0000 07\n";
        assert_eq!(ports(table), [0x20d0]);
        // 8400 = 7400 + 250 × 4
        let used = BTreeSet::from([8400]);
        assert_eq!(pick(3, &used), 5);
        assert_eq!(pick(2, &used), 3);
        assert_eq!(pick(100, &BTreeSet::from([7400 + 250 * 101])), 1);
    }

    #[test]
    fn every_domain_lies_below_the_ephemeral_ports() {
        assert!(DOMAINS.clone().all(|domain| dds_ports(domain).end <= 32_900));
        assert!(DOMAINS.contains(&free()));
    }
}
