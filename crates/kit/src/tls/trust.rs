//! Whose certificates are believed.

use super::own::certificates;
use super::{HTTP2, Stream, provider};
use crate::config::Refused;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, InvalidMessage, OtherError,
    RootCertStore, SignatureScheme, version,
};
use std::fmt;
use std::io;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, UNIX_EPOCH};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// The CAs whose word is taken for who a service is: those of a file, or the system's.
#[derive(Clone, Default)]
pub struct Trust(Option<Arc<Verifier>>);

/// Those of the system, read once, when first needed.
static SYSTEM: LazyLock<Result<Arc<Verifier>, String>> = LazyLock::new(|| {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let _of = roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        let why = found.errors.first().map(|error| format!(" ({error})")).unwrap_or_default();
        return Err(format!(
            "this system has no CA certificates{why}: name yours with tls_ca, or install \
             ca-certificates"
        ));
    }
    let source = "this system's CAs".to_owned();
    Verifier::new(roots, source).map_err(|error| error.to_string())
});

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Trust({})", self.0.as_ref().map_or("system", |own| &own.source))
    }
}

impl PartialEq for Trust {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

impl Eq for Trust {}

impl Trust {
    /// The CAs of the PEM file that the key `tls_ca` names, and no others; where it is empty, the
    /// system's.
    ///
    /// # Errors
    /// When the file can't be read or holds no certificate of a CA.
    pub fn load(ca: &str) -> Result<Self, Refused> {
        if ca.is_empty() {
            return Ok(Self::default());
        }
        let refused = |why: &dyn fmt::Display| Refused(format!("tls_ca: {ca}: {why}"));
        let mut roots = RootCertStore::empty();
        for certificate in certificates("tls_ca", ca)? {
            roots.add(certificate).map_err(|error| refused(&error))?;
        }
        let source = format!("the CA of tls_ca ({ca})");
        let verifier = Verifier::new(roots, source).map_err(|error| refused(&error))?;
        Ok(Self(Some(verifier)))
    }

    fn verifier(&self) -> Result<Arc<Verifier>, String> {
        self.0.as_ref().map_or_else(|| SYSTEM.clone(), |own| Ok(Arc::clone(own)))
    }

    /// A client's side of TLS that wants `protocol` inside (ALPN).
    ///
    /// # Errors
    /// A sentence, when there is nobody to believe.
    pub fn client(&self, protocol: &[u8]) -> Result<ClientConfig, String> {
        let mut config = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&version::TLS13, &version::TLS12])
            .map_err(|error| error.to_string())?
            .dangerous()
            .with_custom_certificate_verifier(self.verifier()?)
            .with_no_client_auth();
        config.alpn_protocols = vec![protocol.to_vec()];
        config.resumption = Resumption::disabled();
        Ok(config)
    }

    /// The handshake with `host`, which must prove to be that.
    ///
    /// # Errors
    /// A sentence that says what to do.
    pub async fn connect(
        &self,
        tcp: TcpStream,
        host: &str,
        protocol: &[u8],
    ) -> Result<Stream, String> {
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| format!("{host:?} is no name that a certificate can have"))?;
        let connector = TlsConnector::from(Arc::new(self.client(protocol)?));
        let tls = connector.connect(name, tcp).await.map_err(|error| in_words(&error))?;
        if protocol == HTTP2 && tls.get_ref().1.alpn_protocol() != Some(HTTP2) {
            return Err(NO_HTTP2.to_owned());
        }
        Ok(Stream::Tls(Box::new(tls.into())))
    }
}

const NO_HTTP2: &str = "it speaks no HTTP/2 over TLS (ALPN): use the link http1";

/// Why a handshake failed, and what to do.
fn in_words(error: &io::Error) -> String {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<Error>());
    match cause {
        Some(Error::InvalidMessage(InvalidMessage::InvalidContentType)) => {
            "it speaks no TLS; if it is plain HTTP there, use http://".to_owned()
        }
        Some(Error::AlertReceived(rustls::AlertDescription::NoApplicationProtocol)) => {
            NO_HTTP2.to_owned()
        }
        Some(Error::InvalidCertificate(CertificateError::Other(OtherError(why)))) => {
            why.to_string()
        }
        Some(other) => format!("TLS: {other}"),
        None if error.kind() == io::ErrorKind::UnexpectedEof => {
            "it closed the connection within the TLS handshake; if it is plain HTTP there, use \
             http://"
                .to_owned()
        }
        None => format!("within the TLS handshake: {error}"),
    }
}

/// The usual rules (RFC 5280, RFC 9525), with errors that say what was shown.
#[derive(Debug)]
struct Verifier {
    rules: Arc<WebPkiServerVerifier>,
    source: String,
}

impl Verifier {
    fn new(
        roots: RootCertStore,
        source: String,
    ) -> Result<Arc<Self>, rustls::client::VerifierBuilderError> {
        let rules = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider());
        Ok(Arc::new(Self { rules: rules.build()?, source }))
    }

    fn words(&self, host: &str, shown: &CertificateDer<'_>, error: &CertificateError) -> String {
        let shown = Shown::of(shown);
        let date = |time: UnixTime| {
            humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(time.as_secs()))
        };
        match error {
            CertificateError::UnknownIssuer | CertificateError::BadSignature => format!(
                "{host} shows a certificate {shown}, which {} did not issue: give this program the \
                 CA that did (tls_ca), or {host} a certificate of this one",
                self.source
            ),
            CertificateError::ExpiredContext { time, not_after } => format!(
                "{host} shows a certificate {shown} that expired on {} (this host's clock says {}): \
                 make a new one, or set this host's clock",
                date(*not_after),
                date(*time)
            ),
            CertificateError::NotValidYetContext { time, not_before } => format!(
                "{host} shows a certificate {shown} that is valid from {} (this host's clock says \
                 {}): set this host's clock, or that of the host that made it",
                date(*not_before),
                date(*time)
            ),
            CertificateError::NotValidForNameContext { presented, .. } => format!(
                "{host} shows a certificate for {}: call it by one of these, or make one for {host}",
                if presented.is_empty() { "nobody".to_owned() } else { presented.join(", ") }
            ),
            other => format!("{host} shows a certificate {shown} that can't be accepted: {other}"),
        }
    }
}

/// Told to whoever wanted to connect.
#[derive(Debug)]
struct NotBelieved(String);

impl fmt::Display for NotBelieved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotBelieved {}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.rules.verify_server_cert(shown, between, name, ocsp, now).map_err(
            |error| match error {
                Error::InvalidCertificate(why) => {
                    let words = self.words(&name.to_str(), shown, &why);
                    let words = OtherError(Arc::new(NotBelieved(words)));
                    Error::InvalidCertificate(CertificateError::Other(words))
                }
                other => other,
            },
        )
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.rules.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.rules.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.rules.supported_verify_schemes()
    }
}

/// What a certificate says of itself, as far as it can be read.
struct Shown {
    subject: Option<String>,
    issuer: Option<String>,
}

impl Shown {
    fn of(certificate: &CertificateDer<'_>) -> Self {
        let read = webpki::EndEntityCert::try_from(certificate);
        let name =
            |of: fn(&webpki::EndEntityCert<'_>) -> Option<String>| read.as_ref().ok().and_then(of);
        Self {
            subject: name(|read| common_name(read.subject())),
            issuer: name(|read| common_name(read.issuer())),
        }
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name =
            |name: &Option<String>| name.clone().unwrap_or_else(|| "nobody named".to_owned());
        write!(f, "of {:?}, issued by {:?}", name(&self.subject), name(&self.issuer))
    }
}

/// The common name in a distinguished name (RFC 5280, 4.1.2.4; OID 2.5.4.3), for people to read.
fn common_name(name: &[u8]) -> Option<String> {
    const COMMON_NAME: &[u8] = &[0x06, 0x03, 0x55, 0x04, 0x03];
    let at = memchr::memmem::find(name, COMMON_NAME)? + COMMON_NAME.len();
    let length = usize::from(*name.get(at + 1)?);
    // Longer ones have another form of length; 64 characters is the most that is allowed.
    let text = name.get(at + 2..at + 2 + length).filter(|_| length < 128)?;
    Some(String::from_utf8_lossy(text).into_owned())
}
