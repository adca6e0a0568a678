//! The ROS environment, and what the gateway sees from it.

use hopwatch_wire::look::Look;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tokio::process::Command;

/// What the environment says of ROS. Variables that are empty count as not set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ros {
    /// `AMENT_PREFIX_PATH`.
    pub(crate) prefixes: Vec<String>,
    /// Those of them that aren't there.
    pub(crate) missing: Vec<String>,
    /// `ROS_DISTRO`.
    pub(crate) distro: Option<String>,
    /// `HOPWATCH_ROS`: "wheels" where `./hopwatch` prepared it.
    pub(crate) prepared: Option<String>,
    /// `RMW_IMPLEMENTATION`.
    pub(crate) rmw: Option<String>,
    /// `--domain`, else `ROS_DOMAIN_ID`.
    pub(crate) domain: Option<String>,
    /// `ROS_AUTOMATIC_DISCOVERY_RANGE`.
    pub(crate) range: Option<String>,
    /// `ROS_LOCALHOST_ONLY`.
    pub(crate) localhost_only: Option<String>,
    /// `ROS_STATIC_PEERS`.
    pub(crate) static_peers: Option<String>,
    /// `FASTDDS_BUILTIN_TRANSPORTS`.
    pub(crate) transports: Option<String>,
    /// Files of XML profiles that Fast DDS reads.
    pub(crate) profiles: Vec<Profiles>,
}

/// A file of XML profiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Profiles {
    /// The variable that names it; `None`: Fast DDS finds it by itself.
    pub(crate) variable: Option<&'static str>,
    pub(crate) path: String,
    /// What it says; `None`: it can't be read.
    pub(crate) text: Option<String>,
}

/// What Fast DDS reads without being told, from the folder it is started in.
const BY_ITSELF: [&str; 2] = ["DEFAULT_FASTRTPS_PROFILES.xml", "DEFAULT_FASTDDS_PROFILES.xml"];
const BY_VARIABLE: [&str; 2] = ["FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE"];

impl Ros {
    /// Whether discovery is to stay on this host.
    pub(crate) fn is_localhost(&self) -> bool {
        self.localhost_only.as_deref() == Some("1") || self.range.as_deref() == Some("LOCALHOST")
    }

    /// From an environment.
    pub(crate) fn look(variable: impl Fn(&str) -> Option<String>, domain: Option<u8>) -> Self {
        let of = |name: &str| variable(name).filter(|value| !value.is_empty());
        let prefixes: Vec<String> = of("AMENT_PREFIX_PATH")
            .map(|text| text.split(':').filter(|p| !p.is_empty()).map(str::to_owned).collect())
            .unwrap_or_default();
        let missing = prefixes.iter().filter(|prefix| !Path::new(prefix).is_dir()).cloned();
        let read = |variable, path: &str| Profiles {
            variable,
            path: path.to_owned(),
            text: std::fs::read_to_string(path).ok(),
        };
        let named = BY_VARIABLE.iter().filter_map(|&name| Some(read(Some(name), &of(name)?)));
        let found = BY_ITSELF.iter().map(|path| read(None, path)).filter(|of| of.text.is_some());
        Self {
            missing: missing.collect(),
            prefixes,
            distro: of("ROS_DISTRO"),
            prepared: of("HOPWATCH_ROS"),
            rmw: of("RMW_IMPLEMENTATION"),
            domain: domain.map(|domain| domain.to_string()).or_else(|| of("ROS_DOMAIN_ID")),
            range: of("ROS_AUTOMATIC_DISCOVERY_RANGE"),
            localhost_only: of("ROS_LOCALHOST_ONLY"),
            static_peers: of("ROS_STATIC_PEERS"),
            transports: of("FASTDDS_BUILTIN_TRANSPORTS"),
            profiles: named.chain(found).collect(),
        }
    }
}

/// What came of asking the gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Looked {
    /// It looked.
    Seen(Box<Look>),
    /// There is no gateway beside this program: it is built where ROS is.
    NotBuilt,
    /// It can't be started, or said nothing of use.
    Failed(String),
}

/// What the gateway is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Question {
    pub(crate) topic: Option<String>,
    pub(crate) topic_type: Option<String>,
    pub(crate) qos: Option<String>,
    pub(crate) domain: Option<u8>,
    pub(crate) wait: Duration,
}

/// Beyond its two waits, so long may it take to start and to end.
const AROUND: Duration = Duration::from_secs(20);

/// Lets the gateway look at ROS.
pub(crate) async fn ask(question: &Question) -> Looked {
    let program = match std::env::current_exe() {
        Ok(own) => own.with_file_name("hopwatch-gateway"),
        Err(error) => return Looked::Failed(format!("this program's own path: {error}")),
    };
    if !program.exists() {
        return Looked::NotBuilt;
    }
    let mut command = Command::new(&program);
    command.arg("look").arg("--wait-ms").arg(question.wait.as_millis().to_string());
    for (flag, value) in [
        ("--topic", question.topic.clone()),
        ("--type", question.topic_type.clone()),
        ("--qos", question.qos.clone()),
        ("--domain", question.domain.map(|domain| domain.to_string())),
    ] {
        if let Some(value) = value {
            command.arg(format!("{flag}={value}"));
        }
    }
    // It ends by itself, and cleans up what DDS made: a Ctrl-C for this program isn't for it.
    let running = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn();
    let running = match running {
        Ok(running) => running.wait_with_output(),
        Err(error) => return Looked::Failed(format!("{}: {error}", program.display())),
    };
    match tokio::time::timeout(2 * question.wait + AROUND, running).await {
        Err(_) => Looked::Failed("the gateway's look at ROS did not end in time".to_owned()),
        Ok(Err(error)) => Looked::Failed(format!("the gateway's look at ROS: {error}")),
        Ok(Ok(output)) => match serde_json::from_slice::<Look>(&output.stdout) {
            Ok(look) => Looked::Seen(Box::new(look)),
            Err(_) => Looked::Failed(last_words(&String::from_utf8_lossy(&output.stderr))),
        },
    }
}

/// What a program said that could not do anything: mostly the loader, of a missing library.
fn last_words(stderr: &str) -> String {
    const LONGEST: usize = 400;
    let said = stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    let said: String = said.chars().take(LONGEST).collect();
    if said.is_empty() { "the gateway said nothing".to_owned() } else { said }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_is_read_and_nothing_is_not_set() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("profiles.xml");
        std::fs::write(&file, "<partition>").unwrap();
        let variables = [
            ("AMENT_PREFIX_PATH", format!("{}:/nowhere/at/all", folder.path().display())),
            ("ROS_DOMAIN_ID", "7".to_owned()),
            ("RMW_IMPLEMENTATION", String::new()),
            ("FASTRTPS_DEFAULT_PROFILES_FILE", file.display().to_string()),
        ];
        let of = |name: &str| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.clone())
        };
        let ros = Ros::look(of, None);
        assert_eq!(ros.missing, ["/nowhere/at/all"]);
        assert_eq!((ros.prefixes.len(), ros.rmw.as_deref()), (2, None));
        assert_eq!(ros.domain.as_deref(), Some("7"));
        assert_eq!(ros.profiles[0].text.as_deref(), Some("<partition>"));
        assert_eq!(Ros::look(of, Some(9)).domain.as_deref(), Some("9"));
        assert_eq!(Ros::look(|_| None, None), Ros::default());
    }
}
