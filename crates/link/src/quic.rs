//! `quic`: an [envelope](hopwatch_wire::envelope) each way on a stream of its own, all requests
//! on one connection (RFC 9000).
//!
//! QUIC has no form without TLS. A service that is asked for by `https://` must show a certificate
//! for its name as over TCP. Without one of their own, our services make themselves one when they
//! start, and by `http://` any is accepted: the link is encrypted then, but proves nothing about who
//! answers, like plain HTTP.

use crate::asking::{Asking, frame, judge};
use crate::call::{Call, CallError, Link, Reply, Request, in_time};
use crate::kind::LinkConfig;
use crate::offers::Offers;
use crate::progress::Progress;
use crate::shared::{Connected, Shared};
use crate::target::{Target, TargetError};
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hopwatch_kit::Clock;
use hopwatch_kit::net::WINDOW;
use hopwatch_model::{Failure, Ns};
use hopwatch_wire::envelope::{Envelope, LONGEST_HEAD};
use quinn::crypto::rustls::QuicClientConfig;
use quinn::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified};
use quinn::rustls::crypto::{self, CryptoProvider};
use quinn::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use quinn::rustls::{self, DigitallySignedStruct, SignatureScheme};
use quinn::{
    ClientConfig, Connection, ConnectionError, Endpoint, ReadError, ReadToEndError,
    TransportConfig, VarInt,
};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What is spoken on the streams (ALPN).
pub(crate) const PROTOCOL: &[u8] = b"hopwatch/1";
/// Tells the other end that this one is there while a request takes its time.
const KEEP_ALIVE: Duration = Duration::from_secs(5);
/// A handshake takes two round trips.
const HANDSHAKE: Duration = Duration::from_secs(5);

/// A link over QUIC.
pub(crate) struct Quic {
    offers: Offers,
    asking: Asking,
    config: ClientConfig,
    /// What the certificate must be for.
    name: String,
    max_reply_bytes: usize,
    clock: Arc<dyn Clock>,
    shared: Shared<Connection>,
    /// The connection opened last: if the service closed it, its port may have changed, too.
    last: Mutex<Option<Connection>>,
}

impl Connected for Connection {
    fn is_open(&self) -> bool {
        self.close_reason().is_none()
    }
}

impl Quic {
    pub(crate) fn new(config: &LinkConfig, clock: Arc<dyn Clock>) -> Result<Self, TargetError> {
        let target = &config.target;
        Ok(Self {
            offers: Offers::new(target, "quic", |ports| ports.quic),
            asking: Asking::new(config, &*clock),
            config: client_config(target).map_err(|error| target.refuse(&error))?,
            // Any name will do where any certificate does.
            name: target.trust().map_or("hopwatch", |_| &target.host).to_owned(),
            max_reply_bytes: config.max_reply_bytes,
            clock,
            shared: Shared::new(config.max_idle),
            last: Mutex::default(),
        })
    }

    async fn connect(&self) -> Result<Connection, CallError> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner).take();
        if last.is_some_and(|last| !last.is_open()) {
            self.offers.forget();
        }
        let at = self.offers.get().await?;
        let connection = self.dial(at).await.inspect_err(|_| self.offers.forget())?;
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(connection.clone());
        Ok(connection)
    }

    async fn dial(&self, at: SocketAddr) -> Result<Connection, CallError> {
        let own = match at {
            SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
            SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
        };
        let unreachable = |error: &dyn std::fmt::Display| {
            let detail = format!("failed to connect to {at} (quic): {error}");
            CallError::new(Failure::Unreachable, detail)
        };
        let endpoint = Endpoint::client(own).map_err(|error| unreachable(&error))?;
        let connecting = endpoint
            .connect_with(self.config.clone(), at, &self.name)
            .map_err(|error| unreachable(&error))?;
        let connected = tokio::time::timeout(HANDSHAKE, connecting).await;
        let connected = connected.map_err(|_| unreachable(&"no answer within 5 s"))?;
        connected.map_err(|error| unreachable(&error))
    }

    async fn exchange(
        &self,
        request: &Request,
        progress: &Progress,
    ) -> Result<(Reply, Ns), CallError> {
        let message = frame(&self.asking.head(request), request)?;
        loop {
            let open = || self.connect();
            let (kept, is_new) = self.shared.take(&*self.clock, progress, open).await?;
            // Before there is a stream for it: if the service takes no more at once, the request
            // waits for one.
            let sent = self.clock.now();
            progress.sent(sent);
            let (mut send, mut receive) = match kept.connection.open_bi().await {
                Ok(streams) => streams,
                Err(error) => {
                    self.shared.discard(&kept);
                    if is_new {
                        return Err(broken(&error));
                    }
                    // The connection had ended: not a byte of the request was sent.
                    continue;
                }
            };
            let waiting = self.shared.waiting(&kept, sent);
            // A service that doesn't want all of it says why in its reply.
            let _unread = send.write_all(&message).await;
            let _unread = send.finish();
            let limit = self.max_reply_bytes.saturating_add(LONGEST_HEAD + 8);
            let frame = receive.read_to_end(limit).await.map_err(|error| match error {
                ReadToEndError::TooLong => CallError::long_reply(self.max_reply_bytes),
                ReadToEndError::Read(ReadError::ConnectionLost(error)) => broken(&error),
                ReadToEndError::Read(error) => {
                    CallError::new(Failure::Broken, format!("the stream broke: {error}"))
                }
            })?;
            let ended = self.clock.now();
            waiting.heard(ended);
            return match Envelope::read(&Bytes::from(frame)) {
                Ok(Envelope::Reply(head, body)) => {
                    judge(&head, body, self.max_reply_bytes).map(|reply| (reply, ended))
                }
                _ => Err(CallError::new(Failure::BadReply, "what the service sent is no reply")),
            };
        }
    }
}

fn broken(error: &ConnectionError) -> CallError {
    CallError::new(Failure::Broken, format!("the connection broke: {error}"))
}

fn client_config(target: &Target) -> Result<ClientConfig, String> {
    let tls = match target.trust() {
        Some(trust) => trust.client(PROTOCOL)?,
        None => trusting_anybody().map_err(|error| error.to_string())?,
    };
    let tls = QuicClientConfig::try_from(tls).map_err(|error| error.to_string())?;
    let mut config = ClientConfig::new(Arc::new(tls));
    let mut transport = TransportConfig::default();
    transport.keep_alive_interval(Some(KEEP_ALIVE));
    transport.stream_receive_window(VarInt::from_u32(WINDOW));
    config.transport_config(Arc::new(transport));
    Ok(config)
}

fn trusting_anybody() -> Result<rustls::ClientConfig, rustls::Error> {
    let provider = Arc::new(crypto::ring::default_provider());
    let mut tls = rustls::ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
        .with_no_client_auth();
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    Ok(tls)
}

/// Accepts any certificate: it was made by whoever answers.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl rustls::client::danger::ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.0.signature_verification_algorithms;
        crypto::verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.0.signature_verification_algorithms;
        crypto::verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

impl Link for Quic {
    fn call(&self, request: Request) -> BoxFuture<'_, Call> {
        async move {
            let exchange = async |progress: &Progress| self.exchange(&request, progress).await;
            let call = Progress::of(request.deadline, &*self.clock, exchange).await;
            let gone = [Failure::TimedOut, Failure::Broken, Failure::Unreachable];
            if call.result.as_ref().is_err_and(|error| gone.contains(&error.failure)) {
                self.offers.forget();
            }
            call
        }
        .boxed()
    }

    fn warm(&self) -> BoxFuture<'_, Result<(), CallError>> {
        async {
            let progress = Progress::default();
            in_time(self.shared.take(&*self.clock, &progress, || self.connect())).await.map(drop)
        }
        .boxed()
    }
}
