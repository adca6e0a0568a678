//! Clock responders on robots' hosts: asked all the time, for the robots' stamps to be placed.

use hopwatch_kit::{Clock, Shutdown, SystemClock};
use hopwatch_link::{Peer, Probed, RecordSender, probe};
use hopwatch_wire::record::{EventRecord, PeerRecord, Record};
use std::sync::Arc;

/// Asks each of them until the shutdown begins; what they say becomes records.
pub(crate) fn ask(
    peers: Vec<Peer>,
    clock: &Arc<SystemClock>,
    records: &RecordSender,
    shutdown: &Shutdown,
) {
    for peer in peers {
        let (clock, records) = (Arc::clone(clock) as Arc<dyn Clock>, records.clone());
        let shutdown = shutdown.clone();
        tokio::spawn(async move {
            let address = peer.address;
            let telling = records.clone();
            let tell = move |peer: &Peer, probed| telling.send(record(peer, probed));
            if let Err(error) = probe(peer, clock, tell, shutdown).await {
                let text = format!("the clock responder {address} can't be asked: {error}");
                records.send(event(text));
            }
        });
    }
}

fn record(peer: &Peer, probed: Probed) -> Record {
    let address = peer.address;
    match probed {
        Probed::Answered(exchange) => Record::Peer(Box::new(PeerRecord::from(&exchange))),
        Probed::Silent => event(format!(
            "the clock responder {address} says nothing: stamps of robots on that host can't be \
             placed; is `hopwatch respond --listen {address}` running there, and UDP let through?"
        )),
        Probed::Back => event(format!("the clock responder {address} answers again")),
    }
}

fn event(text: String) -> Record {
    tracing::warn!(event = "clock_peer", "{text}");
    Record::Event(EventRecord { event: "clock_peer".to_owned(), text })
}
