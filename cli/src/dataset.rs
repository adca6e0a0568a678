//! Records as a dataset for the report.

use anyhow::Context;
use hopwatch_analysis::{Dataset, Event, LaneInfo};
use hopwatch_model::{
    BroadcasterCounters, Census, ClientCounters, ClientTrace, GatewayCounters, PeerExchange, Probe,
    Trace,
};
use hopwatch_wire::record::{Entry, Record};
use std::collections::{BTreeMap, BTreeSet};

/// Events of one kind that a report shows.
const EVENTS_OF_A_KIND: usize = 10;

/// Records on their way into a dataset. They come by their source and number, so that the last
/// word of a source is the one that stands.
#[derive(Default)]
pub(crate) struct Gathering {
    data: Dataset,
    lines: u64,
    broadcasters: BTreeMap<String, BroadcasterCounters>,
    pages: BTreeMap<String, Vec<ClientCounters>>,
    events: BTreeMap<String, Vec<String>>,
}

impl Gathering {
    /// Takes a line in.
    pub(crate) fn take(&mut self, line: &str) -> anyhow::Result<()> {
        self.lines += 1;
        let lines = self.lines;
        let at = || format!("record {lines} can't be read");
        let entry: Entry = serde_json::from_str(line).with_context(at)?;
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
                let trace = Trace::try_from(*record).with_context(at)?;
                data.traces.push(Trace { gateway: entry.source, ..trace });
            }
            Record::Client(record) => {
                data.clients.push(ClientTrace::try_from(*record).with_context(at)?);
            }
            Record::Census(record) => {
                data.census.push((record.lane.clone(), Census::from(record)));
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

    /// The dataset, and how many messages are no longer kept.
    pub(crate) fn end(self) -> (Dataset, u64) {
        let mut data = self.data;
        data.broadcasters = self.broadcasters.into_values().collect();
        data.pages = self.pages.into_values().flatten().collect();
        data.events =
            self.events.into_iter().flat_map(|(kind, texts)| newest(&kind, texts)).collect();
        let not_kept = data.gone.iter().map(|(_, account)| account.messages()).sum();
        (data, not_kept)
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
        for line in include_str!("../../crates/wire/fixtures/records-v1.ndjson").lines() {
            gathering.take(line).unwrap();
        }
        let (data, not_kept) = gathering.end();
        assert_eq!((data.lanes.len(), data.traces.len(), data.clients.len()), (1, 4, 1));
        assert_eq!((data.census.len(), data.counters.len(), data.broadcasters.len()), (1, 2, 1));
        assert_eq!((data.events.len(), not_kept), (1, 7));
    }

    #[test]
    fn a_line_that_is_no_record_is_named_by_its_number() {
        let mut gathering = Gathering::default();
        let error = gathering.take("{}").unwrap_err();
        assert!(format!("{error:#}").starts_with("record 1 can't be read: "), "{error:#}");
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
