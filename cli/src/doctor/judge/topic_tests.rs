use super::*;
use crate::doctor::finding::Severity;
use crate::doctor::judge::tests::{one, severity};
use crate::doctor::look::memory::{Life, Object};

fn publisher(name: &str, topic_type: &str) -> LookPublisher {
    LookPublisher {
        name: format!("publisher /{name}"),
        topic_type: topic_type.to_owned(),
        offer: "RELIABLE VOLATILE".to_owned(),
        messages: 5,
        bytes: 16,
        ..LookPublisher::default()
    }
}

fn topic(publishers: Vec<LookPublisher>) -> LookedAt {
    LookedAt {
        name: "/t".to_owned(),
        topic_type: Some("a/msg/A".to_owned()),
        asked: Some("RELIABLE VOLATILE KEEP_LAST 10".to_owned()),
        matched: publishers.len(),
        publishers,
        waited_ms: 3_040,
        ..LookedAt::default()
    }
}

/// Of a host on which a participant of root's lives, as user 1000 sees it.
fn memory() -> Memory {
    let of_root = Object {
        name: "fastrtps_port7411".to_owned(),
        files: Vec::new(),
        bytes: 0,
        users: vec![0],
        usable: false,
        life: Life::Held,
    };
    Memory { own_user: 1000, objects: vec![of_root], ..Memory::default() }
}

fn found(topic: LookedAt, others: &[(&str, &str)]) -> Vec<Finding> {
    let other = |(name, of): &(&str, &str)| LookTopic {
        name: (*name).to_owned(),
        types: vec![(*of).to_owned()],
    };
    let topics = others.iter().map(other).collect();
    let look = Look { topics, topic: Some(topic), ..Look::default() };
    judge(Some("/t"), &Looked::Seen(Box::new(look)), &memory())
}

#[test]
fn what_arrives_is_fine() {
    let all = found(topic(vec![publisher("a", "a/msg/A")]), &[]);
    assert_eq!(all.len(), 1);
    assert_eq!(
        one(&all, "messages_arrive").what,
        "/t: 5 messages of publisher /a in 3.0 s (a/msg/A, 16 bytes; it offers RELIABLE VOLATILE)"
    );
    assert_eq!(severity(&all, "messages_arrive"), Severity::Ok);
}

#[test]
fn nobody_is_told_with_what_may_be_meant() {
    let todo = |others: &[(&str, &str)]| {
        let all = found(topic(Vec::new()), others);
        assert_eq!(severity(&all, "no_publisher"), Severity::Problem);
        one(&all, "no_publisher").todo.clone()
    };
    assert!(todo(&[("/rosout", "x/msg/X")]).contains("ROS_DOMAIN_ID"));
    assert!(todo(&[("/b", "b/msg/B")]).starts_with("published in this domain: /b (b/msg/B)"));
    assert!(todo(&[("/robot/t", "b/msg/B")]).starts_with("this may be meant: /robot/t"));
    assert!(todo(&[("/b", "a/msg/A")]).starts_with("this may be meant: /b"));
}

#[test]
fn two_types_are_a_problem_and_told_once() {
    let all = found(topic(vec![publisher("a", "a/msg/A"), publisher("b", "b/msg/B")]), &[]);
    let two = one(&all, "two_types");
    assert!(two.what.contains("a/msg/A by publisher /a; b/msg/B by publisher /b"), "{two:?}");
    assert_eq!(severity(&all, "two_types"), Severity::Problem);
    assert_eq!(severity(&all, "messages_arrive"), Severity::Ok);
    assert_eq!(all.len(), 2);
}

#[test]
fn another_type_and_one_without_support_are_told() {
    let all = found(topic(vec![publisher("b", "b/msg/B")]), &[]);
    assert_eq!(severity(&all, "other_type"), Severity::Problem);
    assert!(one(&all, "other_type").what.contains("publishes b/msg/B, not a/msg/A"));
    let mut missing = topic(vec![publisher("a", "my_msgs/msg/A")]);
    missing.topic_type = Some("my_msgs/msg/A".to_owned());
    missing.no_type_support = Some("no type support for \"my_msgs/msg/A\"".to_owned());
    let all = found(missing, &[]);
    assert_eq!(all.len(), 1);
    assert!(one(&all, "no_type_support").todo.contains("ros-<distro>-my-msgs"));
}

#[test]
fn what_does_not_fit_is_told_with_both_sides_and_the_fix() {
    let mut unfit = publisher("a", "a/msg/A");
    (unfit.messages, unfit.offer) = (0, "BEST_EFFORT VOLATILE".to_owned());
    unfit.misfits = vec!["subscribe with best effort".to_owned()];
    let all = found(topic(vec![unfit]), &[]);
    assert_eq!(all.len(), 1);
    let said = one(&all, "incompatible_qos");
    assert_eq!(said.severity, Severity::Problem);
    assert!(said.what.contains("offers BEST_EFFORT VOLATILE, the subscription asks for RELIABLE"));
    assert_eq!(said.todo, "subscribe with best effort");
    let other = LookPublisher { other_definition: true, ..publisher("a", "a/msg/A") };
    let all = found(topic(vec![other]), &[]);
    assert_eq!(severity(&all, "other_definition"), Severity::Warning);
}

#[test]
fn silence_is_told_with_its_evidence() {
    let mute = || LookPublisher { messages: 0, ..publisher("a", "a/msg/A") };
    let mut unmatched = topic(vec![mute()]);
    unmatched.matched = 0;
    assert_eq!(severity(&found(unmatched, &[]), "not_matched"), Severity::Problem);

    let all = found(topic(vec![mute()]), &[]);
    assert_eq!(severity(&all, "matched_no_samples"), Severity::Warning);
    assert!(one(&all, "matched_no_samples").why.contains("publishes nothing"));

    for clause in [
        "the publisher's process 7 runs as user 0, this one as user 1000",
        "16 of Fast DDS' files in /dev/shm belong to user 0 and can't be opened by user 1000",
        "the publisher's process 7 has another /dev/shm than this one",
        "/dev/shm has only 9 bytes free",
    ] {
        let mut of_another = topic(vec![mute()]);
        of_another.evidence = vec![clause.to_owned()];
        let all = found(of_another, &[]);
        let said = one(&all, "matched_no_samples");
        assert_eq!(said.severity, Severity::Problem, "{clause}");
        assert!(said.why.contains(clause), "{said:?}");
        for word in [
            "gateway as user 0",
            "robot as user 1000",
            "FASTDDS_BUILTIN_TRANSPORTS=UDPv4",
            "--ipc=host",
        ] {
            assert!(said.todo.contains(word), "{said:?}");
        }
    }
    let mut elsewhere = topic(vec![mute()]);
    elsewhere.evidence = vec!["the publisher's process 7 is in another network namespace".into()];
    let all = found(elsewhere, &[]);
    assert!(one(&all, "matched_no_samples").why.contains("another network namespace"));
}

#[test]
fn without_a_topic_those_that_there_are_are_listed() {
    let of = |topics: &[&str]| {
        let topic = |name: &&str| LookTopic { name: (*name).into(), types: vec!["x".into()] };
        let look = Look { topics: topics.iter().map(topic).collect(), ..Look::default() };
        judge(None, &Looked::Seen(Box::new(look)), &memory())
    };
    assert!(one(&of(&["/rosout"]), "topics").what.contains("nobody publishes"));
    let names: Vec<String> = (0..10).map(|n| format!("/t{n}")).collect();
    let many = of(&names.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(one(&many, "topics").what.ends_with("/t7 (x) and 2 more"), "{many:?}");
}

#[test]
fn what_could_not_be_looked_at_is_said() {
    for looked in [Looked::NotBuilt, Looked::Failed("no".into())] {
        assert_eq!(severity(&judge(Some("/t"), &looked, &memory()), "topic"), Severity::Unknown);
    }
    let look = Look { failure: Some("bad name".into()), ..Look::default() };
    let all = judge(Some("/t"), &Looked::Seen(Box::new(look)), &memory());
    assert!(one(&all, "topic").what.contains("bad name"));
    assert_eq!(severity(&all, "topic"), Severity::Problem);
}
