//! `POST /v1/mark`: an event that the user tells, so that it stands beside the figures.
//!
//! It is a record like any other: stored before it is acknowledged, in the live feed and in the
//! report. Records have no time, so the mark's text ends with its own.

use crate::{Shared, ingest};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use hopwatch_wire::controls::Mark;
use hopwatch_wire::record::{Entry, EventRecord, Record};
use serde_json::json;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// The kind of the event.
const KIND: &str = "mark";
/// Characters of a text.
const LONGEST: usize = 200;
/// So many within [`WHILE`]: no page can fill the disk.
const MOST: usize = 60;
const WHILE: Duration = Duration::from_secs(60);
/// So many of one start of the collector: what stands is never forgotten.
const MOST_IN_ALL: u64 = 10_000;
/// Far more than the longest text takes, in bytes.
const BODY: usize = 64 << 10;

/// The marks of this start.
struct Marks {
    shared: Arc<Shared>,
    source: String,
    told: Mutex<Told>,
}

#[derive(Default)]
struct Told {
    number: u64,
    /// When the newest ones were.
    newest: VecDeque<Instant>,
}

/// The route.
pub(crate) fn routes(shared: Arc<Shared>) -> Router {
    let source = format!("marks-{}", uuid::Uuid::new_v4());
    let marks = Marks { shared, source, told: Mutex::default() };
    Router::new()
        .route("/v1/mark", post(mark))
        .layer(DefaultBodyLimit::max(BODY))
        .with_state(Arc::new(marks))
}

async fn mark(State(marks): State<Arc<Marks>>, body: String) -> Response {
    let text = match text(&body) {
        Ok(text) => text,
        Err(why) => return (StatusCode::BAD_REQUEST, why).into_response(),
    };
    let number =
        match marks.told.lock().unwrap_or_else(PoisonError::into_inner).next(Instant::now()) {
            Ok(number) => number,
            Err(why) => return (StatusCode::TOO_MANY_REQUESTS, why).into_response(),
        };
    let now = humantime::format_rfc3339_millis(SystemTime::now());
    let event = EventRecord { event: KIND.to_owned(), text: format!("{text} ({now})") };
    let entry =
        Entry { source: marks.source.clone(), number, record: Record::Event(event.clone()) };
    match serde_json::to_string(&entry) {
        Ok(line) => match ingest::records(State(Arc::clone(&marks.shared)), line).await {
            (StatusCode::OK, _) => Json(json!({ "text": event.text })).into_response(),
            refused => refused.into_response(),
        },
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
    }
}

/// The text of a mark, or what is wrong with it.
fn text(body: &str) -> Result<String, String> {
    let mark: Mark = serde_json::from_str(body)
        .map_err(|error| format!("a mark is {{\"text\": \"…\"}}: {error}\n"))?;
    let text = mark.text.trim();
    let characters = text.chars().count();
    if !(1..=LONGEST).contains(&characters) {
        return Err(format!("a mark has 1 to {LONGEST} characters, not {characters}\n"));
    }
    if text.chars().any(char::is_control) {
        return Err("a mark has no control characters (line breaks, tabs, …)\n".to_owned());
    }
    Ok(text.to_owned())
}

impl Told {
    /// The number of the next mark, unless there are too many.
    fn next(&mut self, now: Instant) -> Result<u64, String> {
        while self.newest.front().is_some_and(|at| now.duration_since(*at) >= WHILE) {
            self.newest.pop_front();
        }
        if self.newest.len() >= MOST {
            return Err(format!("too many marks: at most {MOST} within a minute\n"));
        }
        if self.number >= MOST_IN_ALL {
            return Err(format!("too many marks: this collector took {MOST_IN_ALL} of them\n"));
        }
        self.newest.push_back(now);
        self.number += 1;
        Ok(self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_are_no_mark_are_refused() {
        let of = |mark: &str| text(&json!({ "text": mark }).to_string());
        assert_eq!(of(" door opened ").unwrap(), "door opened");
        assert_eq!(of(&"문".repeat(200)).unwrap().chars().count(), 200);
        for (bad, said) in [
            (String::new(), "not 0"),
            ("   ".to_owned(), "not 0"),
            ("x".repeat(201), "not 201"),
            ("x".repeat(10 << 10), "not 10240"),
            ("a\nb".to_owned(), "control"),
            ("a\u{1b}[31mb".to_owned(), "control"),
        ] {
            let why = of(&bad).unwrap_err();
            assert!(why.contains(said), "{why}");
        }
        for bad in ["", "door", "{}", r#"{"text":1}"#, r#"{"text":"a","kind":"x"}"#] {
            assert!(text(bad).unwrap_err().contains("a mark is"), "{bad}");
        }
    }

    #[test]
    fn marks_are_bounded_in_time_and_in_all() {
        let mut told = Told::default();
        let start = Instant::now();
        for number in 1..=60 {
            assert_eq!(told.next(start), Ok(number));
        }
        assert!(told.next(start + WHILE / 2).unwrap_err().contains("within a minute"));
        assert_eq!(told.next(start + WHILE), Ok(61));
        told.number = MOST_IN_ALL;
        assert!(told.next(start + 3 * WHILE).is_err());
    }
}
