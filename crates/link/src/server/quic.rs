//! QUIC: an envelope each way on a stream of its own.

use super::{Answered, Core, LEAVING, READING};
use crate::quic::PROTOCOL;
use anyhow::Context;
use bytes::Bytes;
use hopwatch_kit::Shutdown;
use hopwatch_kit::net::{DRAIN, STREAMS, WINDOW};
use hopwatch_kit::tls::ServerTls;
use hopwatch_wire::envelope::{Envelope, LONGEST_HEAD, PREFIX, RequestHead, RequestId};
use quinn::crypto::rustls::QuicServerConfig;
use quinn::rustls;
use quinn::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use quinn::{
    Endpoint, Incoming, ReadToEndError, RecvStream, SendStream, ServerConfig, TransportConfig,
    VarInt,
};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::task::TaskTracker;

/// Connections at once; further ones are refused.
const CONNECTIONS: usize = 1024;
/// A handshake that takes longer is given up.
const PATIENCE: Duration = Duration::from_secs(10);
/// What a connection may send that nobody has read yet, in bytes.
const UNREAD: u32 = 64 << 20;

/// Codes of streams and connections that end early.
const ENOUGH: VarInt = VarInt::from_u32(1);
const STOPPING: VarInt = VarInt::from_u32(0);

/// Opens a socket with the service's certificate; without one, with one that is made now, and that
/// proves nothing.
pub(super) fn bind(address: SocketAddr, own: Option<&ServerTls>) -> anyhow::Result<Endpoint> {
    let tls = match own {
        Some(own) => own.config(PROTOCOL)?,
        None => self_made()?,
    };
    let mut config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    let mut transport = TransportConfig::default();
    transport.max_concurrent_bidi_streams(VarInt::from_u32(STREAMS));
    transport.max_concurrent_uni_streams(VarInt::from_u32(0));
    transport.stream_receive_window(VarInt::from_u32(WINDOW));
    transport.receive_window(VarInt::from_u32(UNREAD));
    transport.datagram_receive_buffer_size(None);
    config.transport_config(Arc::new(transport));
    Ok(Endpoint::server(config, address)?)
}

fn self_made() -> anyhow::Result<rustls::ServerConfig> {
    let made = rcgen::generate_simple_self_signed(["hopwatch".to_owned()])
        .context("failed to make a certificate")?;
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.into()], key)?;
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    Ok(tls)
}

/// Serves until the shutdown begins, then lets requests under way end.
pub(super) async fn serve(core: Arc<Core>, endpoint: Endpoint, shutdown: Shutdown) {
    let requests = TaskTracker::new();
    loop {
        let incoming = tokio::select! {
            incoming = endpoint.accept() => incoming,
            () = shutdown.begun() => None,
        };
        let Some(incoming) = incoming else { break };
        if endpoint.open_connections() >= CONNECTIONS {
            incoming.refuse();
        } else {
            let (core, requests) = (Arc::clone(&core), requests.clone());
            tokio::spawn(connection(core, incoming, requests, shutdown.clone()));
        }
    }
    requests.close();
    // Whoever still waits has waited for long enough.
    let _all_ended = tokio::time::timeout(DRAIN, requests.wait()).await;
    endpoint.close(STOPPING, b"the service stops");
    let _told = tokio::time::timeout(LEAVING, endpoint.wait_idle()).await;
}

async fn connection(
    core: Arc<Core>,
    incoming: Incoming,
    requests: TaskTracker,
    shutdown: Shutdown,
) {
    let Ok(Ok(connection)) = tokio::time::timeout(PATIENCE, incoming).await else { return };
    loop {
        let streams = tokio::select! {
            streams = connection.accept_bi() => streams,
            () = shutdown.begun() => break,
        };
        let Ok((send, receive)) = streams else { return };
        requests.spawn(request(Arc::clone(&core), send, receive));
    }
    // Kept open for the replies under way; the endpoint closes it.
    connection.closed().await;
}

/// Why a request isn't worked on.
enum Unread {
    /// The asker is told so.
    Refused(RequestId, Answered),
    /// It is none, or broke off, or takes too long.
    No,
}

impl<E: std::error::Error> From<E> for Unread {
    fn from(_: E) -> Self {
        Self::No
    }
}

/// Reads a request: the body only if its head shows the token.
async fn read(core: &Core, receive: &mut RecvStream) -> Result<(RequestHead, Bytes), Unread> {
    let mut frame = vec![0; PREFIX];
    receive.read_exact(&mut frame).await?;
    let length = usize::from(u16::from_be_bytes([frame[PREFIX - 2], frame[PREFIX - 1]]));
    frame.resize(PREFIX + length.min(LONGEST_HEAD), 0);
    receive.read_exact(frame.get_mut(PREFIX..).unwrap_or_default()).await?;
    let Envelope::Request(head, _) = Envelope::read(&Bytes::from(frame))? else {
        return Err(Unread::No);
    };
    if !core.token.admits_value(head.authorization.as_deref().map(str::as_bytes)) {
        return Err(Unread::Refused(head.id, Answered::no_token()));
    }
    match receive.read_to_end(core.max_body_bytes).await {
        Ok(body) => Ok((head, Bytes::from(body))),
        Err(ReadToEndError::TooLong) => Err(Unread::Refused(head.id, Answered::too_large())),
        Err(ReadToEndError::Read(_)) => Err(Unread::No),
    }
}

async fn request(core: Arc<Core>, mut send: SendStream, mut receive: RecvStream) {
    let read = tokio::time::timeout(READING, read(&core, &mut receive)).await;
    let (head, body) = match read.unwrap_or(Err(Unread::No)) {
        Ok(read) => read,
        Err(Unread::Refused(id, answered)) => {
            let _gone = receive.stop(ENOUGH);
            return reply(&mut send, &answered.frame(id)).await;
        }
        Err(Unread::No) => {
            let _gone = send.reset(ENOUGH);
            return;
        }
    };
    let received = core.clock.now();
    let gave_up = send.stopped();
    let answered = tokio::select! {
        answered = core.answer_envelope(&head, body, received) => answered,
        // Nobody waits any more.
        _ = gave_up => return,
    };
    reply(&mut send, &answered.frame(head.id)).await;
}

/// Sends the reply, and waits until the other end has it.
async fn reply(send: &mut SendStream, frame: &[u8]) {
    if send.write_all(frame).await.is_ok() && send.finish().is_ok() {
        let _acknowledged = send.stopped().await;
    }
}
