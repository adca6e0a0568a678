//! One program as a child process: started, watched, stopped in order.

use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use std::borrow::Cow;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child as Process, ChildStdin, ChildStdout, Command};

/// How long a program may take to tell where it listens. ROS takes a second or two.
const START: Duration = Duration::from_secs(30);

/// A running program.
pub(crate) struct Child {
    pub(crate) name: Cow<'static, str>,
    process: Process,
    /// Its end tells the program that we are gone, however we went.
    _stdin: Option<ChildStdin>,
    stdout: Option<Lines<BufReader<ChildStdout>>>,
    log: PathBuf,
}

#[derive(Deserialize)]
struct Announcement {
    listening: SocketAddr,
}

impl Child {
    /// Starts the service `hopwatch-<name>` that lies beside this one, in a network namespace if one
    /// is named.
    pub(crate) fn start(
        name: &'static str,
        args: &[String],
        environment: &[(String, String)],
        namespace: Option<&str>,
        logs: &Path,
    ) -> anyhow::Result<Self> {
        let program = beside(&format!("hopwatch-{name}"))?;
        let mut command = match namespace {
            // It becomes the program: its id and its signals are the program's.
            Some(namespace) => {
                let mut command = Command::new("ip");
                command.args(["netns", "exec", namespace]).arg(&program);
                command
            }
            None => Command::new(&program),
        };
        command
            .args(args)
            .args(["--end-with-parent", "--log-format", "json"])
            .envs(environment.iter().map(|(key, value)| (key, value)));
        Self::spawn(name.into(), command, &logs.join(format!("{name}.log")))
    }

    /// Starts a command that ends when its standard input does, with its errors in a file.
    pub(crate) fn spawn(
        name: Cow<'static, str>,
        mut command: Command,
        log: &Path,
    ) -> anyhow::Result<Self> {
        let stderr = std::fs::File::create(log)
            .with_context(|| format!("failed to write {}", log.display()))?;
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(stderr)
            // Ctrl-C in the terminal is for us: the children are stopped in order.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| {
                let program = Path::new(command.as_std().get_program()).display();
                format!("failed to start {program} (is it built? ./hopwatch builds it)")
            })?;
        let stdin = process.stdin.take();
        let stdout = process.stdout.take().map(|out| BufReader::new(out).lines());
        Ok(Self { name, process, _stdin: stdin, stdout, log: log.to_owned() })
    }

    /// Where it listens, once it says so.
    pub(crate) async fn address(&mut self) -> anyhow::Result<SocketAddr> {
        let line = match tokio::time::timeout(START, self.line()).await {
            Ok(Some(line)) => line,
            Ok(None) => return Err(self.died().await),
            Err(_) => bail!("{}", self.late(START)),
        };
        let announcement: Announcement = serde_json::from_str(&line)
            .with_context(|| format!("{} announced {line:?}", self.name))?;
        Ok(announcement.listening)
    }

    /// The next line that it prints; none when it ended, or closed its output.
    pub(crate) async fn line(&mut self) -> Option<String> {
        self.stdout.as_mut()?.next_line().await.ok().flatten()
    }

    /// What is to be said when it had not got ready after a time.
    pub(crate) fn late(&self, after: Duration) -> String {
        let (name, log) = (&self.name, self.log.display());
        format!("{name} did not get ready within {} s; its log: {log}", after.as_secs())
    }

    /// Why it ended when it should not have, in its own last words.
    pub(crate) async fn died(&mut self) -> anyhow::Error {
        let status = self.process.wait().await.ok();
        let code = status.and_then(|s| s.code());
        let how = status.map_or_else(|| "unknown".to_owned(), |status| status.to_string());
        let words = last_words(&self.log);
        let text = format!("{} ended ({how}): {words}", self.name);
        if code == Some(i32::from(hopwatch_kit::service::exit::USAGE)) {
            anyhow::Error::new(crate::args::Usage(text))
        } else {
            anyhow::Error::msg(text)
        }
    }

    /// Waits until it ends by itself.
    pub(crate) async fn ended(&mut self) -> anyhow::Result<ExitStatus> {
        self.process.wait().await.with_context(|| format!("failed to wait for {}", self.name))
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(Some(_)))
    }

    /// Asks it to end (SIGINT: DDS cleans up), and waits; SIGKILL only when it won't. Whether it
    /// ended without that.
    pub(crate) async fn stop(&mut self, patience: Duration) -> bool {
        if self.has_ended() {
            return true;
        }
        self.interrupt();
        let ended = tokio::time::timeout(patience, self.process.wait()).await.is_ok();
        if !ended {
            tracing::warn!(program = %self.name, "did not end in time and was killed");
            let _gone = self.process.kill().await;
        }
        ended
    }

    /// Asks it to end, by SIGINT, and doesn't wait.
    pub(crate) fn interrupt(&self) {
        if let Some(pid) = self.pid() {
            let _gone = kill_process(pid, Signal::INT);
        }
    }

    /// Its process.
    pub(crate) fn pid(&self) -> Option<Pid> {
        self.process.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw)
    }
}

/// The path of a program that lies beside this one.
pub(crate) fn beside(name: &str) -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe().context("failed to find this program's own path")?;
    Ok(own.with_file_name(name))
}

/// What a program said of its end: the last error of its log, else what is no line of a log at
/// all (of its command line's parser, of the loader, of a panic).
fn last_words(log: &Path) -> String {
    #[derive(Deserialize)]
    struct Line {
        level: String,
        message: String,
    }
    const LONGEST: usize = 400;
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let mut plain = Vec::new();
    for line in text.lines().rev() {
        match serde_json::from_str::<Line>(line) {
            Ok(line) if line.level == "ERROR" => return line.message,
            Ok(_) => {}
            Err(_) if line.starts_with("error: ") => return line.to_owned(),
            Err(_) => plain.push(line),
        }
    }
    plain.reverse();
    let said = plain.join(" ").trim().chars().take(LONGEST).collect::<String>();
    if said.is_empty() { format!("its log has no error, see {}", log.display()) } else { said }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_are_the_ones_that_say_why() {
        let folder = std::env::temp_dir().join(format!("hopwatch-words-{}", std::process::id()));
        let words = |text: &str| {
            std::fs::write(&folder, text).unwrap();
            last_words(&folder)
        };
        let info = r#"{"level":"INFO","message":"listening"}"#;
        let error = r#"{"level":"ERROR","message":"no port"}"#;
        assert_eq!(words(&format!("{info}\n{error}\n{info}\n")), "no port");
        assert_eq!(words("error: invalid '0'\n\nFor more, try '--help'.\n"), "error: invalid '0'");
        assert_eq!(words("thread 'main' panicked at a.rs:1:\nboom\n").lines().count(), 1);
        for silent in [info, ""] {
            assert!(words(silent).contains(folder.to_str().unwrap()));
        }
        std::fs::remove_file(folder).unwrap();
    }
}
