//! A service's own certificate.

use super::{HTTP1, HTTP2, Stream, provider};
use crate::config::Refused;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ServerConfig, version};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

/// What a service shows to its clients: its certificate chain, and the key to it.
#[derive(Clone)]
pub struct ServerTls {
    shown: Arc<CertifiedKey>,
    acceptor: TlsAcceptor,
    told: Arc<Mutex<Option<Instant>>>,
}

/// Handshakes that failed are told so often at most.
const TELL: Duration = Duration::from_secs(1);
/// What a TLS connection begins with: a record of a handshake (RFC 8446, 5.1).
const HANDSHAKE: u8 = 0x16;
/// How long a client that doesn't speak TLS may take to read that it should.
const GOODBYE: Duration = Duration::from_secs(1);
/// The answer to it over HTTP/1.1.
const USE_HTTPS: &[u8] = b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\n\
    content-length: 35\r\nconnection: close\r\n\r\nthis port speaks TLS: use https://\n";
/// The same over HTTP/2 (RFC 9113): empty SETTINGS, then GOAWAY with INADEQUATE_SECURITY and the
/// words as its debug data.
const USE_HTTPS_2: &[u8] = b"\0\0\0\x04\0\0\0\0\0\
    \0\0\x2a\x07\0\0\0\0\0\0\0\0\0\0\0\0\x0cthis port speaks TLS: use https://";

impl std::fmt::Debug for ServerTls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ServerTls")
    }
}

impl ServerTls {
    /// From the PEM files that the keys `tls_cert` (the certificate, and those between it and its
    /// CA) and `tls_key` name; `None` where both are empty.
    ///
    /// # Errors
    /// When only one is given, one can't be read, or they don't belong together.
    pub fn load(cert: &str, key: &str) -> Result<Option<Self>, Refused> {
        if cert.is_empty() && key.is_empty() {
            return Ok(None);
        }
        if cert.is_empty() || key.is_empty() {
            let (given, missing) =
                if cert.is_empty() { ("tls_key", "tls_cert") } else { ("tls_cert", "tls_key") };
            return Err(Refused(format!("{given} needs {missing} beside it")));
        }
        let chain = certificates("tls_cert", cert)?;
        let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| {
            Refused(format!("tls_key: no private key can be read from {key}: {error}"))
        })?;
        tell_open_key(key);
        let shown = CertifiedKey::from_der(chain, secret, &provider()).map_err(|error| {
            Refused(format!("tls_cert {cert} and tls_key {key} don't go together: {error}"))
        })?;
        let shown = Arc::new(shown);
        let config = config(&shown, &[HTTP2, HTTP1])
            .map_err(|error| Refused(format!("tls_cert {cert} can't be used: {error}")))?;
        Ok(Some(Self { shown, acceptor: Arc::new(config).into(), told: Arc::default() }))
    }

    /// For another protocol inside (ALPN), with the same certificate.
    ///
    /// # Errors
    /// When the cryptography lacks what TLS wants.
    pub fn config(&self, protocol: &[u8]) -> Result<ServerConfig, rustls::Error> {
        config(&self.shown, &[protocol])
    }

    /// The handshake. A client that speaks plain HTTP is told so in a sentence; how a handshake
    /// failed is logged, once a second at most.
    ///
    /// Takes as long as the client does: whoever calls bounds it.
    pub(crate) async fn accept(&self, tcp: TcpStream) -> Option<Stream> {
        let from = tcp.peer_addr().map_or_else(|_| "?".to_owned(), |from| from.to_string());
        let mut first = [0; 3];
        match tcp.peek(&mut first).await {
            // Gone without a word.
            Ok(0) | Err(_) => return None,
            Ok(_) if first[0] != HANDSHAKE => {
                self.tell(&from, "it speaks no TLS: its URL must begin with https://");
                let answer = if first.starts_with(b"PRI") { USE_HTTPS_2 } else { USE_HTTPS };
                let _gone = tokio::time::timeout(GOODBYE, say(tcp, answer)).await;
                return None;
            }
            Ok(_) => {}
        }
        match self.acceptor.accept(tcp).await {
            Ok(tls) => Some(Stream::Tls(Box::new(tls.into()))),
            Err(error) => {
                self.tell(&from, &error.to_string());
                None
            }
        }
    }

    fn tell(&self, from: &str, why: &str) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.is_none_or(|told| told.elapsed() >= TELL) {
            *told = Some(Instant::now());
            tracing::warn!(from, "a client did not come in by TLS: {why}");
        }
    }
}

fn config(shown: &Arc<CertifiedKey>, protocols: &[&[u8]]) -> Result<ServerConfig, rustls::Error> {
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&version::TLS13, &version::TLS12])?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(Arc::clone(shown))));
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    Ok(config)
}

/// All certificates of a PEM file, at least one.
pub(super) fn certificates(key: &str, path: &str) -> Result<Vec<CertificateDer<'static>>, Refused> {
    let none = |why: &dyn std::fmt::Display| {
        Refused(format!("{key}: no certificate can be read from {path}: {why}"))
    };
    let read = CertificateDer::pem_file_iter(path).map_err(|error| none(&error))?;
    let chain = read.collect::<Result<Vec<_>, _>>().map_err(|error| none(&error))?;
    if chain.is_empty() {
        return Err(none(&"the file holds none (-----BEGIN CERTIFICATE-----)"));
    }
    Ok(chain)
}

fn tell_open_key(path: &str) {
    let mode = std::fs::metadata(Path::new(path)).map_or(0, |file| file.permissions().mode());
    if mode & 0o077 != 0 {
        tracing::warn!("tls_key {path} can be read by others: chmod 600 {path}");
    }
}

/// Says something and hears the client out: what it sent and nobody read would have its system
/// throw the answer away.
async fn say(mut tcp: TcpStream, words: &[u8]) -> io::Result<()> {
    tcp.write_all(words).await?;
    tcp.shutdown().await?;
    let mut unread = [0; 4096];
    while tcp.read(&mut unread).await? > 0 {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answers_are_as_long_as_they_say() {
        let text = std::str::from_utf8(USE_HTTPS).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}", body.len())), "{head}");
        let goaway = &USE_HTTPS_2[9..];
        assert_eq!(usize::from(goaway[2]), goaway.len() - 9);
    }
}
