//! Waiting: polling with a deadline that says what it last saw.

use std::time::{Duration, Instant};

/// Longer than anything here takes, by far.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Waits until `look` gives what is waited for; an `Err` is what it saw instead.
#[track_caller]
pub fn wait_until<T>(what: &str, look: impl FnMut() -> Result<T, String>) -> T {
    within(PATIENCE, what, look)
}

/// The same with a deadline of its own.
#[track_caller]
pub fn within<T>(deadline: Duration, what: &str, mut look: impl FnMut() -> Result<T, String>) -> T {
    let started = Instant::now();
    loop {
        match look() {
            Ok(found) => return found,
            Err(seen) if started.elapsed() > deadline => {
                panic!("no {what} within {deadline:?}; last seen: {seen}")
            }
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}
