//! Request/response transports to the services, client and server side.
//!
//! A client is a [`Link`], which [`open`] makes by its [`LinkKind`]; what a service answers is a
//! [`Handler`], which [`Server`] puts on all of them. The stamps around a request, the connection
//! time, the limits and the outcome are the same whatever the transport. Beside them, [`respond`]
//! and [`probe`] bring the clocks of hosts that see no request.

mod asking;
mod call;
mod counts;
mod grpc;
mod grpc_message;
mod http1;
mod http2;
mod kind;
mod names;
mod offers;
mod patience;
mod pool;
mod progress;
mod quic;
mod records;
mod responder;
mod server;
mod shared;
mod target;
mod udp;
mod websocket;

pub use call::{Call, CallError, Ignored, Link, Reply, Request};
pub use http1::{Http1, Http1Config, HttpForm};
pub use kind::{LinkConfig, LinkKind, RetryConfig, open};
pub use records::{RecordSender, RecordSenderConfig};
pub use responder::{Peer, PeerError, Probed, probe, respond};
pub use server::{ECHO, Handler, Inbound, Opened, Outbound, Server};
pub use target::{Target, TargetError};
