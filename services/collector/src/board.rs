//! The parts of the newest snapshot, each with when it last changed: whoever comes by gets what has
//! changed since its last visit, however long ago that was.

use hopwatch_wire::feed::{Live, Part, Snapshot};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a watch shows now.
#[derive(Clone, Debug, Default)]
pub(crate) struct Board {
    revision: u64,
    head: String,
    parts: BTreeMap<String, (u64, Arc<str>)>,
}

/// What of it is the same thing at another time.
fn key(part: &Part) -> String {
    match part {
        Part::Lane { lane } => format!("lane {}", lane.name),
        Part::Course(course) => format!("course {} {}", course.lane, course.chunk),
        Part::Latest { .. } => "latest".to_owned(),
        Part::Slowest { .. } => "slowest".to_owned(),
        Part::Robots { .. } => "robots".to_owned(),
        Part::Clocks { .. } => "clocks".to_owned(),
        Part::Verdict { .. } => "verdict".to_owned(),
        Part::Shadow { .. } => "shadow".to_owned(),
        Part::Events { .. } => "events".to_owned(),
        Part::Measured { .. } => "measured".to_owned(),
    }
}

impl Board {
    /// The board after a new snapshot; its `whole` makes no difference.
    pub(crate) fn after(&self, mut snapshot: Snapshot) -> Self {
        let revision = self.revision + 1;
        let parts = std::mem::take(&mut snapshot.parts);
        let written = parts.iter().filter_map(|part| {
            let text = serde_json::to_string(part).ok()?;
            let key = key(part);
            let entry = match self.parts.get(&key) {
                Some((since, known)) if **known == *text => (*since, Arc::clone(known)),
                _ => (revision, text.into()),
            };
            Some((key, entry))
        });
        let parts = written.collect();
        let mut head = |whole| {
            snapshot.whole = whole;
            serde_json::to_string(&Live::Snapshot(Box::new(snapshot.clone()))).unwrap_or_default()
        };
        // The heads of both kinds, of which one is sent.
        Self { revision, head: head(false) + "\n" + &head(true), parts }
    }

    /// A frame with what has changed since `seen`, and the revision that the page has then. Without
    /// `seen` it gets everything.
    pub(crate) fn frame(&self, seen: Option<u64>) -> (String, u64) {
        let (changed, whole) = self.head.split_once('\n').unwrap_or_default();
        let head = if seen.is_some() { changed } else { whole };
        let mut frame = head.strip_suffix("[]}").unwrap_or(head).to_owned();
        frame.push('[');
        let news = self.parts.values().filter(|(since, _)| *since > seen.unwrap_or(0));
        for (number, (_, text)) in news.enumerate() {
            if number > 0 {
                frame.push(',');
            }
            frame.push_str(text);
        }
        frame.push_str("]}");
        (frame, self.revision)
    }

    /// Nothing has been put up yet.
    pub(crate) fn is_blank(&self) -> bool {
        self.revision == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hopwatch_wire::feed::{CourseView, RunState, VERSION, Watch};
    use serde_json::Value;

    fn snapshot(parts: Vec<Part>) -> Snapshot {
        Snapshot {
            version: VERSION,
            run_id: "run".to_owned(),
            state: RunState::Running,
            elapsed_ms: 1,
            clients: 0,
            watch: Watch::default(),
            whole: false,
            parts,
        }
    }

    fn course(chunk: i64, width_ms: u32) -> Part {
        Part::Course(CourseView { lane: "a\n]}".to_owned(), width_ms, chunk, bins: Vec::new() })
    }

    fn shown(board: &Board, seen: Option<u64>) -> (bool, Vec<String>, u64) {
        let (frame, revision) = board.frame(seen);
        let frame: Value = serde_json::from_str(&frame).unwrap();
        assert_eq!((&frame["type"], &frame["run_id"]), (&"snapshot".into(), &"run".into()));
        let parts = frame["parts"].as_array().unwrap();
        let name = |part: &Value| format!("{} {}", part["kind"].as_str().unwrap(), part["chunk"]);
        (frame["whole"].as_bool().unwrap(), parts.iter().map(name).collect(), revision)
    }

    #[test]
    fn whoever_comes_late_gets_all_that_changed_meanwhile() {
        let none = Part::Latest { messages: Vec::new() };
        let first = Board::default().after(snapshot(vec![none.clone(), course(0, 1)]));
        let (whole, parts, seen) = shown(&first, None);
        assert!(whole);
        assert_eq!(parts, ["course 0", "latest null"]);
        let second = first.after(snapshot(vec![none.clone(), course(0, 1), course(1, 1)]));
        assert_eq!(shown(&second, Some(seen)).1, ["course 1"]);
        let third = second.after(snapshot(vec![none.clone(), course(0, 2), course(1, 1)]));
        let (whole, parts, now) = shown(&third, Some(seen));
        assert!(!whole);
        assert_eq!(parts, ["course 0", "course 1"]);
        assert_eq!(shown(&third, Some(now)).1, [] as [&str; 0]);
        // What is no longer there is sent to nobody.
        let fourth = third.after(snapshot(vec![none]));
        assert_eq!(shown(&fourth, None).1, ["latest null"]);
        assert!(Board::default().is_blank() && !fourth.is_blank());
    }
}
