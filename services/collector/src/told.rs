//! An entry, looked at before it is taken: what can't be is refused, and stored nowhere.

use hopwatch_archive::slot;
use hopwatch_model::{ClientTrace, PeerExchange, Probe, Trace};
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
