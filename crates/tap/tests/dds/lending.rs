//! Messages in the middleware's own memory, and subscriptions without a thread.

use super::{PATIENCE, loopback_only};
use hopwatch_tap::{
    Inbox, InboxConfig, Qos, Subscription, TapError, TypeSupport, Writer, WriterConfig,
};
use r2r::hopwatch_lab_msgs::msg::{FixedFrame, FooSplit};
use std::time::{Duration, Instant};

fn writer(domain: usize, of: TypeSupport) -> Writer {
    loopback_only();
    Writer::new(&WriterConfig {
        node_name: "lender".into(),
        namespace: String::new(),
        domain_id: Some(domain),
        topic: "/lent".into(),
        type_support: of,
        qos: Qos { depth: 2, ..Qos::RELIABLE },
    })
    .unwrap()
}

fn inbox(domain: usize, of: TypeSupport) -> Inbox {
    loopback_only();
    let qos = Qos { depth: 2, ..Qos::RELIABLE };
    Inbox::new(&InboxConfig {
        node_name: "taker".into(),
        namespace: String::new(),
        domain_id: Some(domain),
        subscription: Subscription { topic: "/lent".into(), type_support: of, qos },
    })
    .unwrap()
}

#[test]
fn a_message_of_fixed_size_is_borrowed_filled_and_published() {
    let of = TypeSupport::of::<FixedFrame>();
    let mut inbox = inbox(74, of.clone());
    let writer = writer(74, of);
    assert!(writer.can_lend());
    // rcl lends to no subscription unless it is told to.
    assert!(!inbox.can_lend());
    let refused = inbox.take_lent::<FixedFrame>().unwrap_err();
    assert!(matches!(refused, TapError::NoLoan { .. }), "{refused}");
    let deadline = Instant::now() + PATIENCE;
    while writer.matched().unwrap() == 0 || inbox.matched().unwrap() == 0 {
        assert!(Instant::now() < deadline, "no match within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
    // One that is not published is given back; as many as there are can be had after it.
    for _ in 0..5 {
        drop(writer.borrow::<FixedFrame>().unwrap());
    }
    let mut loan = writer.borrow::<FixedFrame>().unwrap();
    let bytes = loan.bytes();
    assert_eq!(bytes.len(), 16 + 6_220_800);
    bytes.fill(7);
    bytes[16..24].copy_from_slice(b"hopwatch");
    loan.publish().unwrap();
    assert!(writer.wait_for_acknowledgements(PATIENCE).unwrap());
    let taken = loop {
        assert!(Instant::now() < deadline, "nothing came within {PATIENCE:?}");
        inbox.wait(deadline).unwrap();
        if let Some(taken) = inbox.take().unwrap() {
            break taken;
        }
    };
    // As CDR: the encapsulation, then what was written.
    assert_eq!(&taken.bytes[20..28], b"hopwatch");
    assert!(taken.bytes[28..4 + 16 + 6_220_800].iter().all(|byte| *byte == 7));
    // Nothing more is there, and a wait ends when it is to.
    assert!(inbox.take().unwrap().is_none());
    let began = Instant::now();
    while inbox.wait(began + Duration::from_millis(50)).unwrap() {}
    assert!(began.elapsed() >= Duration::from_millis(50));
}

#[test]
fn what_cant_be_lent_is_refused_in_words() {
    let of = TypeSupport::of::<FooSplit>();
    let (writer, inbox) = (writer(75, of.clone()), inbox(75, of));
    assert!(!writer.can_lend());
    let refused = writer.borrow::<FooSplit>().unwrap_err().to_string();
    assert!(refused.contains("the middleware doesn't lend here"), "{refused}");
    // Another type than the topic's would be other memory.
    let refused = writer.borrow::<FixedFrame>().unwrap_err().to_string();
    assert!(refused.contains("hopwatch_lab_msgs/msg/FixedFrame was asked for"), "{refused}");
    assert!(inbox.take_lent::<FixedFrame>().is_err());
    // Nobody is there to acknowledge anything.
    assert!(writer.wait_for_acknowledgements(Duration::from_millis(10)).unwrap());
}
