//! Request/response transports to the services, client and server side.
//!
//! A client is a [`Link`]; what a service answers is a [`Handler`]. The stamps around a request,
//! the connection time and the outcome are the same whatever the transport. Beside them, [`respond`] and [`probe`] bring the clocks of hosts that see
//! no request.

mod call;
mod http1;
mod records;
mod responder;
mod server;

pub use call::{Call, CallError, Link, Reply, Request};
pub use http1::{Http1, Http1Config, Target, TargetError};
pub use records::{RecordSender, RecordSenderConfig};
pub use responder::{Peer, PeerError, Probed, probe, respond};
pub use server::{Handler, Inbound, Outbound, http1_routes};
