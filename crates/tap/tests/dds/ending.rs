//! The tap ends in order and says why.

use super::peer::{Peer, Plan};
use super::{PATIENCE, config, loopback_only};
use hopwatch_tap::{Qos, Tap, TapError, TapEvent};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[test]
fn a_panic_in_the_sink_ends_the_tap_in_order_and_is_told() {
    loopback_only();
    let topic = "/panic";
    let (sink, events) = channel::<()>();
    let tap = Tap::start(config(65, topic, Qos::RELIABLE), move |event| {
        let _keep = &sink;
        if let TapEvent::Taken { .. } = event {
            panic!("no more of this");
        }
    })
    .unwrap();
    let _peer = Peer::start(Plan {
        domain: 65,
        topic,
        qos: Qos::RELIABLE,
        count: 3,
        period: Duration::ZERO,
        wait: true,
    });
    // The sink is dropped with the tap's end, and with it the sender.
    assert_eq!(events.recv_timeout(PATIENCE), Err(RecvTimeoutError::Disconnected));
    assert!(matches!(tap.publishers(topic), Err(TapError::Ended)));
    let error = tap.stop().unwrap_err();
    assert!(matches!(&error, TapError::SinkPanicked { message } if message == "no more of this"));
}

/// A history of one, so that each message has a round of its own, and the stop comes in it.
#[test]
fn the_last_message_is_followed_by_the_end_of_its_round_though_the_tap_stops() {
    loopback_only();
    let topic = "/last";
    let own = Arc::new(Mutex::new(None::<Tap>));
    let (sink, events) = channel();
    let tap = Tap::start(config(76, topic, Qos { depth: 1, ..Qos::RELIABLE }), {
        let own = Arc::clone(&own);
        move |event| {
            if let TapEvent::Taken { .. } = event
                && let Some(tap) = own.lock().unwrap().take()
            {
                assert!(matches!(tap.stop(), Err(TapError::CalledFromSink)));
            }
            let _ = sink.send(event);
        }
    });
    *own.lock().unwrap() = Some(tap.unwrap());
    let _peer = Peer::start(Plan {
        domain: 76,
        topic,
        qos: Qos::RELIABLE,
        count: 1,
        period: Duration::ZERO,
        wait: true,
    });
    let mut followed = None;
    loop {
        match events.recv_timeout(PATIENCE) {
            Ok(TapEvent::Taken { .. }) => followed = Some(false),
            Ok(TapEvent::Idle) => followed = followed.map(|_| true),
            Ok(_) => {}
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => panic!("the tap did not end; {followed:?}"),
        }
    }
    assert_eq!(followed, Some(true));
}
