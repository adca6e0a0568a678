//! Records as a dataset for the report.

use hopwatch_analysis::{Dataset, Event, LaneInfo};
use hopwatch_model::{
    BroadcasterCounters, Census, ClientCounters, ClientTrace, GatewayCounters, Ns, PeerExchange,
    Probe, Trace,
};
use hopwatch_wire::record::{BadRecord, Entry, Record};
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

/// Events of one kind that a report shows.
const EVENTS_OF_A_KIND: usize = 10;

/// Records on their way into a dataset. They come by their source and number, so that the last
/// word of a source is the one that stands.
#[derive(Debug, Default)]
pub struct Gathering {
    data: Dataset,
    lines: u64,
    /// Robots count on: of each lane, robot, start and schedule the largest count stands. Each
    /// message is looked up in all of them.
    census: BTreeMap<(String, String, String, Ns), Census>,
    broadcasters: BTreeMap<String, BroadcasterCounters>,
    pages: BTreeMap<String, Vec<ClientCounters>>,
    events: BTreeMap<String, Vec<String>>,
}

/// What the records of a run tell.
#[derive(Clone, Debug)]
pub struct Gathered {
    /// The records.
    pub data: Dataset,
    /// Messages that are no longer kept: in the account, and nowhere else.
    pub messages_not_kept: u64,
}

/// A line that is no record.
#[derive(Debug, Error)]
#[error("record {number} can't be read")]
pub struct BadLine {
    /// Which line, from 1.
    number: u64,
    source: Box<dyn std::error::Error + Send + Sync>,
}

impl Gathering {
    /// Takes a line in.
    pub fn take(&mut self, line: &str) -> Result<(), BadLine> {
        self.lines += 1;
        let number = self.lines;
        let taken = serde_json::from_str(line)
            .map_err(Into::into)
            .and_then(|entry| self.entry(entry).map_err(Into::into));
        taken.map_err(|source| BadLine { number, source })
    }

    fn entry(&mut self, entry: Entry) -> Result<(), BadRecord> {
        let data = &mut self.data;
        match entry.record {
            Record::Lane(lane) => {
                let info = LaneInfo {
                    name: lane.lane.clone(),
                    topic: lane.topic,
                    qos: lane.qos,
                    transport: lane.transport,
                    workers: lane.workers,
                    clock: lane.clock,
                };
                data.lanes.insert(lane.lane, info);
            }
            Record::Trace(record) => {
                let trace = Trace { gateway: entry.source, ..Trace::try_from(*record)? };
                data.traces.push(trace);
            }
            Record::Client(record) => data.clients.push(ClientTrace::try_from(*record)?),
            Record::Census(record) => {
                let lane = record.lane.clone();
                let census = Census::from(record);
                let key = (
                    lane,
                    census.robot_id.clone(),
                    census.instance.clone(),
                    census.schedule_start_ns,
                );
                let known = self.census.entry(key).or_insert_with(|| census.clone());
                if (census.published, census.last) >= (known.published, known.last) {
                    *known = census;
                }
            }
            Record::Gateway(counters) => {
                data.counters.push(GatewayCounters { gateway: entry.source, ..counters });
            }
            Record::Clients(record) => {
                self.pages.insert(entry.source, record.clients);
            }
            Record::Broadcaster(counters) => {
                self.broadcasters.insert(entry.source, counters);
            }
            Record::Peer(record) => data.peers.push(PeerExchange::from(*record)),
            Record::Probe(probe) => {
                data.probes.push(Probe { gateway: entry.source, ..*probe });
            }
            Record::Gone(record) => data.gone.push((record.lane, record.account)),
            Record::Event(event) => self.events.entry(event.event).or_default().push(event.text),
        }
        Ok(())
    }

    /// What was told.
    pub fn end(self) -> Gathered {
        let mut data = self.data;
        data.census = self.census.into_iter().map(|((lane, ..), of)| (lane, of)).collect();
        data.broadcasters = self.broadcasters.into_values().collect();
        data.pages = self.pages.into_values().flatten().collect();
        data.events =
            self.events.into_iter().flat_map(|(kind, texts)| newest(&kind, texts)).collect();
        let messages_not_kept = data.gone.iter().map(|(_, account)| account.messages()).sum();
        Gathered { data, messages_not_kept }
    }
}

/// The last of a kind of event, each once, and a word on how many more there were.
fn newest(kind: &str, texts: Vec<String>) -> Vec<Event> {
    let mut seen = BTreeSet::new();
    let mut last: Vec<String> =
        texts.into_iter().rev().filter(|text| seen.insert(text.clone())).collect();
    let more = last.len().saturating_sub(EVENTS_OF_A_KIND);
    if more > 0 {
        last.truncate(EVENTS_OF_A_KIND);
        last.push(format!("{more} more of these; `hopwatch report DIR --records` prints all"));
    }
    last.into_iter().map(|text| Event { kind: kind.to_owned(), text }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_become_a_dataset() {
        let mut gathering = Gathering::default();
        for line in include_str!("../../wire/fixtures/records-v1.ndjson").lines() {
            gathering.take(line).unwrap();
        }
        let Gathered { data, messages_not_kept: not_kept } = gathering.end();
        assert_eq!((data.lanes.len(), data.traces.len(), data.clients.len()), (1, 4, 1));
        assert_eq!((data.census.len(), data.counters.len(), data.broadcasters.len()), (1, 2, 1));
        assert_eq!((data.events.len(), not_kept), (1, 7));
    }

    #[test]
    fn a_line_that_is_no_record_is_named_by_its_number() {
        let mut gathering = Gathering::default();
        let error = gathering.take("{}").unwrap_err();
        assert_eq!(error.to_string(), "record 1 can't be read");
        assert!(std::error::Error::source(&error).is_some());
    }

    #[test]
    fn of_many_events_of_a_kind_the_newest_are_shown_and_the_others_counted() {
        let texts = (1..=15).map(|n| format!("lost {n}")).chain(["lost 15".to_owned()]);
        let events = newest("message_lost", texts.collect());
        assert_eq!(events.len(), EVENTS_OF_A_KIND + 1);
        assert_eq!(events[0].text, "lost 15");
        assert!(events.iter().any(|event| event.text.starts_with("5 more of these")), "{events:?}");
        assert_eq!(newest("message_lost", vec!["once".to_owned(); 3]).len(), 1);
    }
}
