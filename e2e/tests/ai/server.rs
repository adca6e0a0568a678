//! An AI service of the test's own, rude on demand: HTTP/1.1 on plain sockets.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// How a request is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Manner {
    /// JSON, and nothing about itself.
    Good,
    /// JSON, and its own time by `Server-Timing`.
    Timed,
    /// As `Timed`, but at once, and head and body in a segment each, without `TCP_NODELAY`: Nagle's
    /// algorithm keeps the body back until the head is acknowledged.
    InTwo,
    /// The head at once, and the body when a model would have it; with `TCP_NODELAY`.
    #[allow(dead_code, reason = "only the doctor's tests ask for it")]
    Streamed,
    /// A status, with an error page.
    Status(u16),
    /// An error page that claims to be a success.
    Html,
    /// JSON by its type, and none by its bytes.
    BrokenJson,
    /// An empty body that claims to be JSON.
    Empty,
    /// More than the gateway is willing to read.
    TooLong,
    /// Not HTTP.
    Garbage,
    /// The request is read, and the connection closed.
    Nothing,
    /// The connection is closed inside the body.
    Half,
    /// A good answer, long after the deadline.
    Late,
    /// A head in time, and a body that never ends.
    Drip,
}

/// As long as Linux delays an acknowledgement, and a little.
const A_MODEL: Duration = Duration::from_millis(41);
/// Longer than the gateway is told to wait.
const TOO_LONG: Duration = Duration::from_millis(900);

/// The service. Its threads end with the test's process.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    answered: Arc<Mutex<BTreeMap<Manner, u64>>>,
    open: Arc<Mutex<Vec<TcpStream>>>,
    closed: Arc<AtomicBool>,
}

impl Server {
    /// Answers the n-th request as `manner(n)` says.
    pub(crate) fn start(
        address: SocketAddr,
        manner: impl Fn(usize) -> Manner + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let server = Self {
            address: listener.local_addr().unwrap(),
            answered: Arc::default(),
            open: Arc::default(),
            closed: Arc::default(),
        };
        let (answered, open) = (Arc::clone(&server.answered), Arc::clone(&server.open));
        let (closed, manner) = (Arc::clone(&server.closed), Arc::new(manner));
        let requests = Arc::new(AtomicUsize::new(0));
        thread::spawn(move || {
            for tcp in listener.incoming() {
                if closed.load(Ordering::SeqCst) {
                    return;
                }
                let tcp = tcp.unwrap();
                open.lock().unwrap().push(tcp.try_clone().unwrap());
                let (answered, requests) = (Arc::clone(&answered), Arc::clone(&requests));
                let manner = Arc::clone(&manner);
                thread::spawn(move || {
                    let next = || {
                        let manner = manner(requests.fetch_add(1, Ordering::SeqCst));
                        *answered.lock().unwrap().entry(manner).or_default() += 1;
                        manner
                    };
                    serve(tcp, next);
                });
            }
        });
        server
    }

    /// How many requests were answered in each manner.
    pub(crate) fn answered(&self) -> BTreeMap<Manner, u64> {
        self.answered.lock().unwrap().clone()
    }

    /// Stops listening and closes every connection: from now on the port is closed.
    pub(crate) fn close(self) {
        self.closed.store(true, Ordering::SeqCst);
        // The listener notices by a last connection.
        let _refused = TcpStream::connect(self.address);
        for tcp in self.open.lock().unwrap().drain(..) {
            let _gone = tcp.shutdown(Shutdown::Both);
        }
    }
}

/// Serves one connection until a manner ends it, or the other side does.
fn serve(mut tcp: TcpStream, next: impl Fn() -> Manner) {
    let mut reader = BufReader::new(tcp.try_clone().unwrap());
    while read_request(&mut reader).is_some() {
        if !answer(&mut tcp, next()).unwrap_or(false) {
            let _gone = tcp.shutdown(Shutdown::Both);
            return;
        }
    }
}

/// The body of the next request; `None` when there is none.
fn read_request(reader: &mut BufReader<TcpStream>) -> Option<Vec<u8>> {
    let mut length = None;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok();
        }
        if line.is_empty() {
            let mut body = vec![0; length?];
            reader.read_exact(&mut body).ok()?;
            return Some(body);
        }
    }
}

/// Answers, in one segment unless asked otherwise; false when the connection is to be closed.
fn answer(tcp: &mut TcpStream, manner: Manner) -> std::io::Result<bool> {
    const JSON: &str = "application/json";
    let say = |text: String| (&*tcp).write_all(text.as_bytes());
    let good = r#"{"label":"normal"}"#;
    match manner {
        Manner::Good => say(format!("{}{good}", head(200, JSON, good.len(), "")))?,
        Manner::Timed => {
            // What it tells of itself must be what it took.
            thread::sleep(Duration::from_millis(5));
            let timing = "server-timing: wait;dur=1.0, infer;dur=4.0\r\n";
            say(format!("{}{good}", head(200, JSON, good.len(), timing)))?;
        }
        Manner::InTwo => {
            let timing = "server-timing: infer;dur=0.01\r\n";
            tcp.write_all(head(200, JSON, good.len(), timing).as_bytes())?;
            tcp.write_all(good.as_bytes())?;
        }
        Manner::Streamed => {
            tcp.set_nodelay(true)?;
            tcp.write_all(head(200, JSON, good.len(), "").as_bytes())?;
            thread::sleep(A_MODEL);
            tcp.write_all(good.as_bytes())?;
        }
        Manner::Status(status) => {
            let page = "<h1>No.</h1>";
            say(format!("{}{page}", head(status, "text/html", page.len(), "")))?;
        }
        Manner::Html => {
            let page = "<h1>Log in to the network</h1>";
            write!(tcp, "{}{page}", head(200, "text/html; charset=utf-8", page.len(), ""))?;
        }
        Manner::BrokenJson => say(format!("{}{{\"label\":", head(200, JSON, 9, "")))?,
        Manner::Empty => say(head(200, JSON, 0, ""))?,
        Manner::TooLong => {
            let body = "[".to_owned() + &"1,".repeat(200_000) + "1]";
            say(format!("{}{body}", head(200, JSON, body.len(), "")))?;
        }
        Manner::Garbage => {
            write!(tcp, "SSH-2.0-OpenSSH_9.9\r\n\r\n")?;
            return Ok(false);
        }
        Manner::Nothing => return Ok(false),
        Manner::Half => {
            say(format!("{}{{\"label\"", head(200, JSON, 500, "")))?;
            return Ok(false);
        }
        Manner::Late => {
            thread::sleep(TOO_LONG);
            say(format!("{}{good}", head(200, JSON, good.len(), "")))?;
        }
        Manner::Drip => {
            say(head(200, JSON, 500, ""))?;
            for _ in 0..9 {
                write!(tcp, " ")?;
                thread::sleep(TOO_LONG / 9);
            }
            return Ok(false);
        }
    }
    Ok(true)
}

fn head(status: u16, media_type: &str, length: usize, more: &str) -> String {
    format!(
        "HTTP/1.1 {status} Said\r\ncontent-type: {media_type}\r\ncontent-length: {length}\r\n\
         {more}\r\n"
    )
}
