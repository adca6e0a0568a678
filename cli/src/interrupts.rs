//! What asks this program to end.

use anyhow::Context;
use hopwatch_kit::Shutdown;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGINT, SIGTERM and SIGHUP (the terminal was closed), and the end of standard input where it
/// tells of the parent's.
pub(crate) struct Interrupts {
    parent: Shutdown,
    /// The parent's end is told once: asking again means to stop at once.
    told: bool,
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Interrupts {
    pub(crate) fn new(end_with_parent: bool) -> anyhow::Result<Self> {
        let of = |kind| signal(kind).context("failed to listen for signals");
        let parent = Shutdown::new();
        if end_with_parent {
            let gone = parent.clone();
            let watch = move || {
                let _ended = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
                gone.begin();
            };
            // A thread of its own: tokio's standard input would keep the runtime from ending.
            std::thread::Builder::new()
                .name("parent-watch".to_owned())
                .spawn(watch)
                .context("failed to start a thread")?;
        }
        Ok(Self {
            parent,
            told: false,
            interrupt: of(SignalKind::interrupt())?,
            terminate: of(SignalKind::terminate())?,
            hangup: of(SignalKind::hangup())?,
        })
    }

    /// Waits for the next wish; its name.
    pub(crate) async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.interrupt.recv() => "Ctrl-C",
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.hangup.recv() => "SIGHUP",
            () = self.parent.begun(), if !self.told => {
                self.told = true;
                "the end of its parent"
            }
        }
    }
}
