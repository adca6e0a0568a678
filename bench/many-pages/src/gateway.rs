//! In the gateway's place: hands over messages by an absolute schedule, over the same link.

use crate::{Plan, page};
use anyhow::{Context, bail};
use bytes::Bytes;
use hopwatch_kit::SystemClock;
use hopwatch_link::{Http1, Http1Config, Link, Request, Target};
use hopwatch_model::Ns;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// A message that was handed over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handed {
    /// Our request went out.
    sent: Ns,
    /// The broadcaster had the whole request.
    pub(crate) received: Ns,
    /// We had the whole reply.
    acked: Ns,
}

impl Handed {
    /// From the request to the reply, in ns: how long the gateway waits.
    pub(crate) fn round_trip(&self) -> Ns {
        self.acked - self.sent
    }
}

/// Longer than any request takes.
const DEADLINE: Duration = Duration::from_secs(10);

/// Hands all messages over, each at its time, whether or not those before were answered.
pub(crate) async fn hand_over(address: SocketAddr, plan: &Plan) -> anyhow::Result<Vec<Handed>> {
    let target = Target::parse(&format!("http://{address}/v1/messages"))
        .context("failed to read the broadcaster's address")?;
    let link = Http1::new(Http1Config::new(target), Arc::new(SystemClock::default()))
        .context("failed to open a link to the broadcaster")?;
    let link = Arc::new(link);
    let bodies: Vec<Bytes> = plan.body_bytes.iter().map(|size| body(*size)).collect();
    let begin = Instant::now();
    let mut requests = JoinSet::new();
    for number in 0..plan.messages() {
        let due = Duration::from_nanos(number * 1_000_000_000 / u64::from(plan.rate_hz));
        tokio::time::sleep_until(begin + due).await;
        let trace = Some(page::trace(number).parse().context("failed to make a trace id")?);
        let body = bodies[usize::try_from(number)? % bodies.len()].clone();
        let link = Arc::clone(&link);
        requests.spawn(async move {
            let call = link.call(Request { trace, body, deadline: DEADLINE }).await;
            (number, call)
        });
    }
    let mut calls = requests.join_all().await;
    calls.sort_by_key(|(number, _)| *number);
    let mut handed = Vec::with_capacity(calls.len());
    for (number, call) in calls {
        let reply = match call.result {
            Ok(reply) => reply,
            Err(error) => bail!("the broadcaster did not take message {number}: {error}"),
        };
        let stamps = reply.stamps.context("the broadcaster sent no stamps")?;
        let sent = call.sent.context("a request was answered that never went out")?;
        handed.push(Handed { sent, received: stamps.received, acked: call.ended });
    }
    Ok(handed)
}

/// A message of this size at least, with an answer, as the gateway makes it.
fn body(size: usize) -> Bytes {
    let text = |payload: &str| {
        format!(
            r#"{{"message":{{"header":{{"robot_id":"robot_001","sequence":7}},"battery":0.5,"text":"{payload}"}},"ai":{{"label":"ok"}}}}"#
        )
    };
    let payload = "x".repeat(size.saturating_sub(text("").len()));
    text(&payload).into()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_its_size_and_is_json() {
        for size in [300, 2000] {
            let body = body(size);
            assert_eq!(body.len(), size);
            serde_json::from_slice::<serde_json::Value>(&body).unwrap();
        }
    }
}
