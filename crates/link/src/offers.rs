//! Where a service's links beside TCP are: `GET /v1/links`, asked once and again when one fails.

use crate::call::CallError;
use crate::http1::{Answered, Connection, broken};
use crate::target::Target;
use bytes::Bytes;
use hopwatch_model::Failure;
use http::header::HOST;
use http_body_util::Full;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

/// Path of the answer.
pub(crate) const PATH: &str = "/v1/links";
/// A longer answer isn't one.
const LONGEST: usize = 4096;

/// The answer: ports of UDP at the service's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ports {
    /// Where datagrams are taken.
    #[serde(default)]
    pub(crate) udp: Option<u16>,
    /// Where QUIC is spoken.
    #[serde(default)]
    pub(crate) quic: Option<u16>,
}

/// What is known of a service's ports.
pub(crate) struct Offers {
    target: Target,
    link: &'static str,
    port: fn(&Ports) -> Option<u16>,
    known: Mutex<Option<SocketAddr>>,
    /// Held while the service is asked: the others wait for that answer.
    asking: tokio::sync::Mutex<()>,
}

impl Offers {
    /// `port` picks the one that `link` wants.
    pub(crate) fn new(
        target: &Target,
        link: &'static str,
        port: fn(&Ports) -> Option<u16>,
    ) -> Self {
        Self {
            target: target.clone(),
            link,
            port,
            known: Mutex::default(),
            asking: tokio::sync::Mutex::default(),
        }
    }

    pub(crate) fn known(&self) -> Option<SocketAddr> {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks again the next time: the service may have been started anew, with other ports.
    pub(crate) fn forget(&self) {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// What is known, or what the service answers.
    pub(crate) async fn get(&self) -> Result<SocketAddr, CallError> {
        if let Some(known) = self.known() {
            return Ok(known);
        }
        let _turn = self.asking.lock().await;
        match self.known() {
            Some(known) => Ok(known),
            None => self.ask().await,
        }
    }

    async fn ask(&self) -> Result<SocketAddr, CallError> {
        let none = |why: &str| {
            let (at, link) = (self.target.authority(), self.link);
            let detail = format!("{at} offers no {link} link (GET {PATH}: {why})");
            CallError::new(Failure::Unreachable, detail)
        };
        let mut connection = Connection::open(&self.target).await?;
        let address = connection.peer.ip();
        let mut question = http::Request::new(Full::<Bytes>::default());
        *question.uri_mut() = http::Uri::from_static(PATH);
        if let Ok(host) = self.target.authority().parse() {
            question.headers_mut().insert(HOST, host);
        }
        match connection.answer(question, LONGEST).await? {
            Answered::Unsent(_, error) => Err(broken(&error)),
            Answered::Whole(parts, body) if !parts.status.is_success() => {
                let said = String::from_utf8_lossy(&body[..body.len().min(120)]).trim().to_owned();
                let said = if said.is_empty() { said } else { format!(" {said:?}") };
                Err(none(&format!("{}{said}", parts.status.as_str())))
            }
            Answered::Whole(_, body) => {
                let ports: Ports = serde_json::from_slice(&body)
                    .map_err(|error| none(&format!("no such answer: {error}")))?;
                let port = (self.port)(&ports).filter(|port| *port != 0);
                let at = SocketAddr::new(address, port.ok_or_else(|| none("not among them"))?);
                *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(at);
                Ok(at)
            }
        }
    }
}
