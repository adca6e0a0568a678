//! A network namespace of a study's own: nothing comes in and nothing leaves, so that DDS can be given any
//! of its settings, and what its loopback interface carries is the study's alone.
//!
//! `ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST` keeps DDS on this host, too, but rmw_fastrtps then puts
//! transports of its own in place, shared memory among them, whatever `FASTDDS_BUILTIN_TRANSPORTS` and XML
//! profiles say.

use rustix::process::geteuid;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};

/// How long the kernel may take to make one.
const PATIENCE: Duration = Duration::from_secs(10);
/// Its loopback interface is all that there is; discovery asks by multicast. It is there until whoever
/// made it is gone.
const SETTLE: &str = "ip link set lo up multicast on && ip route add 224.0.0.0/4 dev lo && echo ready && \
                      exec cat";

/// The namespace. It is gone with the value, or with this process.
pub(crate) struct Place {
    holder: Child,
    _stdin: Option<ChildStdin>,
    /// Without root, a user namespace is around it.
    user: bool,
}

impl Place {
    /// Makes one; why it can't be had here, otherwise.
    pub(crate) async fn make() -> Result<Self, String> {
        let user = !geteuid().is_root();
        let mut command = Command::new("unshare");
        if user {
            command.args(["--user", "--map-root-user"]);
        }
        let started = command
            .args(["--net", "--", "sh", "-c", SETTLE])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C in the terminal is for us: its processes are to end first.
            .process_group(0)
            .kill_on_drop(true)
            .spawn();
        let mut holder = started.map_err(|error| format!("unshare can't be started: {error}"))?;
        let stdin = holder.stdin.take();
        let said = async {
            let mut line = String::new();
            let mut stderr = String::new();
            if let Some(stdout) = holder.stdout.take() {
                BufReader::new(stdout).read_line(&mut line).await.ok();
            }
            if line.trim() != "ready"
                && let Some(mut errors) = holder.stderr.take()
            {
                errors.read_to_string(&mut stderr).await.ok();
            }
            (line, stderr)
        };
        match tokio::time::timeout(PATIENCE, said).await {
            Ok((line, _)) if line.trim() == "ready" => Ok(Self { holder, _stdin: stdin, user }),
            Ok((_, stderr)) if stderr.trim().is_empty() => Err("unshare ended".to_owned()),
            Ok((_, stderr)) => Err(stderr.trim().replace('\n', " ")),
            Err(_) => Err(format!("it wasn't made within {} s", PATIENCE.as_secs())),
        }
    }

    /// A command that becomes the program, inside: its id and its signals are the program's.
    pub(crate) fn enter(&self, program: &std::path::Path) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--target={}", self.holder.id().unwrap_or(0)));
        if self.user {
            command.args(["--user", "--preserve-credentials"]);
        }
        command.args(["--net", "--"]).arg(program);
        command
    }
}
