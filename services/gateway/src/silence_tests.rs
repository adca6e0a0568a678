use super::*;
use hopwatch_tap::{Durability, Elsewhere, Liveliness, Period, Reliability};

const S: Ns = 1_000_000_000;
const TYPE: &str = "hopwatch_msgs/msg/RobotMessage";

fn fresh() -> Silence {
    let ours = Ours {
        topic: "/t".into(),
        topic_type: TYPE.into(),
        type_hash: Some([1; 32]),
        qos: Qos::RELIABLE,
        place: "ROS domain 7, discovery range LOCALHOST".into(),
    };
    Silence::new(ours, 5 * S, 0)
}

fn publisher(number: u8) -> EndpointInfo {
    EndpointInfo {
        node: Some(format!("/r{number}")),
        topic_type: TYPE.into(),
        type_hash: Some([1; 32]),
        id: PublisherId([number; 16]),
        reliability: Some(Reliability::Reliable),
        durability: Some(Durability::Volatile),
        deadline: Some(Period::Endless),
        liveliness: Some(Liveliness::Automatic),
        lease: Some(Period::Endless),
    }
}

fn picture(publishers: &[EndpointInfo], matched: usize) -> Picture {
    Picture { topic: "/t".into(), publishers: publishers.to_vec(), matched, elsewhere: vec![] }
}

/// A look without evidence.
fn look(silence: &mut Silence, at: Ns, picture: &Picture) -> Vec<(String, String)> {
    texts(silence.look(at, picture, &Flows::new(), |_| vec![]))
}

/// A look with what came.
fn hear(silence: &mut Silence, at: Ns, picture: &Picture, flows: &Flows) -> Vec<(String, String)> {
    texts(silence.look(at, picture, flows, |_| vec![]))
}

/// A robot's own count, by another writer of the same process.
fn census(silence: &mut Silence, number: u8, published: u64) {
    let mut writer = [number; 16];
    writer[12..].fill(0xff);
    let account = Account { published, pause_ns: S / 10, last: false };
    silence.census(PublisherId(writer), "i", account);
}

/// The last one.
fn last_census(silence: &mut Silence, number: u8, published: u64) {
    let account = Account { published, pause_ns: S / 10, last: true };
    silence.census(publisher(number).id, "i", account);
}

/// Messages of a publisher: the first one then, the others so far apart.
fn come(flows: &mut Flows, number: u8, first: Ns, apart: Ns, count: i64) {
    let flow = flows.entry(publisher(number).id).or_default();
    (0..count).for_each(|i| flow.note(first + i * apart));
}

fn texts(news: Vec<EventRecord>) -> Vec<(String, String)> {
    news.into_iter().map(|event| (event.event, event.text)).collect()
}

/// Exactly one event, of this kind, with these words.
#[track_caller]
fn one(news: &[(String, String)], kind: &str, words: &[&str]) {
    assert_eq!(news.iter().map(|(kind, _)| kind).collect::<Vec<_>>(), [kind], "{news:?}");
    for word in words {
        assert!(news[0].1.contains(word), "no {word:?} in {news:?}");
    }
}

#[test]
fn nobody_is_told_once_and_that_it_is_over() {
    let mut silence = fresh();
    assert!(!silence.is_due(5 * S - 1, &Flows::new()) && silence.is_due(5 * S, &Flows::new()));
    assert_eq!(look(&mut silence, 4 * S, &picture(&[], 0)), []);
    let told = look(&mut silence, 5 * S, &picture(&[], 0));
    let words = ["/t: nobody publishes hopwatch_msgs", "5.0 s", "ROS domain 7", "ROS_DOMAIN_ID"];
    one(&told, "no_publisher", &words);
    assert_eq!(look(&mut silence, 60 * S, &picture(&[], 0)), []);
    assert!(!silence.is_due(600 * S, &Flows::new()), "only a change of the graph is worth a look");
    let told = look(&mut silence, 70 * S, &picture(&[publisher(1)], 1));
    one(&told, "silence_over", &["publisher /r1 is there now, after 70.0 s"]);
    // One that was there and has left is no mystery.
    assert_eq!(silence.heard(71 * S, publisher(1).id), []);
    assert_eq!(look(&mut silence, 80 * S, &picture(&[], 0)), []);
    assert_eq!(look(&mut silence, 800 * S, &picture(&[], 0)), []);
}

#[test]
fn topics_that_could_be_meant_are_named() {
    let of = |topic: &str, of: &str| Elsewhere { topic: topic.into(), types: vec![of.into()] };
    let told = |elsewhere: Vec<Elsewhere>| {
        look(&mut fresh(), 6 * S, &Picture { elsewhere, ..picture(&[], 0) })
    };
    let both = told(vec![of("/ns/t", "p/msg/Q"), of("/other", TYPE)]);
    one(&both, "no_publisher", &["the same type is published on /other: choose it with --topic"]);
    let name = told(vec![of("/ns/t", "p/msg/Q")]);
    one(&name, "no_publisher", &["another type: /ns/t (p/msg/Q)"]);
    let many = told((0..9).map(|n| of(&format!("/x{n}"), TYPE)).collect());
    one(&many, "no_publisher", &["/x4 and 4 more"]);
    // Discovered only when nobody was told of already: told once more, and no more than that.
    let mut late = fresh();
    let there = || Picture { elsewhere: vec![of("/other", TYPE)], ..picture(&[], 0) };
    one(&look(&mut late, 6 * S, &picture(&[], 0)), "no_publisher", &["no topic like it"]);
    one(&look(&mut late, 7 * S, &there()), "no_publisher", &["/other: choose it"]);
    assert_eq!(look(&mut late, 8 * S, &there()), []);
    assert_eq!(look(&mut late, 9 * S, &picture(&[], 0)), []);
}

#[test]
fn settings_that_do_not_fit_are_told_once_by_event_or_graph() {
    let weak =
        |number| EndpointInfo { reliability: Some(Reliability::BestEffort), ..publisher(number) };
    let mut silence = fresh();
    let told = texts(silence.unfit(S, &[weak(1), publisher(2)], "advice"));
    let words = ["/r1 offers BEST_EFFORT VOLATILE", "asks for RELIABLE", "--qos best-effort"];
    one(&told, "incompatible_qos", &words);
    // The graph shows the same publisher, and one that no event told of.
    let here = picture(&[weak(1), publisher(2), weak(3)], 1);
    one(&look(&mut silence, 2 * S, &here), "incompatible_qos", &["/r3 offers"]);
    assert_eq!(texts(silence.unfit(3 * S, &[weak(1)], "advice")), []);
    let told = look(&mut silence, 3 * S, &picture(&[publisher(2), weak(3)], 1));
    one(&told, "silence_over", &["/r1, which did not fit, is gone"]);
    // A setting that the graph doesn't show.
    one(&texts(silence.unfit(4 * S, &[publisher(2)], "advice")), "incompatible_qos", &["advice"]);
}

#[test]
fn a_name_is_waited_for_a_second() {
    let nameless =
        EndpointInfo { node: None, topic_type: "std_msgs/msg/String".into(), ..publisher(1) };
    let mut silence = fresh();
    assert_eq!(look(&mut silence, S, &picture(std::slice::from_ref(&nameless), 0)), []);
    assert!(silence.is_due(2 * S, &Flows::new()));
    let named = EndpointInfo { node: Some("/r1".into()), ..nameless.clone() };
    let words = ["publisher /r1 publishes std_msgs/msg/String", "takes hopwatch_msgs", "--topic"];
    one(&look(&mut silence, S + 1, &picture(&[named], 0)), "incompatible_type", &words);
    let mut silence = fresh();
    assert_eq!(look(&mut silence, S, &picture(std::slice::from_ref(&nameless), 0)), []);
    let told = look(&mut silence, 2 * S, &picture(&[nameless], 0));
    one(&told, "incompatible_type", &["of an unknown node"]);
}

#[test]
fn another_definition_of_the_type_is_told() {
    let other = EndpointInfo { type_hash: Some([0xab; 32]), ..publisher(1) };
    let mut silence = fresh();
    let here = picture(&[other], 1);
    let words = ["/r1 has another definition", "abababab instead of 01010101"];
    one(&look(&mut silence, S, &here), "incompatible_type", &words);
    assert_eq!(look(&mut silence, 2 * S, &here), []);
    // A middleware that tells no hash says nothing.
    let untold = EndpointInfo { type_hash: None, ..publisher(2) };
    assert_eq!(look(&mut fresh(), S, &picture(&[untold], 1)), []);
}

#[test]
fn matched_without_messages_is_told_with_the_evidence_and_that_it_is_over() {
    let mut silence = fresh();
    let here = picture(&[publisher(1)], 1);
    assert_eq!(look(&mut silence, S, &here), []);
    assert_eq!(look(&mut silence, 6 * S - 1, &here), []);
    assert!(silence.is_due(6 * S, &Flows::new()));
    let found = vec!["/dev/shm has only 5 bytes free".to_owned()];
    let told = texts(silence.look(6 * S, &here, &Flows::new(), |late| {
        assert_eq!(late.len(), 1);
        found
    }));
    let words = [
        "nothing came within 5.0 s: publisher /r1. Seen from here: /dev/shm has only 5 bytes free.",
        "--ipc=host",
        "FASTDDS_BUILTIN_TRANSPORTS=UDPv4",
        "df /dev/shm",
        "firewall",
        "it publishes nothing",
    ];
    one(&told, "matched_no_samples", &words);
    assert!(told[0].1.find("--ipc=host") < told[0].1.find("it publishes nothing"));
    assert_eq!(look(&mut silence, 60 * S, &here), []);
    assert!(!silence.is_due(600 * S, &Flows::new()));
    let told = texts(silence.heard(9 * S + S / 2, publisher(1).id));
    one(&told, "silence_over", &["messages of publisher /r1 come now, 8.5 s after"]);
    assert_eq!(look(&mut silence, 90 * S, &here), []);
}

#[test]
fn one_mute_publisher_among_others_is_told() {
    let mut silence = fresh();
    let here = picture(&[publisher(1), publisher(2)], 2);
    assert_eq!(look(&mut silence, S, &here), []);
    assert_eq!(texts(silence.heard(2 * S, publisher(1).id)), []);
    let told = look(&mut silence, 7 * S, &here);
    one(&told, "matched_no_samples", &[": publisher /r2."]);
    let told = look(&mut silence, 8 * S, &picture(&[publisher(1)], 1));
    one(&told, "silence_over", &["/r2, of which nothing ever came, is gone"]);
}

#[test]
fn a_publisher_without_a_name_is_evidence_by_itself() {
    let nameless = EndpointInfo { node: None, ..publisher(1) };
    let mut silence = fresh();
    let here = picture(&[nameless], 1);
    assert_eq!(look(&mut silence, 0, &here), []);
    one(&look(&mut silence, 5 * S, &here), "matched_no_samples", &[words::NAMELESS]);
}

#[test]
fn a_census_excuses_or_accuses() {
    let mut silence = fresh();
    let here = picture(&[publisher(1)], 1);
    census(&mut silence, 1, 0);
    assert_eq!(look(&mut silence, S, &here), []);
    assert_eq!(look(&mut silence, 30 * S, &here), [], "by its own account it published nothing");
    assert!(silence.is_due(31 * S, &Flows::new()), "it has to be looked at again");
    census(&mut silence, 1, 12);
    let told = look(&mut silence, 31 * S, &here);
    one(&told, "matched_no_samples", &["though the robots published 12"]);
    assert!(!told[0].1.contains("it publishes nothing"), "{told:?}");
}

#[test]
fn a_census_excuses_nobody_else() {
    let mut silence = fresh();
    let mut flows = Flows::new();
    let here = picture(&[publisher(1), publisher(2)], 2);
    assert_eq!(look(&mut silence, 0, &here), []);
    assert_eq!(texts(silence.heard(S, publisher(1).id)), []);
    census(&mut silence, 1, 50);
    come(&mut flows, 1, S, S / 10, 50);
    let told = hear(&mut silence, 6 * S, &here, &flows);
    one(&told, "matched_no_samples", &[": publisher /r2.", "it publishes nothing"]);
    // Nor do messages of others pay for what is missing of one.
    let mut silence = fresh();
    assert_eq!(look(&mut silence, 0, &here), []);
    assert_eq!(texts(silence.heard(S, publisher(1).id)), []);
    census(&mut silence, 2, 12);
    let told = hear(&mut silence, 6 * S, &here, &flows);
    one(&told, "matched_no_samples", &[": publisher /r2.", "though the robots published 12"]);
}

#[test]
fn one_that_goes_silent_is_told_and_when_it_comes_again() {
    let mut silence = fresh();
    let mut flows = Flows::new();
    let here = picture(&[publisher(1)], 1);
    assert_eq!(look(&mut silence, 0, &here), []);
    assert_eq!(texts(silence.heard(S, publisher(1).id)), []);
    come(&mut flows, 1, S, S / 10, 11);
    assert_eq!(hear(&mut silence, 5 * S, &here, &flows), []);
    assert!(!silence.is_due(7 * S - 1, &flows) && silence.is_due(7 * S, &flows));
    let told = hear(&mut silence, 7 * S, &here, &flows);
    one(&told, "went_silent", &["publisher /r1 is still", "for 5.0 s, after 11 messages."]);
    assert!(!silence.is_due(60 * S, &flows));
    assert_eq!(hear(&mut silence, 60 * S, &here, &flows), []);
    come(&mut flows, 1, 61 * S, S, 1);
    assert!(silence.is_due(61 * S, &flows));
    let told = hear(&mut silence, 61 * S, &here, &flows);
    one(&told, "silence_over", &["publisher /r1 come again, after 59.0 s"]);
    assert!(!silence.is_due(62 * S, &flows));
}

#[test]
fn one_that_went_silent_and_leaves_is_told() {
    let mut silence = fresh();
    let mut flows = Flows::new();
    let here = picture(&[publisher(1)], 1);
    assert_eq!(look(&mut silence, 0, &here), []);
    come(&mut flows, 1, S, S / 10, 11);
    assert_eq!(texts(silence.heard(S, publisher(1).id)), []);
    one(&hear(&mut silence, 7 * S, &here, &flows), "went_silent", &[]);
    let told = hear(&mut silence, 8 * S, &picture(&[], 0), &flows);
    one(&told, "silence_over", &["/r1, which went silent, is gone"]);
}

#[test]
fn a_slow_one_is_not_silent_and_one_that_said_that_it_is_over_neither() {
    let mut silence = fresh();
    let mut flows = Flows::new();
    let here = picture(&[publisher(1), publisher(2), publisher(3)], 3);
    assert_eq!(look(&mut silence, 0, &here), []);
    for number in 1..=3 {
        assert_eq!(texts(silence.heard(S, publisher(number).id)), []);
    }
    // Every ten seconds, in pairs.
    come(&mut flows, 1, 0, 0, 2);
    come(&mut flows, 1, 10 * S, 0, 2);
    // One message, of which nobody says how soon another follows.
    come(&mut flows, 2, 10 * S, 0, 1);
    come(&mut flows, 3, 10 * S, S / 10, 1);
    last_census(&mut silence, 3, 1);
    assert_eq!(hear(&mut silence, 39 * S, &here, &flows), []);
    assert!(!silence.is_due(40 * S - 1, &flows));
    one(&hear(&mut silence, 40 * S, &here, &flows), "went_silent", &["/r1"]);
    assert!(!silence.is_due(70 * S - 1, &flows));
    one(&hear(&mut silence, 70 * S, &here, &flows), "went_silent", &["/r2", "after 1 messages"]);
    assert_eq!(hear(&mut silence, 700 * S, &here, &flows), []);
}

#[test]
fn what_fits_and_is_never_matched_is_told_and_that_it_is_over() {
    let mut silence = fresh();
    let unmatched = picture(&[publisher(1)], 0);
    assert_eq!(look(&mut silence, 0, &unmatched), []);
    let told = look(&mut silence, 5 * S, &unmatched);
    one(&told, "not_matched", &["1 of them not matched: publisher /r1", "partitions", "7400"]);
    assert_eq!(look(&mut silence, 6 * S, &unmatched), []);
    let matched = picture(&[publisher(1)], 1);
    one(&look(&mut silence, 7 * S, &matched), "silence_over", &["/r1 is matched now"]);
    // From then on its messages are waited for.
    assert_eq!(look(&mut silence, 11 * S, &matched), []);
    one(&look(&mut silence, 12 * S, &matched), "matched_no_samples", &["/r1"]);
}

#[test]
fn near_the_end_less_is_waited() {
    let mut silence = fresh();
    silence.hurry();
    assert_eq!(look(&mut silence, S - 1, &picture(&[], 0)), []);
    one(&look(&mut silence, S, &picture(&[], 0)), "no_publisher", &["within 1.0 s"]);
}

#[test]
fn publishers_that_come_and_go_for_ever_do_not_flood() {
    let mut silence = fresh();
    let mut told = Vec::new();
    for number in 0..200 {
        let other = EndpointInfo { topic_type: "p/msg/Q".into(), ..publisher(number) };
        told.extend(look(&mut silence, Ns::from(number) * S, &picture(&[other], 0)));
    }
    let of = |kind: &str| told.iter().filter(|(of, _)| of == kind).count();
    let most = MOST_OF_A_KIND;
    assert_eq!((of("incompatible_type"), of("silence_over"), told.len()), (most, most, 2 * most));
    assert!(told.iter().any(|(_, text)| text.contains("further events of this kind")));
    assert!(silence.known.len() <= 1);
}
