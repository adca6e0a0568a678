//! `hopwatch respond`: this host's clocks for a gateway elsewhere.

use crate::args::{Respond, Usage};
use anyhow::Context;
use hopwatch_kit::Shutdown;
use hopwatch_kit::clock::clock_id;
use hopwatch_kit::service::exit;
use std::io::Write;
use tokio::net::UdpSocket;

/// Answers until Ctrl-C.
pub(crate) async fn run(respond: Respond) -> anyhow::Result<u8> {
    let socket = UdpSocket::bind(respond.listen).await.map_err(|error| {
        Usage(format!("failed to listen on {}: {error}; choose another --listen", respond.listen))
    })?;
    let address = socket.local_addr().context("failed to tell the address")?;
    writeln!(std::io::stdout(), "clock responder: {address} (clock {})", clock_id())
        .context("failed to print")?;
    let shutdown = Shutdown::on_signals(false).context("failed to listen for signals")?;
    let (answered, refused) =
        hopwatch_link::respond(socket, shutdown).await.context("failed to answer")?;
    tell!("answered {answered} questions, passed over {refused} datagrams that were none");
    Ok(exit::OK)
}
