//! A ROS domain that no other test has at the time.

use std::ops::RangeInclusive;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

/// The domains of these tests. Like 0 to 101, these have ports that Linux gives to nobody for the
/// asking; but `hopwatch` chooses among those when it isn't told, for whoever uses it meanwhile.
const DOMAINS: RangeInclusive<u8> = 215..=232;

/// A domain, taken until it is dropped.
pub(crate) struct Domain {
    pub(crate) id: u8,
    // An abstract socket: the kernel knows who has it, and frees it however the test ends.
    _taken: UnixListener,
}

impl Domain {
    /// Takes a free one.
    pub(crate) fn take() -> Self {
        // Tests at the same time begin at different ones: nobody waits for another's discovery
        // traffic to die down.
        let begin = usize::try_from(std::process::id()).unwrap() % DOMAINS.len();
        let mut order = DOMAINS.cycle().skip(begin).take(DOMAINS.len());
        let free = order.find_map(|id| {
            let name = format!("hopwatch-e2e-domain-{id}");
            let address = SocketAddr::from_abstract_name(name).unwrap();
            let taken = UnixListener::bind_addr(&address).ok()?;
            Some(Self { id, _taken: taken })
        });
        free.expect("no ROS domain of 215 to 232 is free: are so many tests running?")
    }
}
