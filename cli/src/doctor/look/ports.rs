//! Whether the ports of the pipeline are free, and else who has them.

use std::fs;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

/// A port that a program of the pipeline wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Port {
    /// Who wants it.
    pub(crate) name: &'static str,
    pub(crate) number: u16,
    pub(crate) state: State,
}

/// How a port stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Free,
    /// Somebody listens on it.
    Taken {
        /// His process, as "1234 (python3)".
        process: Option<String>,
        /// His user.
        user: Option<u32>,
    },
    /// It can't be listened on, for another reason.
    Refused(String),
}

/// The usual ports (S1's).
pub(crate) const USUAL: [(&str, u16); 5] = [
    ("gateway", 8000),
    ("AI service", 5000),
    ("broadcaster", 8001),
    ("collector", 8002),
    ("live page", 3000),
];

/// Tries each.
pub(crate) fn look(wanted: &[(&'static str, u16)]) -> Vec<Port> {
    wanted.iter().map(|&(name, port)| Port { name, number: port, state: state(port) }).collect()
}

fn state(port: u16) -> State {
    match TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))) {
        Ok(_) => State::Free,
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            let listener = ["/proc/net/tcp", "/proc/net/tcp6"]
                .iter()
                .filter_map(|path| fs::read_to_string(path).ok())
                .find_map(|table| listener(&table, port));
            let process = listener.and_then(|(_, inode)| process(inode));
            State::Taken { process, user: listener.map(|(user, _)| user) }
        }
        Err(error) => State::Refused(error.to_string()),
    }
}

/// User and inode of whoever listens on a port (`proc_net_tcp`): the 2nd column is address:port, the
/// 4th the state (0A: listening), the 8th the user, the 10th the inode.
fn listener(table: &str, port: u16) -> Option<(u32, u64)> {
    table.lines().skip(1).find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (_, hex) = words.get(1)?.rsplit_once(':')?;
        let is_it = u16::from_str_radix(hex, 16).ok()? == port && *words.get(3)? == "0A";
        is_it.then_some((words.get(7)?.parse().ok()?, words.get(9)?.parse().ok()?))
    })
}

/// Whose socket it is, where that may be seen.
fn process(inode: u64) -> Option<String> {
    let link = format!("socket:[{inode}]");
    // By number: `self` is in there, too.
    let is_number = |name: std::ffi::OsString| {
        name.to_str().is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let mut found = processes.filter(|entry| is_number(entry.file_name())).filter(|entry| {
        let sockets = fs::read_dir(entry.path().join("fd")).into_iter().flatten().flatten();
        sockets
            .into_iter()
            .any(|of| fs::read_link(of.path()).is_ok_and(|target| target.to_string_lossy() == link))
    });
    let found = found.next()?;
    let name = fs::read_to_string(found.path().join("comm")).unwrap_or_default();
    Some(format!("{} ({})", found.file_name().to_string_lossy(), name.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_a_port_is_found() {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = taken.local_addr().unwrap().port();
        let State::Taken { process, user } = state(port) else { panic!("{:?}", state(port)) };
        let own = std::process::id().to_string();
        assert!(process.as_ref().is_some_and(|text| text.starts_with(&own)), "{process:?}");
        assert_eq!(user, Some(rustix::process::geteuid().as_raw()));
        drop(taken);
        assert_eq!(look(&[("x", port)])[0].state, State::Free);
        assert_eq!(listener("head\n 0: 0100007F:1F90 00000000:0000 01 a b c 7 0 9\n", 8080), None);
    }
}
