//! When a process has to end before its work is done.

use anyhow::Context;
use hopwatch_kit::Shutdown;
use std::sync::mpsc::sync_channel;

/// Begins at SIGINT, at SIGTERM, and when standard input ends, for whoever works without a runtime.
///
/// # Errors
/// When the system gives no thread or no signals.
pub fn ending() -> anyhow::Result<Shutdown> {
    let (tell, told) = sync_channel(1);
    let watch = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let watched = runtime.map(|runtime| {
            runtime.block_on(async {
                let begun = Shutdown::on_signals(true);
                let asked = begun.as_ref().ok().map(Shutdown::begun);
                let _gone = tell.send(begun);
                if let Some(asked) = asked {
                    asked.await;
                }
            });
        });
        if let Err(error) = watched {
            let _gone = tell.send(Err(error));
        }
    };
    let thread = std::thread::Builder::new().name("ending".to_owned());
    thread.spawn(watch).context("failed to start a thread")?;
    told.recv().context("failed to watch for the end")?.context("failed to listen for signals")
}
