//! Serialized messages go out as they are.

use super::peer::message;
use super::{Listening, PATIENCE, loopback_only};
use hopwatch_tap::{Qos, TapError, TapEvent, TypeSupport, Writer, WriterConfig};
use r2r::WrappedTypesupport;
use std::time::{Duration, Instant};

fn config(domain: usize, topic: &str) -> WriterConfig {
    loopback_only();
    WriterConfig {
        node_name: "writer_test".into(),
        namespace: String::new(),
        domain_id: Some(domain),
        topic: topic.into(),
        // By its name: of types that this program was not built with as well.
        type_support: TypeSupport::named("hopwatch_msgs/msg/RobotMessage").unwrap(),
        qos: Qos { depth: 50, ..Qos::RELIABLE },
    }
}

#[test]
fn what_is_published_arrives_byte_by_byte() {
    let mut listening = Listening::to(72, "/written", Qos { depth: 50, ..Qos::RELIABLE });
    let writer = Writer::new(&config(72, "written")).unwrap();
    assert_eq!(writer.topic(), "/written");
    let deadline = Instant::now() + PATIENCE;
    while writer.matched().unwrap() == 0 {
        assert!(Instant::now() < deadline, "nobody matched within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
    let sent: Vec<Vec<u8>> = (0..20).map(|i| message(i).to_serialized_bytes().unwrap()).collect();
    for bytes in &sent {
        writer.publish(bytes).unwrap();
    }
    for (number, bytes) in (1..).zip(&sent) {
        let taken = listening.next(&format!("message {number}"), |event| match event {
            TapEvent::Taken { message, .. } => Some(message),
            _ => None,
        });
        assert_eq!(taken.publication_sequence, Some(number));
        // DDS pads to a multiple of four.
        assert_eq!(taken.bytes[..bytes.len()], bytes[..]);
        assert!(taken.bytes.len() < bytes.len() + 4, "{} {}", taken.bytes.len(), bytes.len());
    }
}

#[test]
fn what_is_no_message_is_refused() {
    let writer = Writer::new(&config(73, "/nothing")).unwrap();
    let refused = writer.publish(&[0, 1]).unwrap_err();
    assert!(matches!(refused, TapError::NoMessage { bytes: 2, .. }), "{refused}");
    let deep = WriterConfig { qos: Qos { depth: 0, ..Qos::RELIABLE }, ..config(73, "/nothing") };
    assert!(matches!(Writer::new(&deep).unwrap_err(), TapError::NoDepth { .. }));
    let odd = WriterConfig { topic: "a topic".into(), ..config(73, "/nothing") };
    assert!(Writer::new(&odd).unwrap_err().is_wrong_usage());
}
