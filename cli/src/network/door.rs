//! A way from this host into a namespace: who connects to a port here gets to a port there.

use super::inside::Inside;
use anyhow::Context;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

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
        let accepting = tokio::spawn(async move {
            loop {
                // A connection that ended before it was accepted is none.
                let Ok((near, _)) = listener.accept().await else { continue };
                let Ok(near) = near.into_std() else { continue };
                inside.begin(async move {
                    // How a connection ends is its two ends' business.
                    let _ended = pass(near, address).await;
                });
            }
        });
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

async fn pass(near: std::net::TcpStream, address: SocketAddr) -> std::io::Result<()> {
    let mut near = TcpStream::from_std(near)?;
    let mut far = TcpStream::connect(address).await?;
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    copy_bidirectional(&mut near, &mut far).await.map(drop)
}
