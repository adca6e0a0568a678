//! A way from this host into a namespace: who connects to a port here gets to a port there.

use super::inside::Inside;
use anyhow::Context;
use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;

/// Connections through a door at once; further ones are closed at once.
const CONNECTIONS: usize = 1024;
/// What keeps a connection from being accepted, too many open files, is not over at once.
const PAUSE: Duration = Duration::from_millis(100);

/// A door on loopback. Dropped, it is closed, with all connections.
pub(crate) struct Door {
    port: u16,
    accepting: JoinHandle<()>,
}

impl Door {
    /// Opens a door on `port` (0: any) to `address` in the namespace that a file names.
    pub(crate) async fn open(
        port: u16,
        address: SocketAddr,
        namespace: &Path,
    ) -> anyhow::Result<Self> {
        let here = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let what = || format!("failed to listen on {here}; choose other ports with --any-ports");
        let listener = TcpListener::bind(here).await.with_context(what)?;
        let port = listener.local_addr().with_context(what)?.port();
        let inside = Inside::enter(namespace)?;
        let listener = Arc::new(listener);
        let accept = move || {
            let listener = Arc::clone(&listener);
            async move { listener.accept().await.map(|(near, _)| near) }
        };
        let accepting = tokio::spawn(let_in(accept, CONNECTIONS, move |near, place| {
            let Ok(near) = near.into_std() else { return };
            inside.begin(async move {
                // How a connection ends is its two ends' business.
                let _ended = pass(near, address).await;
                drop(place);
            });
        }));
        Ok(Self { port, accepting })
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Begins something with each connection that comes, with so many at once.
async fn let_in<A>(
    mut accept: impl FnMut() -> A,
    most: usize,
    begin: impl Fn(TcpStream, OwnedSemaphorePermit),
) where
    A: Future<Output = std::io::Result<TcpStream>>,
{
    let places = Arc::new(Semaphore::new(most));
    loop {
        match accept().await {
            Ok(near) => {
                if let Ok(place) = Arc::clone(&places).try_acquire_owned() {
                    begin(near, place);
                }
            }
            Err(error) => {
                tracing::debug!("a connection was not accepted: {error}");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

async fn pass(near: std::net::TcpStream, address: SocketAddr) -> std::io::Result<()> {
    let mut near = TcpStream::from_std(near)?;
    let mut far = TcpStream::connect(address).await?;
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    copy_bidirectional(&mut near, &mut far).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};
    use std::time::Instant;
    use tokio::io::AsyncReadExt;

    #[tokio::test]
    async fn an_error_that_stays_is_no_spinning() {
        let (tries, began) = (Cell::new(0_u32), Instant::now());
        let accept = || {
            tries.set(tries.get() + 1);
            async {
                tokio::task::yield_now().await;
                Err(std::io::Error::other("too many open files"))
            }
        };
        let accepting = let_in(accept, 1, |_, _| ());
        assert!(tokio::time::timeout(PAUSE * 2, accepting).await.is_err(), "it ended");
        let most = began.elapsed().as_millis() / PAUSE.as_millis() + 1;
        assert!(u128::from(tries.get()) <= most, "{} tries, at most {most}", tries.get());
        assert!(tries.get() > 1, "it gave up");
    }

    #[tokio::test]
    async fn so_many_connections_at_once_and_a_place_again_when_one_ends() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let inside = RefCell::new(Vec::new());
        let accept = async || listener.accept().await.map(|(near, _)| near);
        let accepting = let_in(accept, 2, |near, place| inside.borrow_mut().push((near, place)));
        let visiting = async {
            let mut open = Vec::new();
            for _ in 0..2 {
                open.push(TcpStream::connect(address).await.unwrap());
            }
            let mut third = TcpStream::connect(address).await.unwrap();
            let ended = third.read(&mut [0]).await;
            assert!(!matches!(ended, Ok(1)), "{ended:?}");
            assert_eq!(inside.borrow().len(), 2);
            drop(inside.borrow_mut().pop());
            open.push(TcpStream::connect(address).await.unwrap());
            while inside.borrow().len() < 2 {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            () = accepting => unreachable!("it goes on for ever"),
            () = visiting => {}
        }
    }
}
