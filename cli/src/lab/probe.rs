//! Processes that measure: of Rust, of Python with rclpy, of C++ with rclcpp.

use super::place::Place;
use super::rounds::Running;
use crate::child::{Child, beside};
use anyhow::{Context, bail};
use hopwatch_lab::{Language, Skipped};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::process::Command;

/// How long a process may take to get ready: rclpy imports and discovery on a busy machine.
const START: Duration = Duration::from_secs(60);
/// How long it may take to end when asked to.
const PATIENCE: Duration = Duration::from_secs(10);
/// The package of the C++ probes.
const CPP_PACKAGE: &str = "hopwatch_lab_probes";

/// One process of a run. Whoever drops it before its end doesn't wait for it, but it is ended in order:
/// DDS that is killed leaves its shared memory behind.
pub(crate) struct Probe {
    child: Option<Child>,
    name: String,
    running: Running,
}

impl Drop for Probe {
    fn drop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        if !child.has_ended() {
            self.running.end(tokio::spawn(async move { child.stop(PATIENCE).await }));
        }
    }
}

#[derive(Deserialize)]
struct Ready {
    ready: bool,
}

/// What is to be started.
pub(crate) struct Start<'a> {
    /// Its name, for its log and for errors.
    pub(crate) name: String,
    pub(crate) language: Language,
    /// What it does: the subcommand in Rust, the script in Python, the program in C++.
    pub(crate) probe: &'static str,
    /// Its text, of a Python script.
    pub(crate) script: &'static str,
    pub(crate) args: Vec<String>,
    pub(crate) environment: Vec<(String, String)>,
    /// The study's folder.
    pub(crate) folder: &'a Path,
    /// Who is asked to end when the study is.
    pub(crate) running: &'a Running,
    /// Where it is to be; none: on this host as it is.
    pub(crate) place: Option<&'a Place>,
    /// Settings of the user's environment that it is not to have.
    pub(crate) without: &'static [&'static str],
}

impl Start<'_> {
    fn command(&self, program: &Path) -> Command {
        self.place.map_or_else(|| Command::new(program), |place| place.enter(program))
    }
}

impl Probe {
    /// Starts a process, and waits until it says that it is ready.
    pub(crate) async fn start(start: Start<'_>) -> anyhow::Result<Self> {
        anyhow::ensure!(!start.running.is_over(), "{} isn't started any more", start.name);
        let mut command = match start.language {
            Language::Rust => {
                let mut command = start.command(&beside("hopwatch-lab-probe")?);
                command.arg(start.probe);
                command
            }
            Language::Python => {
                let script = script(start.folder, start.probe, start.script)?;
                let mut command = start.command(&python());
                // Compiled files would be left in the study's folder.
                command.arg("-B").arg(script);
                command
            }
            Language::Cpp => start.command(&cpp_program(start.probe)?),
        };
        command.args(&start.args);
        for setting in start.without {
            command.env_remove(setting);
        }
        command.envs(start.environment);
        let log = start.folder.join("logs").join(format!("{}.log", start.name));
        let child = Child::spawn(start.name.clone().into(), command, &log)?;
        start.running.add(child.pid());
        let running = start.running.clone();
        let mut probe = Self { child: Some(child), name: start.name, running };
        let ready: Ready = match tokio::time::timeout(START, probe.said()).await {
            Ok(ready) => ready?,
            Err(_) => bail!("{}", probe.child()?.late(START)),
        };
        anyhow::ensure!(ready.ready, "{} said that it isn't ready", probe.name);
        Ok(probe)
    }

    fn child(&mut self) -> anyhow::Result<&mut Child> {
        self.child.as_mut().context("a process that has ended says nothing")
    }

    /// The next line that it prints.
    pub(crate) async fn said<T: DeserializeOwned>(&mut self) -> anyhow::Result<T> {
        let child = self.child()?;
        let Some(line) = child.line().await else { return Err(child.died().await) };
        let name = &self.name;
        serde_json::from_str(&line).with_context(|| {
            let begin: String = line.chars().take(200).collect();
            format!("{name} said {begin:?}")
        })
    }

    /// Waits until it ends by itself, and asks it to when it does not; whether it ended without being
    /// killed.
    pub(crate) async fn end(&mut self, patience: Duration) -> bool {
        let Ok(child) = self.child() else { return true };
        let ended = tokio::time::timeout(patience, child.ended()).await;
        ended.is_ok() || child.stop(PATIENCE).await
    }

    /// Asks it to end, and doesn't wait.
    pub(crate) fn interrupt(&self) {
        if let Some(child) = &self.child {
            child.interrupt();
        }
    }
}

/// A condition's name as a part of a file's.
pub(crate) fn slug(name: &str) -> String {
    name.to_lowercase()
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join("-")
}

/// The Python of the ROS environment.
fn python() -> PathBuf {
    std::env::var_os("HOPWATCH_PYTHON").map_or_else(|| "python3".into(), PathBuf::from)
}

/// Writes a script into the study's folder, where what was run can be read.
fn script(folder: &Path, name: &str, text: &str) -> anyhow::Result<PathBuf> {
    let probes = folder.join("probes");
    std::fs::create_dir_all(&probes)
        .with_context(|| format!("failed to make the folder {}", probes.display()))?;
    let path = probes.join(format!("{name}.py"));
    std::fs::write(&path, text).with_context(|| format!("failed to write {}", path.display()))?;
    Ok(path)
}

/// Prefixes of ROS packages.
fn prefixes() -> Vec<PathBuf> {
    std::env::var_os("AMENT_PREFIX_PATH")
        .map(|all| std::env::split_paths(&all).collect())
        .unwrap_or_default()
}

fn cpp_program(name: &str) -> anyhow::Result<PathBuf> {
    prefixes()
        .iter()
        .map(|prefix| prefix.join("lib").join(CPP_PACKAGE).join(name))
        .find(|path| path.is_file())
        .with_context(|| format!("{CPP_PACKAGE} has no program {name} here"))
}

/// Why a probe of a language can't be had here; none: it can.
pub(crate) async fn missing(language: Language, probe: &str) -> Option<Skipped> {
    match language {
        Language::Rust => {
            let here = beside("hopwatch-lab-probe").is_ok_and(|path| path.is_file());
            (!here).then(|| Skipped {
                what: "Rust nodes".to_owned(),
                why: "hopwatch-lab-probe doesn't lie beside hopwatch: ./hopwatch builds both"
                    .to_owned(),
            })
        }
        Language::Python => {
            let tried = Command::new(python()).args(["-c", "import rclpy"]).output().await;
            let works = tried.is_ok_and(|output| output.status.success());
            (!works).then(|| Skipped {
                what: "Python nodes".to_owned(),
                why: "python3 can't import rclpy: source a ROS 2, or start by ./hopwatch"
                    .to_owned(),
            })
        }
        Language::Cpp => missing_cpp(&prefixes(), probe),
    }
}

fn missing_cpp(prefixes: &[PathBuf], probe: &str) -> Option<Skipped> {
    let has = |below: &str| prefixes.iter().any(|prefix| prefix.join(below).exists());
    if has(&format!("lib/{CPP_PACKAGE}/{probe}")) {
        return None;
    }
    let why = if has(&format!("lib/{CPP_PACKAGE}")) {
        "the package that is built is an older one: build it again"
    } else if has("share/rclcpp") {
        "their package isn't built: see docs/lab/cpp.md"
    } else {
        "there is no rclcpp in this ROS environment: source one that has it (/opt/ros/…/setup.bash), \
         and build their package (docs/lab/cpp.md)"
    };
    Some(Skipped { what: "C++ nodes".to_owned(), why: why.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_for_cpp_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let prefixes = [folder.path().to_owned()];
        let why = || missing_cpp(&prefixes, "executor").map(|skipped| skipped.why);
        assert!(why().unwrap().starts_with("there is no rclcpp"));
        std::fs::create_dir_all(folder.path().join("share/rclcpp")).unwrap();
        assert!(why().unwrap().starts_with("their package isn't built"));
        let programs = folder.path().join("lib").join(CPP_PACKAGE);
        std::fs::create_dir_all(&programs).unwrap();
        assert!(why().unwrap().contains("build it again"));
        std::fs::write(programs.join("executor"), "").unwrap();
        assert_eq!(why(), None);
    }
}
