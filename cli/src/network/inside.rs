//! A thread in another network namespace: sockets that are opened there are of that namespace.
//!
//! The rest of this process stays where it is.

use anyhow::{Context, bail};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::future::Future;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::mpsc;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// A runtime on one thread in a namespace, until it is dropped.
pub(crate) struct Inside {
    runtime: Handle,
    // Dropped, it ends the thread.
    _end: oneshot::Sender<()>,
}

impl Inside {
    /// Enters the namespace that this file names.
    pub(crate) fn enter(namespace: &Path) -> anyhow::Result<Self> {
        let at = || format!("failed to enter the network namespace {}", namespace.display());
        let file = File::open(namespace).with_context(at)?;
        let (tell, told) = mpsc::sync_channel(1);
        let (end, ended) = oneshot::channel::<()>();
        let work = move || {
            let entered = move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network));
            let made = entered
                .map_err(std::io::Error::from)
                .and_then(|()| Builder::new_current_thread().enable_all().build());
            match made {
                Ok(runtime) => {
                    let _waits = tell.send(Ok(runtime.handle().clone()));
                    let _dropped = runtime.block_on(ended);
                }
                Err(error) => {
                    let _waits = tell.send(Err(error));
                }
            }
        };
        std::thread::Builder::new().name("inside".to_owned()).spawn(work).with_context(at)?;
        let runtime = told.recv().with_context(at)?.with_context(at)?;
        Ok(Self { runtime, _end: end })
    }

    /// Begins something there, and waits for nothing.
    pub(crate) fn begin<F>(&self, work: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        drop(self.runtime.spawn(work));
    }

    /// Does something there.
    pub(crate) async fn run<F>(&self, work: F) -> anyhow::Result<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        match self.runtime.spawn(work).await {
            Ok(done) => Ok(done),
            Err(_) => bail!("the thread in the network namespace ended"),
        }
    }
}
