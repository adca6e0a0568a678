//! The tap ends in order and says why.

use super::peer::{Peer, Plan};
use super::{PATIENCE, config, loopback_only};
use hopwatch_tap::{Qos, Tap, TapError, TapEvent};
use std::sync::mpsc::{RecvTimeoutError, channel};
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
