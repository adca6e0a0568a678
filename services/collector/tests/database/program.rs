//! The collector as a process, and HTTP to it.

use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A running collector. Dropped, it is killed.
pub(crate) struct Collector {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Collector {
    /// Starts one that stores into `database`; without, in memory.
    pub(crate) fn start(database: Option<&Path>) -> Self {
        Self::start_with(database, &[])
    }

    /// The same with more words on its command line.
    pub(crate) fn start_with(database: Option<&Path>, words: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hopwatch-collector"));
        command.args(["--listen", "127.0.0.1:0"]).args(words).env_clear();
        if let Some(path) = database {
            command.arg("--database").arg(path);
        }
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let told: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line:?}"));
        let address = told["listening"].as_str().unwrap().parse().unwrap();
        Self { child, address }
    }

    /// SIGKILL.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn status(&self) -> Value {
        serde_json::from_str(&get(self.address, "/v1/status")).unwrap()
    }

    pub(crate) fn dataset(&self) -> String {
        get(self.address, "/v1/dataset")
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _ended = self.child.wait();
    }
}

fn get(address: SocketAddr, path: &str) -> String {
    let (status, body) = http(address, &format!("GET {path}"), "").unwrap();
    assert_eq!(status, 200, "{body}");
    body
}

/// Sends records; `Err` when there was no whole answer.
pub(crate) fn post(address: SocketAddr, body: &str) -> std::io::Result<(u16, String)> {
    http(address, "POST /v1/records", body)
}

pub(crate) fn http(address: SocketAddr, what: &str, body: &str) -> std::io::Result<(u16, String)> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    // HTTP/1.0: the body ends where the connection does, and isn't in chunks.
    let length = body.len();
    write!(stream, "{what} HTTP/1.0\r\nhost: {address}\r\ncontent-length: {length}\r\n\r\n{body}")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let cut = || std::io::Error::other(format!("no whole answer: {text:?}"));
    let (head, body) = text.split_once("\r\n\r\n").ok_or_else(cut)?;
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).ok_or_else(cut)?;
    Ok((status, body.to_owned()))
}
