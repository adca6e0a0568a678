//! What a live page needs besides its server: a way to the services where they are in network
//! namespaces, and where to set what the network loses.

use crate::fetch::Collector;
use crate::network::{Door, LossControl, Namespaces, Place};
use crate::stack::{Addresses, PagePorts, Ports};
use anyhow::Context;
use hopwatch_kit::net::{self, AllowedOrigins, Token};
use hopwatch_kit::{Shutdown, controls};
use hopwatch_wire::controls::Controls;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

/// What is open for the page. Dropped, it is closed.
pub(crate) struct Watched {
    doors: Vec<Door>,
    network: Shutdown,
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.network.begin();
    }
}

/// Where the programs listen, and how the page is to get there.
pub(crate) struct Connects<'a> {
    pub(crate) addresses: &'a Addresses,
    /// Where the robots can be set.
    pub(crate) robots: Option<SocketAddr>,
    pub(crate) ports: Ports,
    pub(crate) token: &'a Token,
}

/// Opens what the page needs, and tells where it is.
pub(crate) async fn open(
    connects: Connects<'_>,
    namespaces: Option<&Namespaces>,
    collector: &Arc<Collector>,
) -> anyhow::Result<(PagePorts, Watched)> {
    let Connects { addresses, robots, ports, token } = connects;
    let mut watched = Watched { doors: Vec::new(), network: Shutdown::new() };
    let mut network_port = None;
    if let Some(namespaces) = namespaces {
        let control = LossControl::new(namespaces.loss(), Arc::clone(collector));
        let listener = net::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), token).await?;
        network_port = Some(listener.local_addr().context("failed to ask for a port")?.port());
        let origins = AllowedOrigins::default();
        let routes = controls::settings(Arc::new(control), token.clone(), origins);
        tokio::spawn(net::serve(listener, routes, watched.network.clone()));
        tell_token(token);
    }
    let mut reach = async |address: SocketAddr, port: u16, place: Place| {
        let Some(namespaces) = namespaces else { return anyhow::Ok(address.port()) };
        let door = Door::open(port, address, &namespaces.file(place)).await?;
        let port = door.port();
        watched.doors.push(door);
        Ok(port)
    };
    let broadcaster = reach(addresses.broadcaster, ports.broadcaster, Place::Services).await?;
    let page_ports = PagePorts {
        broadcaster,
        collector: reach(addresses.collector, ports.collector, Place::Services).await?,
        controls: Controls {
            ai_port: match addresses.ai {
                Some(ai) => Some(reach(ai, ports.ai, Place::Services).await?),
                None => None,
            },
            robots_port: match robots {
                Some(robots) => Some(reach(robots, 0, Place::Robot).await?),
                None => None,
            },
            network_port,
            token_needed: token.secret().is_some(),
        },
    };
    Ok((page_ports, watched))
}

/// Services in namespaces want the token of those who set something. One that was made for this
/// run alone is told to those who started it, and to nobody else.
fn tell_token(token: &Token) {
    let of_this_run = Token::from_environment().is_ok_and(|given| given.secret().is_none());
    if let Some(secret) = token.secret().filter(|_| of_this_run) {
        tell!("to set something from the live page, show it this token: {secret}");
    }
}
