use super::*;
use proptest::prelude::*;

fn specs(text: &str) -> Vec<LaneSpec> {
    LaneSpec::parse_all(text).unwrap()
}

/// name @ topic of each lane.
fn resolved(text: &str) -> Vec<String> {
    let lanes = resolve(&specs(text), "/robot_messages").unwrap();
    lanes.iter().map(|lane| format!("{} @ {}", lane.name, lane.topic)).collect()
}

#[test]
fn words_stand_in_any_order_and_may_stand_for_themselves() {
    let full = LaneSpec {
        name: Some("a.b_c-1".to_owned()),
        qos: LaneQos::Reliable,
        depth: Some(5),
        link: Some("udp".to_owned()),
        topic: Some("/t/u".to_owned()),
        payload_bytes: Some(4000),
    };
    for text in [
        "name=a.b_c-1,reliable,depth=5,link=udp,topic=/t/u,payload=4000",
        "udp, payload=4000, topic=/t/u, qos=reliable, depth=5, name=a.b_c-1",
    ] {
        assert_eq!(text.parse(), Ok(full.clone()));
    }
    assert_eq!("http1".parse::<LaneSpec>().unwrap().qos, LaneQos::BestEffort);
    assert_eq!("best_effort".parse(), Ok(LaneSpec::default()));
    assert_eq!(LaneSpec::parse_all("reliable;best-effort").map(|all| all.len()), Ok(2));
}

#[test]
fn what_is_no_lane_is_refused_with_what_and_why() {
    for (text, why) in [
        ("", "a word is empty"),
        ("reliable,", "a word is empty"),
        ("reliable,depth=", "a word is empty"),
        ("reliable,best-effort", "qos is given twice"),
        ("relaible,link=udp", "link is given twice"),
        ("udp,relaible", "two links, if \"relaible\" is meant as one"),
        ("qos=maybe", "best-effort or reliable"),
        ("depth=0", "at least 1"),
        ("depth=-1", "whole number"),
        ("payload=many", "whole number"),
        ("speed=9", "name, qos, depth, link, topic and payload"),
        ("name=a b", "letters, digits"),
        ("name=", "a word is empty"),
    ] {
        let error = text.parse::<LaneSpec>().unwrap_err().to_string();
        assert!(error.contains(why) && error.contains(&format!("{text:?}")), "{error}");
    }
    assert!(LaneSpec::parse_all("reliable;").is_err());
    assert!("topic=/a;b".parse::<LaneSpec>().is_err());
}

#[test]
fn names_tell_apart_and_topics_are_shared_where_only_the_link_differs() {
    for (text, expected) in [
        ("reliable", vec!["reliable @ /robot_messages"]),
        (
            "best-effort;reliable",
            vec!["best-effort @ /robot_messages", "reliable @ /robot_messages/reliable"],
        ),
        (
            "reliable;best-effort;best-effort,udp",
            vec![
                "reliable @ /robot_messages",
                "best-effort @ /robot_messages/best_effort",
                "best-effort-udp @ /robot_messages/best_effort",
            ],
        ),
        (
            "http1;udp;reliable,udp",
            vec![
                "best-effort-http1 @ /robot_messages",
                "best-effort-udp @ /robot_messages",
                "reliable @ /robot_messages/reliable",
            ],
        ),
        (
            "payload=100;payload=4000;best-effort;reliable,depth=5,payload=4000",
            vec![
                "best-effort-100B @ /robot_messages",
                "best-effort-4000B @ /robot_messages/payload_4000",
                "best-effort @ /robot_messages/usual_payload",
                "reliable @ /robot_messages/reliable_depth_5_payload_4000",
            ],
        ),
        (
            "reliable,depth=3;reliable;reliable,topic=/a/b",
            vec![
                "reliable-depth3 @ /robot_messages",
                "reliable @ /robot_messages/depth_10",
                "reliable-a.b @ /a/b",
            ],
        ),
        (
            "name=a,best-effort;name=b,best-effort",
            vec!["a @ /robot_messages", "b @ /robot_messages"],
        ),
        ("topic=x;best-effort", vec!["best-effort-x @ /x", "best-effort @ /robot_messages"]),
    ] {
        assert_eq!(resolved(text), expected, "{text}");
    }
}

#[test]
fn two_lanes_of_one_name_are_refused() {
    for text in [
        "best-effort;best-effort",
        "reliable;reliable,depth=10",
        "name=reliable,best-effort;reliable",
        "name=a,reliable;name=a,best-effort",
    ] {
        let error = resolve(&specs(text), "/t").unwrap_err().to_string();
        assert!(error.contains("give one a name="), "{text}: {error}");
    }
    let many: Vec<LaneSpec> =
        (0..17).map(|i| LaneSpec { name: Some(format!("l{i}")), ..LaneSpec::default() }).collect();
    assert!(resolve(&many[..16], "/t").is_ok());
    for wrong in [&many[..], &[]] {
        let error = resolve(wrong, "/t").unwrap_err().to_string();
        assert!(error.contains("1 to 16 lanes"), "{error}");
    }
}

#[test]
fn robots_publish_each_topic_once_and_in_one_way() {
    let of = |text: &str| outlets(&resolve(&specs(text), "/t").unwrap());
    let topics =
        |text: &str| of(text).unwrap().into_iter().map(|outlet| outlet.topic).collect::<Vec<_>>();
    assert_eq!(topics("http1;udp;reliable,http1;reliable,udp"), ["/t", "/t/reliable"]);
    let outlet = &of("reliable,depth=5,payload=9,topic=a").unwrap()[0];
    assert_eq!(
        *outlet,
        Outlet { topic: "/a".to_owned(), qos: LaneQos::Reliable, depth: 5, payload_bytes: Some(9) }
    );
    for text in [
        "topic=/a;reliable,topic=/a",
        "topic=/a;topic=a,depth=2",
        "name=x,topic=/a;topic=/a,payload=1",
        // The second one's own topic is what a name below the first one's would be.
        "best-effort;name=y,topic=/t/reliable;reliable",
    ] {
        let error = of(text).unwrap_err().to_string();
        assert!(error.contains("in one way"), "{text}: {error}");
    }
}

#[test]
fn nobody_is_first_more_often_than_another() {
    assert_eq!(turn(0, 2).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(turn(1, 2).collect::<Vec<_>>(), [1, 0]);
    assert_eq!(turn(2, 2).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(turn(7, 1).collect::<Vec<_>>(), [0]);
    assert_eq!(turn(7, 0).count(), 0);
    for count in 2..6_usize {
        let mut before = vec![vec![0; count]; count];
        let mut at = vec![vec![0; count]; count];
        let turns = 2 * count as u64;
        for order in (0..turns).map(|index| turn(index, count).collect::<Vec<_>>()) {
            assert_eq!(order.iter().collect::<std::collections::BTreeSet<_>>().len(), count);
            for (place, lane) in order.iter().enumerate() {
                at[*lane][place] += 1;
                order[place + 1..].iter().for_each(|later| before[*lane][*later] += 1);
            }
        }
        for lane in 0..count {
            for other in 0..count {
                let half = if lane == other { 0 } else { count };
                assert_eq!(before[lane][other], half, "{count}: {lane} before {other}");
                // Of two, each place has each lane every second time.
                assert_eq!(at[lane][other], 2, "{count}: {lane} at {other}");
            }
        }
    }
}

proptest! {
    #[test]
    fn a_lane_reads_back_as_it_was_written(
        name in prop::option::of("[a-zA-Z0-9._-]{1,64}"),
        reliable in any::<bool>(),
        depth in prop::option::of(1..=DEEPEST),
        link in prop::option::of("[a-z0-9-]{1,12}"),
        topic in prop::option::of("(/[a-z_]{1,8}){1,3}"),
        payload_bytes in any::<Option<u32>>(),
    ) {
        let qos = if reliable { LaneQos::Reliable } else { LaneQos::BestEffort };
        let spec = LaneSpec { name, qos, depth, link, topic, payload_bytes };
        prop_assert_eq!(spec.to_string().parse(), Ok(spec.clone()));
        let twice = [spec.clone(), spec];
        prop_assert_eq!(LaneSpec::parse_all(&LaneSpec::join(&twice)), Ok(twice.to_vec()));
    }

    #[test]
    fn no_text_makes_it_panic(text in ".{0,60}") {
        if let Ok(specs) = LaneSpec::parse_all(&text) {
            let _ = resolve(&specs, "/t").map(|lanes| outlets(&lanes));
        }
    }

    /// Lanes that share a topic without saying so agree in what the robots do with it.
    #[test]
    fn topics_that_are_given_are_never_in_conflict(
        lanes in prop::collection::vec((any::<bool>(), 0u32..4, 0u32..4), 1..=16),
    ) {
        let specs: Vec<LaneSpec> = (0..).zip(lanes).map(|(number, (reliable, depth, payload))| {
            LaneSpec {
                name: Some(format!("lane{number}")),
                qos: if reliable { LaneQos::Reliable } else { LaneQos::BestEffort },
                depth: (depth > 0).then_some(if depth == 3 { 10 } else { depth }),
                payload_bytes: payload.checked_sub(1),
                ..LaneSpec::default()
            }
        }).collect();
        let lanes = resolve(&specs, "robot_messages").unwrap();
        prop_assert_eq!(&lanes[0].topic, "/robot_messages");
        prop_assert!(outlets(&lanes).is_ok(), "{:?}", lanes);
        for (a, lane) in lanes.iter().enumerate() {
            for (b, other) in lanes.iter().enumerate() {
                let same = condition_of(&specs[a]) == condition_of(&specs[b]);
                prop_assert_eq!(same, lane.topic == other.topic);
            }
        }
    }
}

fn condition_of(spec: &LaneSpec) -> (LaneQos, u32, Option<u32>) {
    (spec.qos, spec.depth.unwrap_or_else(|| spec.qos.depth()), spec.payload_bytes)
}
