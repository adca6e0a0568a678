//! An entry, looked at before it is taken: what can't be is refused, and stored nowhere.

use hopwatch_archive::slot;
use hopwatch_model::{ClientTrace, Ns, PeerExchange, Probe, Trace};
use hopwatch_wire::record::{Entry, Record};
use std::sync::Arc;

/// Who told an entry, and its number there.
pub(crate) type Origin = (Arc<str>, u64);

/// An entry that can be taken.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) origin: Origin,
    pub(crate) what: What,
}

/// What is told.
#[derive(Debug)]
pub(crate) enum What {
    Trace(Box<Trace>),
    Client(Box<ClientTrace>),
    Peer(Box<PeerExchange>),
    Probe(Box<Probe>),
    /// Something that a later entry of the same slot replaces.
    Word {
        slot: String,
        record: Record,
    },
}

impl Told {
    /// Reads a line; the error says what is wrong with it.
    pub(crate) fn read(line: &str) -> Result<Self, String> {
        let entry: Entry = serde_json::from_str(line).map_err(|error| error.to_string())?;
        if i64::try_from(entry.number).is_err() {
            return Err(format!("{} is no number of an entry: it is above 2^63 - 1", entry.number));
        }
        Self::of(entry)
    }

    fn of(entry: Entry) -> Result<Self, String> {
        let slot = slot(&entry.record);
        let what = match (entry.record, slot) {
            (Record::Trace(record), _) => {
                let trace = Trace::try_from(*record).map_err(|error| error.to_string())?;
                What::Trace(Box::new(Trace { gateway: entry.source.clone(), ..trace }))
            }
            (Record::Client(record), _) => {
                let trace = ClientTrace::try_from(*record).map_err(|error| error.to_string())?;
                What::Client(Box::new(trace))
            }
            (Record::Peer(record), _) => What::Peer(Box::new(PeerExchange::from(*record))),
            (Record::Probe(probe), _) => {
                check_probe(&probe)?;
                What::Probe(Box::new(Probe { gateway: entry.source.clone(), ..*probe }))
            }
            (record, slot) => What::Word { slot: slot.unwrap_or_default(), record },
        };
        Ok(Self { origin: (entry.source.into(), entry.number), what })
    }

    pub(crate) fn slot(&self) -> Option<&str> {
        match &self.what {
            What::Word { slot, .. } => Some(slot),
            What::Trace(_) | What::Client(_) | What::Peer(_) | What::Probe(_) => None,
        }
    }
}

/// No probe takes longer, in ns: the longest timeout of a gateway.
const LONGEST_PROBE: Ns = 3_600_000_000_000;
/// Far beyond what a gateway sends.
const MOST_PROBES_HZ: f64 = 1000.0;
/// No link's name has more characters.
const LONGEST_LINK: usize = 64;
/// No message is longer, in bytes.
const LONGEST_BODY: u64 = 1 << 32;

/// What no gateway measures would spoil the sums and the page.
fn check_probe(probe: &Probe) -> Result<(), String> {
    let times = [
        ("connect_ns", probe.connect_ns),
        ("round_trip_ns", probe.round_trip_ns),
        ("served_ns", probe.served_ns),
    ];
    for (name, ns) in times {
        if !(0..=LONGEST_PROBE).contains(&ns) {
            return Err(format!("{name} of a probe must lie between 0 and an hour, not {ns}"));
        }
    }
    if probe.served_ns > probe.round_trip_ns {
        return Err("served_ns of a probe is longer than its round_trip_ns".to_owned());
    }
    if !(0.0..=MOST_PROBES_HZ).contains(&probe.rate_hz) {
        let rate = probe.rate_hz;
        return Err(format!(
            "rate_hz of a probe must lie between 0 and {MOST_PROBES_HZ}, not {rate}"
        ));
    }
    if probe.link.chars().count() > LONGEST_LINK {
        return Err(format!("the link of a probe has more than {LONGEST_LINK} characters"));
    }
    if probe.body_bytes > LONGEST_BODY {
        return Err(format!("a probe has no body of {} bytes", probe.body_bytes));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn probes_that_no_gateway_sends_are_refused() {
        let sound = json!({
            "source": "g", "number": 1, "kind": "probe", "round": 1, "stage": "ai", "link": "udp",
            "is_current": false, "rate_hz": 2.0, "body_bytes": 300, "connect_ns": 0,
            "round_trip_ns": 5, "served_ns": 1, "retries": 0, "failure": null,
        });
        let What::Probe(probe) = Told::read(&sound.to_string()).unwrap().what else { panic!() };
        assert_eq!((&*probe.gateway, probe.round_trip_ns), ("g", 5));
        for (key, bad) in [
            ("connect_ns", json!(-1)),
            ("round_trip_ns", json!(i64::MAX)),
            ("served_ns", json!(i64::MIN)),
            ("served_ns", json!(6)),
            ("rate_hz", json!(-1.0)),
            ("rate_hz", json!(1e300)),
            ("link", json!("x".repeat(65))),
            ("body_bytes", json!(u64::MAX)),
        ] {
            let mut probe = sound.clone();
            probe[key] = bad.clone();
            let why = Told::read(&probe.to_string()).unwrap_err();
            assert!(why.contains("probe"), "{key} {bad}: {why}");
        }
    }
}
