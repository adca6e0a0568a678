//! Which records replace which.

use hopwatch_model::Census;
use hopwatch_wire::record::Record;

/// What a record is the newest word on, within its source: of two records of one slot, the one
/// with the larger number stands alone. `None` for a message at the gateway or at a page, a
/// clock's answer and a probe, which nothing replaces.
pub fn slot(record: &Record) -> Option<String> {
    let (census, start);
    let parts: &[&str] = match record {
        Record::Trace(_) | Record::Client(_) | Record::Peer(_) | Record::Probe(_) => return None,
        Record::Lane(record) => &["lane", &record.lane],
        Record::Census(record) => {
            census = Census::from(record.clone());
            // A robot whose rate was changed has another schedule: both are needed.
            start = census.schedule_start_ns.to_string();
            &["census", &record.lane, &census.robot_id, &census.instance, &start]
        }
        Record::Gateway(counters) => &["gateway", &counters.lane],
        Record::Broadcaster(_) => &["broadcaster"],
        Record::Clients(_) => &["clients"],
        Record::Event(event) => &["event", &event.event, &event.text],
        Record::Gone(record) => &["gone", &record.lane],
    };
    // As JSON, so that no text in it can look like two.
    Some(serde_json::json!(parts).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hopwatch_wire::record::Entry;

    #[test]
    fn only_messages_and_answers_have_no_slot() {
        let lines = include_str!("../../wire/fixtures/records-v1.ndjson");
        for line in lines.lines() {
            let entry: Entry = serde_json::from_str(line).unwrap();
            let message = matches!(
                entry.record,
                Record::Trace(_) | Record::Client(_) | Record::Peer(_) | Record::Probe(_)
            );
            assert_eq!(slot(&entry.record).is_none(), message, "{line}");
        }
    }

    #[test]
    fn what_is_of_another_robot_replaces_nothing() {
        let line = r#"{"source":"g","number":4,"kind":"census","lane":"l","robot_id":"R",
            "instance":"i","clock":"b/1","schedule_start_ns":"100","rate_hz":1.0,
            "first_sequence":0,"published":2,"failed":0,"last":true}"#;
        let of = |robot: &str, start: &str| {
            let line = line.replace('R', robot).replace("\"100\"", &format!("\"{start}\""));
            let entry: Entry = serde_json::from_str(&line).unwrap();
            slot(&entry.record)
        };
        assert_eq!(of("a", "100"), of("a", "100"));
        assert_ne!(of("a", "100"), of("b", "100"));
        // Another schedule of the same robot.
        assert_ne!(of("a", "100"), of("a", "200"));
    }
}
