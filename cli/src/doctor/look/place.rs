//! Where this process is: containers and namespaces.

use std::fs;
use std::path::Path;

/// Containers and namespaces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// The kind of container, if it is one.
    pub(crate) container: Option<String>,
    /// Whether process 1 is the host's.
    pub(crate) host_processes: bool,
    /// Whether these namespaces are the host's; `None`: it can't be told from here.
    pub(crate) host_network: Option<bool>,
    pub(crate) host_ipc: Option<bool>,
    /// The users here are the host's own.
    pub(crate) host_users: Option<bool>,
}

impl Place {
    pub(crate) fn look() -> Self {
        let of = |name: &str| super::namespace("/proc/self", name);
        let host_processes = of("pid").is_none_or(|id| id == super::FIRST_PIDS);
        // The first network namespace has no number of its own: process 1 must be the host's.
        let init = super::namespace("/proc/1", "net").filter(|_| host_processes);
        Self {
            container: container(),
            host_processes,
            host_network: init.zip(of("net")).map(|(theirs, ours)| theirs == ours),
            host_ipc: of("ipc").map(|id| id == super::FIRST_IPC),
            host_users: of("user").map(|id| id == super::FIRST_USERS),
        }
    }
}

fn container() -> Option<String> {
    if Path::new("/run/.containerenv").exists() {
        return Some("podman".to_owned());
    }
    if std::env::var_os("KUBERNETES_SERVICE_HOST").is_some() {
        return Some("Kubernetes".to_owned());
    }
    if Path::new("/.dockerenv").exists() {
        return Some("docker".to_owned());
    }
    // systemd-nspawn, lxc and others tell process 1 (systemd's container interface).
    let environment = fs::read("/proc/1/environ").ok()?;
    let told = environment.split(|byte| *byte == 0).find_map(|entry| {
        std::str::from_utf8(entry).ok()?.strip_prefix("container=").map(str::to_owned)
    });
    told.filter(|kind| !kind.is_empty())
}
