//! Asking a service, with nothing but a socket.

use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// `GET path`: status and body.
pub fn get(address: SocketAddr, path: &str) -> Result<(u16, String), String> {
    request(address, "GET", path, &[], "")
}

/// `POST path`: status and body.
pub fn post(address: SocketAddr, path: &str, body: &str) -> Result<(u16, String), String> {
    request(address, "POST", path, &[], body)
}

/// The same for a page of this origin.
pub fn post_from(
    origin: &str,
    address: SocketAddr,
    path: &str,
    body: &str,
) -> Result<(u16, String), String> {
    request(address, "POST", path, &[("origin", origin)], body)
}

/// Any request, with further lines in its head: status and body.
pub fn request(
    address: SocketAddr,
    method: &str,
    path: &str,
    lines: &[(&str, &str)],
    body: &str,
) -> Result<(u16, String), String> {
    let patience = Duration::from_secs(5);
    let told = |error: std::io::Error| format!("{address}{path}: {error}");
    let mut tcp = TcpStream::connect_timeout(&address, patience).map_err(told)?;
    tcp.set_read_timeout(Some(patience)).map_err(told)?;
    // HTTP/1.0: the reply is whole when the connection ends.
    let length = body.len();
    let own = lines.iter().all(|(name, _)| *name != "host");
    let host = if own { format!("\r\nhost: {address}") } else { String::new() };
    let lines: Vec<String> =
        lines.iter().map(|(name, value)| format!("\r\n{name}: {value}")).collect();
    let lines = lines.concat();
    let head = format!("{method} {path} HTTP/1.0{host}\r\ncontent-length: {length}{lines}");
    write!(tcp, "{head}\r\n\r\n{body}").map_err(told)?;
    let mut reply = String::new();
    tcp.read_to_string(&mut reply).map_err(told)?;
    let (head, body) =
        reply.split_once("\r\n\r\n").ok_or_else(|| format!("{address}{path}: {reply:?}"))?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    Ok((status.ok_or_else(|| format!("{address}{path}: {head:?}"))?, body.to_owned()))
}

/// `GET path` that must answer 200 with JSON.
pub fn get_json(address: SocketAddr, path: &str) -> Result<Value, String> {
    match get(address, path)? {
        (200, body) => serde_json::from_str(&body).map_err(|error| format!("{error}: {body}")),
        (status, body) => Err(format!("{address}{path}: {status} {body}")),
    }
}
