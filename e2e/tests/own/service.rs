//! An AI service of somebody's own: it keeps what it was asked, and tells its own time in its answer.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// What it was asked.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// "POST /path HTTP/1.1", and its headers in lower case.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

/// The service. Its threads end with the test's process.
pub(crate) struct Service {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
}

/// How long its model takes.
pub(crate) const MODEL: Duration = Duration::from_millis(20);

impl Service {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let service = Self { address: listener.local_addr().unwrap(), asked: Arc::default() };
        let asked = Arc::clone(&service.asked);
        thread::spawn(move || {
            for tcp in listener.incoming().map_while(Result::ok) {
                let asked = Arc::clone(&asked);
                thread::spawn(move || serve(&tcp, &asked));
            }
        });
        service
    }

    /// Everything that it was asked.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

fn serve(mut tcp: &TcpStream, asked: &Mutex<Vec<Asked>>) {
    tcp.set_nodelay(true).unwrap();
    let mut reader = BufReader::new(tcp.try_clone().unwrap());
    while let Some(request) = read(&mut reader) {
        let begun = Instant::now();
        thread::sleep(MODEL);
        let bytes = request.body.len();
        asked.lock().unwrap().push(request);
        let took = begun.elapsed().as_secs_f64() * 1e3;
        let answer = format!(r#"{{"label":"cat","bytes":{bytes},"timing":{{"took":{took}}}}}"#);
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ";
        if write!(tcp, "{head}{}\r\n\r\n{answer}", answer.len()).is_err() {
            return;
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Asked> {
    let mut head = String::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line.trim_end().is_empty() {
            break;
        }
        let lower = line.to_ascii_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        head.push_str(if head.is_empty() { &line } else { &lower });
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Asked { head, body })
}
