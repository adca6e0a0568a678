use super::*;
use crate::doctor::finding::Severity;
use crate::doctor::judge::tests::{one, severity};
use std::time::Duration;

fn exchange() -> Exchange {
    Exchange {
        status: 200,
        took_ns: 10 * MS,
        body_ns: 10_000,
        is_json: true,
        content_type: "application/json".to_owned(),
        told: Told::Duration(9 * MS),
    }
}

fn service(exchange: &Exchange) -> Service {
    Service {
        url: "http://127.0.0.1:9/x".to_owned(),
        method: "POST".to_owned(),
        connect_ns: Some(100_000),
        connections: 1,
        exchanges: vec![exchange.clone(); 20],
        kept: Duration::from_secs(4),
        idle: Some(Idle::Stayed),
        ..Service::default()
    }
}

fn found(service: &Service) -> Vec<Finding> {
    judge(Some(service), None)
}

#[test]
fn a_good_service_is_fine() {
    let all = found(&service(&exchange()));
    assert!(all.iter().all(|of| of.severity == Severity::Ok), "{all:?}");
    assert_eq!(all.len(), 6);
    assert!(
        one(&all, "reached").what.ends_with("20 requests (POST): median 10.0 ms, slowest 10.0 ms")
    );
}

#[test]
fn one_that_was_not_asked_or_does_not_answer_is_told() {
    let all = judge(None, Some("http://a/b"));
    assert_eq!(severity(&all, "reached"), Severity::Unknown);
    assert!(judge(None, None).is_empty());
    let failure = Some("failed to connect".to_owned());
    let all =
        found(&Service { failure: failure.clone(), exchanges: Vec::new(), ..service(&exchange()) });
    assert_eq!((all.len(), severity(&all, "reached")), (1, Severity::Problem));
    let all = found(&Service { failure, ..service(&exchange()) });
    assert!(one(&all, "reached").what.contains("after 20 whole replies"));
}

#[test]
fn replies_that_the_gateway_would_not_take_are_told() {
    for (status, word) in [(422, "refused"), (503, "refused"), (500, "failed"), (301, "failed")] {
        let all = found(&service(&Exchange { status, ..exchange() }));
        assert_eq!(severity(&all, "replies"), Severity::Problem);
        assert!(one(&all, "replies").why.contains(word), "{status}");
    }
    let other = service(&Exchange { is_json: false, ..exchange() });
    let all = found(&other);
    assert_eq!(severity(&all, "replies"), Severity::Problem);
    assert!(one(&all, "replies").what.contains("no JSON (application/json)"));
    let all = found(&Service { takes_any: true, ..other });
    assert_eq!(severity(&all, "replies"), Severity::Ok);
    assert!(one(&all, "replies").what.contains("answer = \"any\""));
}

#[test]
fn what_is_asked_by_tls_is_not_known() {
    let url = "https://a/b".to_owned();
    let all = found(&Service { url, is_secure: true, ..Service::default() });
    assert_eq!((all.len(), severity(&all, "reached")), (1, Severity::Unknown));
    let finding = one(&all, "reached");
    assert!(finding.what.contains("https://a/b") && finding.todo.contains("hopwatch run"));
}

#[test]
fn forty_milliseconds_are_nagle() {
    let apart = service(&Exchange { took_ns: 54 * MS, body_ns: 44 * MS, ..exchange() });
    let all = found(&apart);
    assert_eq!(severity(&all, "nagle"), Severity::Problem);
    assert!(one(&all, "nagle").todo.contains("TCP_NODELAY"));
    // The whole reply is late, and the fastest was not: a model might do that.
    let mut late = service(&exchange());
    for exchange in late.exchanges.iter_mut().skip(5) {
        exchange.took_ns = 54 * MS;
    }
    assert_eq!(severity(&found(&late), "nagle"), Severity::Warning);
    // Two are a chance.
    late.exchanges.truncate(7);
    assert_eq!(severity(&found(&late), "nagle"), Severity::Ok);
    let far = Service { connect_ns: Some(41 * MS), ..apart };
    assert_eq!(severity(&found(&far), "nagle"), Severity::Unknown);
}

#[test]
fn connections_that_do_not_last_are_told() {
    let all = found(&Service { connections: 20, idle: None, ..service(&exchange()) });
    assert_eq!(severity(&all, "keep_alive"), Severity::Warning);
    assert!(!all.iter().any(|of| of.name == "idle"));
    let idle = Some(Idle::Closed(Duration::from_millis(2_030)));
    let all = found(&Service { idle, ..service(&exchange()) });
    assert_eq!(severity(&all, "idle"), Severity::Warning);
    assert!(one(&all, "idle").what.ends_with("after 2.0 s"));
    let idle = Some(Idle::Closed(Duration::from_millis(4_200)));
    let all = found(&Service { idle, ..service(&exchange()) });
    assert_eq!(severity(&all, "idle"), Severity::Ok);
}

#[test]
fn without_its_own_time_ai_includes_transport() {
    let of = |told| found(&service(&Exchange { told, ..exchange() }));
    assert_eq!(severity(&of(Told::Stamps), "split"), Severity::Ok);
    assert_eq!(severity(&of(Told::Duration(MS)), "split"), Severity::Ok);
    for (told, word) in [(Told::Nothing, "says nothing"), (Told::NoDuration, "no duration")] {
        let all = of(told);
        assert_eq!(severity(&all, "split"), Severity::Note);
        assert!(one(&all, "split").what.contains(word));
        assert!(one(&all, "split").todo.contains("Server-Timing"));
    }
    let all = of(Told::Duration(9_000 * MS));
    assert_eq!(severity(&all, "split"), Severity::Problem);
    let mut some = service(&exchange());
    some.exchanges[3].told = Told::Nothing;
    assert!(one(&found(&some), "split").what.contains("only some"));
}
