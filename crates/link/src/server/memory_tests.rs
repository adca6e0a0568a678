use super::*;
use axum::http::StatusCode;
use bytes::Bytes;

const S: Ns = 1_000_000_000;

fn here() -> SocketAddr {
    "127.0.0.1:7".parse().unwrap()
}

fn head(number: u64, attempt: u32, age_ns: u64) -> RequestHead {
    RequestHead {
        id: RequestId { asker: 1, number },
        attempt,
        retries: true,
        age_ns,
        deadline_ns: 1,
        path: String::new(),
        trace: None,
        clock: None,
        authorization: None,
        media_type: String::new(),
    }
}

fn answered(bytes: usize) -> Answered {
    let body = Bytes::from(vec![b'x'; bytes]);
    Answered { status: StatusCode::OK, media_type: "application/json", body, stamps: None }
}

#[test]
fn a_request_is_executed_once_and_its_reply_given_again() {
    let mut memory = Memory::new(Bounds::default(), 0);
    assert!(matches!(memory.take(&head(1, 1, 0), here(), S), Verdict::Execute));
    assert!(matches!(memory.take(&head(1, 2, 5), here(), S), Verdict::Working(1)));
    assert!(matches!(memory.take(&head(1, 2, 5), here(), S), Verdict::Duplicate));
    memory.executed(&head(1, 1, 0), &answered(3));
    assert!(matches!(memory.take(&head(1, 1, 0), here(), S), Verdict::Duplicate));
    let Verdict::Answer(reply, 1) = memory.take(&head(1, 3, 9), here(), S) else { panic!() };
    assert_eq!(&reply.body[..], b"xxx");
    let elsewhere = "127.0.0.1:8".parse().unwrap();
    assert!(matches!(memory.take(&head(1, 4, 9), elsewhere, S), Verdict::Foreign));
    // The first attempt was lost.
    assert!(matches!(memory.take(&head(2, 2, 5), here(), S), Verdict::Execute));
    assert!(matches!(memory.take(&head(2, 3, 5), here(), S), Verdict::Working(2)));
    // And came late.
    assert!(matches!(memory.take(&head(2, 1, 0), here(), S), Verdict::Duplicate));
}

#[test]
fn who_does_not_ask_again_gets_nothing_again() {
    let mut memory = Memory::new(Bounds::default(), 0);
    let once = RequestHead { retries: false, ..head(1, 1, 0) };
    assert!(matches!(memory.take(&once, here(), S), Verdict::Execute));
    memory.executed(&once, &answered(1000));
    assert_eq!(memory.reply_bytes, 0);
    assert!(matches!(memory.take(&once, here(), S), Verdict::Duplicate));
    let more = RequestHead { attempt: 2, ..once };
    assert!(matches!(memory.take(&more, here(), S), Verdict::Duplicate));
}

#[test]
fn what_may_have_been_executed_before_memory_begins_is_not_executed() {
    let mut memory = Memory::new(Bounds::default(), 100 * S);
    let second = 1_000_000_000;
    assert!(matches!(memory.take(&head(1, 2, 2 * second), here(), 101 * S), Verdict::Unknown));
    assert!(matches!(memory.take(&head(1, 3, 2 * second), here(), 103 * S), Verdict::Execute));
    assert!(matches!(memory.take(&head(2, 1, 0), here(), 100 * S), Verdict::Execute));
}

/// Whatever is forgotten, for its age or for its number, is never executed again.
#[test]
fn the_forgotten_is_refused() {
    let bounds = Bounds { requests: 3, reply_bytes: 10, age: 60 * S };
    let mut memory = Memory::new(bounds, 0);
    for number in 1..=4 {
        let (head, now) = (head(number, 1, 0), Ns::try_from(number).unwrap() * S);
        assert!(matches!(memory.take(&head, here(), now), Verdict::Execute), "{number}");
        memory.executed(&head, &answered(6));
    }
    assert_eq!((memory.requests.len(), memory.reply_bytes), (3, 6));
    let seconds = |s: u64| s * 1_000_000_000;
    // Gone altogether; without its reply; with it.
    assert!(matches!(memory.take(&head(1, 2, seconds(4)), here(), 5 * S), Verdict::Unknown));
    assert!(matches!(memory.take(&head(3, 2, seconds(2)), here(), 5 * S), Verdict::Forgotten));
    assert!(matches!(memory.take(&head(4, 2, seconds(1)), here(), 5 * S), Verdict::Answer(..)));
    // Too old.
    assert!(matches!(memory.take(&head(4, 3, seconds(61)), here(), 65 * S), Verdict::Unknown));
    assert_eq!((memory.requests.len(), memory.reply_bytes, memory.replies.len()), (0, 0, 0));
}
