//! How a run stands, while it goes.

use crate::fetch::Status;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Shows progress on standard error: a bar on a terminal, a line every ten seconds elsewhere.
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    started: Instant,
    last_line: Instant,
    whole: Option<Duration>,
}

impl Progress {
    /// For a run of a known length, or an endless one.
    pub(crate) fn new(whole: Option<Duration>) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = match whole {
                Some(whole) => ProgressBar::new(whole.as_secs().max(1)),
                None => ProgressBar::new_spinner(),
            };
            let template = match whole {
                Some(_) => "{bar:30} {elapsed_precise} {msg}",
                None => "{spinner} {elapsed_precise} {msg}",
            };
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            bar
        });
        let now = Instant::now();
        Self { bar, started: now, last_line: now, whole }
    }

    /// Shows how things stand.
    pub(crate) fn show(&mut self, status: &Status) {
        let text = status
            .lanes
            .iter()
            .map(|(lane, l)| {
                format!(
                    "{lane}: {} published, {} delivered, {} in flight",
                    l.published, l.delivered, l.in_flight
                )
            })
            .collect::<Vec<_>>()
            .join(" · ");
        let elapsed = self.started.elapsed();
        if let Some(bar) = &self.bar {
            bar.set_message(text);
            if self.whole.is_some() {
                bar.set_position(elapsed.as_secs());
            } else {
                bar.tick();
            }
        } else if self.last_line.elapsed() >= Duration::from_secs(10) {
            self.last_line = Instant::now();
            let of = self.whole.map(|w| format!(" of {} s", w.as_secs())).unwrap_or_default();
            tell!("{} s{of} · {text}", elapsed.as_secs());
        }
    }

    /// Takes the bar away.
    pub(crate) fn end(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}
