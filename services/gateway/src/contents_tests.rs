use super::*;
use crate::forms::ServerTime;
use crate::intake::tests::arrival;
use hopwatch_rosmsg::TypeName;

/// `builtin_interfaces/Time stamp`, `uint32 number`, `string text`, `uint8[] data`.
fn schema() -> Schema {
    let name = TypeName::new("demo_msgs", "Reading").unwrap();
    let text = |of: &TypeName| {
        Ok::<_, std::io::Error>(match of.name() {
            "Time" => "int32 sec\nuint32 nanosec\n".to_owned(),
            _ => "builtin_interfaces/Time stamp\nuint32 number\nstring text\nuint8[] data\n".into(),
        })
    };
    Schema::load(&name, text).unwrap()
}

fn cdr(sec: i32, number: u32, text: &str, data: &[u8]) -> Bytes {
    let mut cdr = vec![0, 1, 0, 0];
    cdr.extend(sec.to_le_bytes());
    cdr.extend(7_u32.to_le_bytes());
    cdr.extend(number.to_le_bytes());
    cdr.extend(u32::try_from(text.len() + 1).unwrap().to_le_bytes());
    cdr.extend(text.as_bytes());
    cdr.push(0);
    cdr.resize(cdr.len().next_multiple_of(4), 0);
    cdr.extend(u32::try_from(data.len()).unwrap().to_le_bytes());
    cdr.extend(data);
    Bytes::from(cdr)
}

fn contents(form: &TopicForm, ai: &AiForm, web: &WebForm) -> Result<Contents, String> {
    let schema = Own::needs_schema(form, ai, web).then(schema);
    let own = Own::new("/a/reading", "demo_msgs/msg/Reading", form, ai.base64(web), schema);
    own.and_then(|own| Contents::new(Some(own), ai, web)).map_err(|why| why.0)
}

fn fields() -> TopicForm {
    TopicForm {
        sequence: "number".to_owned(),
        stamp: "stamp".to_owned(),
        robot_field: "text".to_owned(),
        ..TopicForm::default()
    }
}

fn opened(contents: &Contents, bytes: Bytes) -> (Trace, Option<Opened>) {
    let arrival = Arrival { bytes, ..arrival(5) };
    contents.open(&arrival, "lane", &ClockId::new("c"))
}

const NOW: i32 = 1_790_000_000;

#[test]
fn a_message_of_ones_own_tells_its_fields_and_goes_on_as_json() {
    let contents = contents(&fields(), &AiForm::default(), &WebForm::default()).unwrap();
    let (trace, opened) = opened(&contents, cdr(NOW, 41, "arm", &[1, 2]));
    let opened = opened.unwrap();
    let json = br#"{"stamp":{"sec":1790000000,"nanosec":7},"number":41,"text":"arm","data":[1,2]}"#;
    assert_eq!((&opened.ai[..], &opened.message[..]), (&json[..], &json[..]));
    assert_eq!((trace.sequence, trace.robot_id.as_str()), (41, "arm"));
    let published = trace.stamps.get(Hop::Published).unwrap();
    assert_eq!(published.ns, i64::from(NOW) * 1_000_000_000 + 7);
}

#[test]
fn without_fields_the_publication_and_the_topic_tell() {
    let form = TopicForm::default();
    let contents = contents(&form, &AiForm::default(), &WebForm::default()).unwrap();
    let (trace, _) = opened(&contents, cdr(0, 41, "arm", &[]));
    assert_eq!((trace.sequence, trace.robot_id.as_str()), (5, "a/reading"));
    assert!(trace.stamps.get(Hop::Published).is_none() && trace.oddities.is_empty());
}

#[test]
fn cdr_goes_on_unchanged_and_the_web_service_gets_a_brief_word() {
    let ai = AiForm { body: AiBody::Cdr, ..AiForm::default() };
    let form = TopicForm { robot: "r7".to_owned(), ..TopicForm::default() };
    let contents = contents(&form, &ai, &WebForm::default()).unwrap();
    // No definition is asked for, so any bytes will do.
    let bytes = Bytes::from_static(b"\0\x01\0\0whatever");
    let (trace, opened) = opened(&contents, bytes.clone());
    let opened = opened.unwrap();
    assert_eq!(opened.ai, bytes);
    let brief: serde_json::Value = serde_json::from_slice(&opened.message).unwrap();
    let expected = json!({
        "topic": "/a/reading", "type": "demo_msgs/msg/Reading", "robot": "r7", "sequence": 5,
        "bytes": 12,
    });
    assert_eq!((brief, trace.robot_id.as_str()), (expected, "r7"));
}

#[test]
fn templates_make_bodies_of_message_and_answer() {
    let ai = AiForm {
        body: AiBody::Template,
        template: r#"{"prompt": {{ message.text }}, "image": {{ message.data }}}"#.to_owned(),
        ..AiForm::default()
    };
    let web = WebForm {
        body: WebBody::Template,
        template: r#"{"label": {{ ai.label }}, "number": {{ sequence }}}"#.to_owned(),
        ..WebForm::default()
    };
    let contents = contents(&fields(), &ai, &web).unwrap();
    let (trace, opened) = opened(&contents, cdr(NOW, 41, "a\"b", &[255, 216]));
    let opened = opened.unwrap();
    assert_eq!(&opened.ai[..], br#"{"prompt": "a\"b", "image": "/9g="}"#);
    let answer = RawValue::from_string(r#"{"label":"cat"}"#.to_owned()).unwrap();
    let body = contents.web_body(&trace, &opened.message, &answer).unwrap();
    assert_eq!(&body[..], br#"{"label": "cat", "number": 41}"#);
    let answer = RawValue::from_string(r#"{"lable":"cat"}"#.to_owned()).unwrap();
    let why = contents.web_body(&trace, &opened.message, &answer).unwrap_err();
    assert!(why.contains("web.template") && why.contains("undefined"), "{why}");
}

#[test]
fn what_is_no_such_message_is_undecodable_with_its_type() {
    let contents = contents(&fields(), &AiForm::default(), &WebForm::default()).unwrap();
    let whole = cdr(NOW, 41, "arm", &[1, 2]);
    for bytes in [Bytes::new(), whole.slice(..9), whole.slice(..whole.len() - 1)] {
        let (trace, opened) = opened(&contents, bytes);
        assert!(opened.is_none() && trace.outcome == Outcome::Undecodable);
        let why = trace.detail.unwrap();
        assert!(why.contains("no demo_msgs/msg/Reading"), "{why}");
    }
}

#[test]
fn a_stamp_that_is_no_time_of_ours_is_odd_and_no_stamp() {
    let contents = contents(&fields(), &AiForm::default(), &WebForm::default()).unwrap();
    let (trace, opened) = opened(&contents, cdr(12, 41, "arm", &[]));
    assert!(opened.is_some() && trace.stamps.get(Hop::Published).is_none());
    assert_eq!((trace.header_time, trace.oddities), (Some((12, 7)), vec![oddity::BAD_TIME]));
}

#[test]
fn fields_that_are_not_there_are_refused_with_those_that_are() {
    for (form, part) in [
        (TopicForm { sequence: "nummer".into(), ..fields() }, "sequence"),
        (TopicForm { stamp: "header.stamp".into(), ..fields() }, "stamp"),
    ] {
        let why = contents(&form, &AiForm::default(), &WebForm::default()).unwrap_err();
        assert!(
            why.contains("/a/reading") && why.contains(part) && why.contains("number"),
            "{why}"
        );
    }
}

#[test]
fn an_answer_that_is_no_json_goes_on_where_any_will_do() {
    let reply = Reply {
        body: Bytes::from_static(b"<html>"),
        media_type: "text/html".to_owned(),
        stamps: None,
        served_ns: None,
    };
    let any = AiForm { answer: Answer::Any, server_time: ServerTime::None, ..AiForm::default() };
    let any = contents(&fields(), &any, &WebForm::default()).unwrap();
    assert_eq!(any.answer(&reply).unwrap().get(), r#"{"bytes":6,"media_type":"text/html"}"#);
    let strict = contents(&fields(), &AiForm::default(), &WebForm::default()).unwrap();
    assert_eq!(strict.answer(&reply).unwrap_err().failure, Failure::BadReply);
}

#[test]
fn a_template_that_does_not_fit_is_no_fault_of_the_message() {
    let ai = AiForm {
        body: AiBody::Template,
        template: "{{ message.txt }}".into(),
        ..AiForm::default()
    };
    let contents = contents(&fields(), &ai, &WebForm::default()).unwrap();
    let (trace, opened) = opened(&contents, cdr(NOW, 41, "secret words", &[]));
    assert!(opened.is_none());
    assert_eq!(trace.outcome, Outcome::ServiceFailed(Stage::Ai, Failure::NotMade));
    let why = trace.detail.unwrap();
    assert!(why.contains("ai.template") && !why.contains("secret words"), "{why}");
}

#[test]
fn fields_that_hold_something_else_are_refused_at_the_start() {
    for (form, part) in [
        (TopicForm { sequence: "text".into(), ..TopicForm::default() }, "not a whole number"),
        (TopicForm { stamp: "text".into(), ..TopicForm::default() }, "builtin_interfaces/msg/Time"),
        (
            TopicForm { stamp: "number".into(), ..TopicForm::default() },
            "builtin_interfaces/msg/Time",
        ),
        (TopicForm { robot_field: "stamp".into(), ..TopicForm::default() }, "not a text"),
        (TopicForm { sequence: "data".into(), ..TopicForm::default() }, "not a whole number"),
    ] {
        let why = contents(&form, &AiForm::default(), &WebForm::default()).unwrap_err();
        assert!(why.contains(part), "{why}");
    }
}

#[test]
fn an_element_that_is_not_there_tells_nothing() {
    let form = TopicForm { sequence: "data[2]".into(), ..TopicForm::default() };
    let contents = contents(&form, &AiForm::default(), &WebForm::default()).unwrap();
    let sequence = |data: &[u8]| {
        let (trace, opened) = opened(&contents, cdr(NOW, 1, "", data));
        assert!(opened.is_some());
        trace.sequence
    };
    assert_eq!((sequence(&[7, 8, 9]), sequence(&[7])), (9, 5), "5 is the publication's number");
}

#[test]
fn an_empty_name_is_none_and_names_are_not_endless() {
    let contents = contents(&fields(), &AiForm::default(), &WebForm::default()).unwrap();
    let robot = |name: &str| opened(&contents, cdr(NOW, 1, name, &[])).0.robot_id;
    assert_eq!(robot(""), "a/reading");
    for number in 0..MOST_ROBOTS {
        assert_eq!(robot(&format!("r{number}")), format!("r{number}"));
    }
    assert_eq!((robot("one more").as_str(), robot("r7").as_str()), ("others", "r7"));
}

#[test]
fn messages_that_nothing_numbers_are_not_all_the_same() {
    let form = TopicForm::default();
    let contents = contents(&form, &AiForm::default(), &WebForm::default()).unwrap();
    let sequence = || {
        let bytes = cdr(NOW, 1, "", &[]);
        let arrival = Arrival { bytes, publication_sequence: None, ..arrival(5) };
        contents.identify(&arrival, "lane", &ClockId::new("c")).sequence
    };
    assert_eq!([sequence(), sequence(), sequence()], [1, 2, 3]);
}

#[test]
fn a_long_message_goes_to_the_web_service_in_brief_unless_it_is_asked_for() {
    let data = vec![200; LONGEST_WHOLE];
    let message = |body| {
        let web = WebForm { body, ..WebForm::default() };
        let contents = contents(&TopicForm::default(), &AiForm::default(), &web).unwrap();
        opened(&contents, cdr(NOW, 1, "", &data)).1.unwrap().message.len()
    };
    assert!(message(WebBody::Auto) < 200 && message(WebBody::Whole) > LONGEST_WHOLE);
}

#[test]
fn sequences_turn_as_robots_do() {
    assert_eq!(turn(0), 0);
    assert_eq!(turn(i128::from(i32::MAX)), i32::MAX);
    assert_eq!(turn(1 << 31), 0);
    assert_eq!(turn(-1), i32::MAX);
    assert_eq!(turn(i128::from(u64::MAX)), i32::MAX);
}
