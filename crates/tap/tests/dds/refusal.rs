//! What doesn't fit is said in words, and nothing panics.

use super::peer::{Peer, Plan};
use super::{Listening, config, loopback_only};
use hopwatch_tap::{Durability, Policy, Qos, Reliability, Tap, TapConfig, TapError, TapEvent};
use std::time::Duration;

#[test]
fn settings_that_do_not_fit_are_explained() {
    let topic = "/unfit";
    let mut listening = Listening::to(62, topic, Qos::RELIABLE);
    let _peer = Peer::start(Plan {
        domain: 62,
        topic,
        qos: Qos::BEST_EFFORT,
        count: 10_000,
        period: Duration::from_millis(1),
        wait: false,
    });
    let (policy, requested, offered, advice) =
        listening.next("word of the misfit", |event| match event {
            TapEvent::IncompatibleQos {
                subscription: 0,
                total: 1,
                policy,
                requested,
                offered,
                advice,
            } => Some((policy, requested, offered, advice)),
            TapEvent::Taken { .. } => panic!("a message came through: {event:?}"),
            _ => None,
        });
    assert_eq!(policy, Policy::Reliability);
    assert_eq!(requested, Qos::RELIABLE);
    assert_eq!(offered.len(), 1, "{offered:?}");
    assert_eq!(offered[0].reliability, Some(Reliability::BestEffort));
    assert_eq!(offered[0].durability, Some(Durability::Volatile));
    for part in [
        "/unfit",
        "publisher /peer",
        "BEST_EFFORT VOLATILE",
        "RELIABLE VOLATILE KEEP_LAST 10",
        "best effort",
    ] {
        assert!(advice.contains(part), "{part:?} is missing in: {advice}");
    }
}

#[test]
fn what_ros_refuses_is_a_clear_error() {
    loopback_only();
    let good = || config(64, "/good", Qos::RELIABLE);
    let topic = |topic: &str| config(64, topic, Qos::RELIABLE);
    let node = |node_name: &str| TapConfig { node_name: node_name.into(), ..good() };
    for (config, parts) in [
        (topic("/bad topic!"), ["create subscription on /bad topic!", "alphanumerics"]),
        (topic(""), ["create subscription on ", "empty"]),
        (topic("/a\0b"), ["create subscription on /a", "NUL"]),
        (config(64, "/t", Qos { depth: 0, ..Qos::RELIABLE }), ["/t", "depth"]),
        (node("not a name"), ["create node \"not a name\"", "alphanumerics"]),
        (TapConfig { namespace: "9".into(), ..good() }, ["namespace \"9\"", "number"]),
        (TapConfig { domain_id: Some(100_000), ..good() }, ["ROS domain 100000", "0 to 232"]),
    ] {
        let refused = format!("{config:?}");
        let error = Tap::start(config, |_| {}).expect_err(&refused);
        assert!(error.is_wrong_usage(), "{error}");
        let error = error.to_string();
        assert!(error.starts_with("failed to "), "{error}");
        for part in parts {
            assert!(error.contains(part), "{part:?} is missing in: {error}");
        }
    }
}

#[test]
fn questions_about_bad_names_are_errors_and_the_tap_goes_on() {
    let listening = Listening::to(68, "/good", Qos::RELIABLE);
    let error = listening.tap.publishers("not good").unwrap_err();
    assert!(matches!(error, TapError::Rcl { .. }), "{error}");
    assert_eq!(listening.tap.publishers("/good").unwrap(), []);
    assert!(listening.tap.is_running());
    listening.tap.stop().unwrap();
}
