//! In the collector's place: takes records, and keeps how long pushes took.

use anyhow::Context;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use hopwatch_kit::Shutdown;
use hopwatch_kit::net::{self, Token};
use hopwatch_model::Ns;
use serde::Deserialize;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// Takes records.
pub(crate) struct Collector {
    address: SocketAddr,
    pushes: Arc<Mutex<Vec<Ns>>>,
    end: Shutdown,
}

/// What we read of a record.
#[derive(Deserialize)]
struct Line<'a> {
    kind: &'a str,
    frame_sent: Option<&'a str>,
    received: Option<serde_json::Value>,
}

impl Line<'_> {
    /// frame_sent → browser_received: the pages' clock is the broadcaster's.
    fn push(&self) -> Option<Ns> {
        let sent: Ns = self.frame_sent.filter(|_| self.kind == "client")?.parse().ok()?;
        let received: Ns = self.received.as_ref()?.as_str()?.parse().ok()?;
        Some(received - sent)
    }
}

impl Collector {
    /// Listens on a free port.
    pub(crate) async fn start() -> anyhow::Result<Self> {
        let listener = net::bind(SocketAddr::from(([127, 0, 0, 1], 0)), &Token::none()).await?;
        let address = listener.local_addr().context("failed to ask for the own address")?;
        let (pushes, end) = (Arc::<Mutex<Vec<Ns>>>::default(), Shutdown::new());
        let app = Router::new().route("/v1/records", post(take)).with_state(Arc::clone(&pushes));
        tokio::spawn(net::serve(listener, app, end.clone()));
        Ok(Self { address, pushes, end })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The length of each push that was recorded, in ns.
    pub(crate) fn end(self) -> Vec<Ns> {
        self.end.begin();
        std::mem::take(&mut self.pushes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

async fn take(State(pushes): State<Arc<Mutex<Vec<Ns>>>>, body: String) -> StatusCode {
    let lines = body.lines().filter_map(|line| serde_json::from_str::<Line<'_>>(line).ok());
    let new: Vec<Ns> = lines.filter_map(|line| line.push()).collect();
    pushes.lock().unwrap_or_else(PoisonError::into_inner).extend(new);
    StatusCode::OK
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn a_push_is_read_from_a_record_of_a_page() {
        let push = |line| serde_json::from_str::<Line<'_>>(line).unwrap().push();
        let client =
            r#"{"source":"b","number":1,"kind":"client","frame_sent":"250","received":"1000"}"#;
        assert_eq!(push(client), Some(750));
        assert_eq!(push(r#"{"source":"b","number":2,"kind":"broadcaster","received":7}"#), None);
    }
}
