//! The stamps of a trace as JSON: clock → hop → ns, so that each clock is named once.

use crate::record::NsText;
use hopwatch_model::{ClockId, Hop, Stamps};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

/// The part of one clock.
struct OfClock<'a>(&'a Stamps, &'a ClockId);

impl Serialize for OfClock<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(stamps, clock) = self;
        let own = stamps.iter().filter(|(_, stamp)| stamp.clock == **clock);
        serializer.collect_map(own.map(|(hop, stamp)| (hop, NsText(stamp.ns))))
    }
}

/// Writes the clocks in the order of their names, and each one's stamps in the order of the way.
pub(crate) fn serialize<S: Serializer>(stamps: &Stamps, serializer: S) -> Result<S::Ok, S::Error> {
    let mut clocks: Vec<&ClockId> = Vec::new();
    for (_, stamp) in stamps.iter() {
        if !clocks.contains(&&stamp.clock) {
            clocks.push(&stamp.clock);
        }
    }
    clocks.sort_unstable();
    let mut map = serializer.serialize_map(Some(clocks.len()))?;
    for clock in clocks {
        map.serialize_entry(clock.as_str(), &OfClock(stamps, clock))?;
    }
    map.end()
}

/// Reads what [`serialize`] writes.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Stamps, D::Error> {
    let clocks = BTreeMap::<String, BTreeMap<Hop, NsText>>::deserialize(deserializer)?;
    let mut stamps = Stamps::new();
    for (clock, hops) in clocks {
        let clock = ClockId::new(clock);
        for (hop, ns) in hops {
            stamps.set(hop, &clock, ns.0);
        }
    }
    Ok(stamps)
}
