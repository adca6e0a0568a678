//! The broadcaster under load: started, asked, watched and stopped.

use crate::{Plan, system};
use anyhow::{Context, bail, ensure};
use serde::Deserialize;
use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

/// How long it may take to start, to answer and to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// A broadcaster of our own. Dropped, it is killed.
pub(crate) struct Broadcaster {
    child: Child,
    pid: u32,
    address: SocketAddr,
}

/// What the broadcaster says of a page, as far as we read it.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Told {
    pub(crate) client: String,
    pub(crate) offered: u64,
    pub(crate) frames_sent: u64,
    pub(crate) frames_dropped: u64,
    pub(crate) waiting: u64,
    pub(crate) acked: u64,
    pub(crate) rubbish: u64,
    pub(crate) connected: u64,
}

#[derive(Deserialize)]
struct Pages {
    clients: Vec<Told>,
}

#[derive(Deserialize)]
struct Announced {
    listening: SocketAddr,
}

impl Broadcaster {
    /// Starts it on a free port; it tells `collector`.
    pub(crate) async fn start(plan: &Plan, collector: SocketAddr) -> anyhow::Result<Self> {
        let program = plan.broadcaster.display();
        let mut child = Command::new(&plan.broadcaster)
            .args(["--listen", "127.0.0.1:0", "--log-format", "json"])
            .args(["--collector-url", &format!("http://{collector}/v1/records")])
            .args(&plan.words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| {
                format!(
                    "failed to start {program}: build it (cargo build --release -p \
                     hopwatch-broadcaster), or say where it is with --programs"
                )
            })?;
        let pid = child.id().context("the broadcaster ended at once")?;
        let stdout = child.stdout.take().context("the broadcaster has no standard output")?;
        let mut lines = BufReader::new(stdout).lines();
        let announced = tokio::time::timeout(PATIENCE, async {
            while let Some(line) = lines.next_line().await? {
                if let Ok(Announced { listening }) = serde_json::from_str(&line) {
                    return Ok(listening);
                }
            }
            bail!("the broadcaster ended before it listened; what it said stands above")
        });
        let address = announced.await.context("the broadcaster doesn't listen after 10 s")??;
        // It must never wait for us to read.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Ok(Self { child, pid, address })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Its resident memory in bytes, now and at most.
    pub(crate) fn memory(&self) -> anyhow::Result<(u64, u64)> {
        system::memory(self.pid)
    }

    /// Its processor time in seconds.
    pub(crate) fn cpu(&self) -> anyhow::Result<f64> {
        system::cpu(&self.pid.to_string())
    }

    /// What it says of each page.
    pub(crate) async fn clients(&self) -> anyhow::Result<Vec<Told>> {
        let asked = async {
            let mut tcp = TcpStream::connect(self.address).await?;
            let request = format!("GET /v1/clients HTTP/1.0\r\nhost: {}\r\n\r\n", self.address);
            tcp.write_all(request.as_bytes()).await?;
            let mut reply = String::new();
            tcp.read_to_string(&mut reply).await.map(|_| reply)
        };
        let reply = tokio::time::timeout(PATIENCE, asked)
            .await
            .context("the broadcaster doesn't answer GET /v1/clients within 10 s")?
            .context("failed to ask the broadcaster for its pages")?;
        let (head, body) = reply.split_once("\r\n\r\n").unwrap_or((&reply, ""));
        ensure!(head.contains(" 200 "), "GET /v1/clients of the broadcaster answered: {head}");
        let pages: Pages = serde_json::from_str(body)
            .context("failed to read what the broadcaster says of its pages")?;
        Ok(pages.clients)
    }

    /// Ends it in order.
    pub(crate) async fn stop(mut self) -> anyhow::Result<()> {
        let pid = i32::try_from(self.pid).ok().and_then(rustix::process::Pid::from_raw);
        let pid = pid.context("the broadcaster has no process id")?;
        rustix::process::kill_process(pid, rustix::process::Signal::INT)
            .context("failed to end the broadcaster: it is gone already")?;
        let ended = tokio::time::timeout(PATIENCE, self.child.wait()).await;
        let status = ended.context("the broadcaster doesn't end within 10 s")?;
        let status = status.context("failed to wait for the broadcaster")?;
        ensure!(status.success(), "the broadcaster failed: {status}");
        Ok(())
    }
}
