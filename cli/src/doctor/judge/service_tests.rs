use super::*;
use crate::doctor::finding::Severity;
use crate::doctor::judge::tests::{one, severity};
use std::time::Duration;

fn exchange() -> Exchange {
    Exchange {
        status: 200,
        took_ns: 10 * MS,
        body_ns: 10_000,
        acknowledged: false,
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

/// `late` of ten replies with a late body, and then others whose head was acknowledged at once.
fn apart(late: usize, acknowledged: &[i64]) -> Service {
    let of = |body_ms, acknowledged| Exchange {
        took_ns: (body_ms + 10) * MS,
        body_ns: body_ms * MS,
        acknowledged,
        ..exchange()
    };
    let plain = (0..10).map(|at| of(if at < late { 44 } else { 0 }, false));
    let tried = acknowledged.iter().map(|body_ms| of(*body_ms, true));
    Service { exchanges: plain.chain(tried).collect(), ..service(&exchange()) }
}

#[test]
fn bodies_that_an_acknowledgement_sets_free_are_nagle() {
    let all = found(&apart(10, &[0; 10]));
    assert_eq!(severity(&all, "nagle"), Severity::Problem);
    // As long as the gateway would wait for them.
    assert!(
        one(&all, "reached").what.ends_with("20 requests (POST): median 54.0 ms, slowest 54.0 ms")
    );
    let finding = one(&all, "nagle");
    assert!(
        finding.what.starts_with("head and body came 38 to 50 ms apart in 10 of 10"),
        "{all:?}"
    );
    assert!(finding.what.ends_with("none of 10 whose head was acknowledged at once"), "{all:?}");
    assert!(finding.todo.contains("TCP_NODELAY"));
    assert_eq!(severity(&found(&apart(3, &[0; 10])), "nagle"), Severity::Problem);
    let far = Service { connect_ns: Some(41 * MS), ..apart(3, &[0; 10]) };
    assert_eq!(severity(&found(&far), "nagle"), Severity::Unknown);
}

#[test]
fn bodies_that_stay_late_are_streamed() {
    // Of a busy machine, some later than that.
    let all = found(&apart(10, &[42, 44, 60]));
    assert_eq!(severity(&all, "nagle"), Severity::Note);
    assert!(one(&all, "nagle").why.contains("streamed"));
}

#[test]
fn late_bodies_that_cannot_be_told_apart_are_no_problem() {
    // Nothing was tried, too little, or it tells no one thing: a model whose time varies.
    for (late, acknowledged) in
        [(10, &[][..]), (10, &[0, 0]), (3, &[0; 5]), (5, &[0, 0, 0, 44, 0, 0, 0])]
    {
        let all = found(&apart(late, acknowledged));
        assert_eq!(severity(&all, "nagle"), Severity::Warning, "{late} {acknowledged:?}");
        let finding = one(&all, "nagle");
        assert!(finding.why.contains("delayed ACK with Nagle, or a reply that is streamed"));
        assert!(finding.todo.contains("TCP_NODELAY"));
    }
    // Two are a chance.
    assert_eq!(severity(&found(&apart(2, &[])), "nagle"), Severity::Ok);
}

#[test]
fn whole_replies_that_are_late_may_be_the_models() {
    let mut late = service(&exchange());
    for exchange in late.exchanges.iter_mut().skip(5) {
        exchange.took_ns = 54 * MS;
    }
    assert_eq!(severity(&found(&late), "nagle"), Severity::Warning);
    late.exchanges.truncate(7);
    assert_eq!(severity(&found(&late), "nagle"), Severity::Ok);
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
