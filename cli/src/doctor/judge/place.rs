//! Of containers and namespaces.

use crate::doctor::finding::{Area, Finding};
use crate::doctor::look::place::Place;

const PLACE: Area = Area("containers");

/// All of it. `without`: Fast DDS is told to use no shared memory.
pub(crate) fn judge(place: &Place, without: bool) -> Vec<Finding> {
    let mut all = Vec::new();
    let inside = place.container.is_some() || !place.host_processes;
    all.push(match &place.container {
        Some(kind) => PLACE.note("container", format!("this is a container ({kind})")),
        None if inside => {
            PLACE.note("container", "this is a container of some kind (PID namespace)")
        }
        None => PLACE.ok("container", "no container is seen"),
    });
    all.extend(sharing(place, without, inside));
    if place.host_users == Some(false) {
        all.push(PLACE.note("users", "users here are others on the host (user namespace)").why(
            "what root owns here belongs to another user there: shared memory may be closed to it",
        ));
    }
    all
}

fn sharing(place: &Place, without: bool, inside: bool) -> Option<Finding> {
    const NAME: &str = "sharing";
    let compose = "of docker: --net=host --ipc=host on both sides, and the same --user";
    match (place.host_network, place.host_ipc) {
        (Some(true), Some(true)) => {
            Some(PLACE.ok(NAME, "the host's network and its shared memory namespace (IPC)"))
        }
        (Some(false), Some(true)) => Some(
            PLACE
                .note(NAME, "the host's IPC, and a network of its own")
                .why("robots on the host's network are found only where packets get through")
                .todo(compose),
        ),
        (Some(true), Some(false)) if !without => Some(
            PLACE
                .warning(NAME, "the host's network, and an IPC namespace of its own")
                .why(
                    "Fast DDS takes whoever has the same network for the same host and uses shared \
                     memory, which isn't shared: matched, and nothing arrives",
                )
                .todo(format!("{compose}; or, on both sides, {}", super::BY_UDP)),
        ),
        (Some(true), Some(false)) => Some(
            PLACE.note(NAME, "the host's network, an IPC namespace of its own, no shared memory"),
        ),
        (Some(false), _) => Some(
            PLACE
                .note(NAME, "network and IPC namespaces of its own")
                .why("only what is in the same container network is found, which may be as meant")
                .todo(compose),
        ),
        (None, ipc) => {
            let ipc = match ipc {
                Some(true) => "the host's IPC namespace",
                Some(false) => "an IPC namespace of its own",
                None => "an unknown IPC namespace",
            };
            inside.then(|| {
                PLACE
                    .unknown(
                        NAME,
                        format!("whether the network is the host's ({ipc})"),
                        "process 1 is the container's own, so there is nothing to compare with",
                    )
                    .todo(format!("for robots on the host {compose}"))
            })
        }
        (Some(true), None) => Some(PLACE.ok(NAME, "the host's network")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Severity;
    use crate::doctor::judge::tests::{one, severity};

    fn place(network: Option<bool>, ipc: Option<bool>) -> Place {
        Place {
            container: None,
            host_processes: true,
            host_network: network,
            host_ipc: ipc,
            host_users: Some(true),
        }
    }

    #[test]
    fn what_is_shared_with_the_host_is_told() {
        for (network, ipc, without, expected) in [
            (Some(true), Some(true), false, Severity::Ok),
            (Some(true), None, false, Severity::Ok),
            (Some(false), Some(true), false, Severity::Note),
            (Some(true), Some(false), false, Severity::Warning),
            (Some(true), Some(false), true, Severity::Note),
            (Some(false), Some(false), false, Severity::Note),
        ] {
            let all = judge(&place(network, ipc), without);
            assert_eq!(severity(&all, "container"), Severity::Ok);
            assert_eq!(severity(&all, "sharing"), expected, "{network:?} {ipc:?} {without}");
        }
        // No container, and nothing to compare with: nothing to say.
        assert_eq!(judge(&place(None, None), false).len(), 1);
    }

    #[test]
    fn containers_are_told_by_name_and_what_cannot_be_seen_from_them() {
        for ipc in [None, Some(true), Some(false)] {
            let docker = Place {
                container: Some("docker".into()),
                host_processes: false,
                ..place(None, ipc)
            };
            let all = judge(&docker, false);
            assert!(one(&all, "container").what.contains("docker"));
            assert_eq!(severity(&all, "sharing"), Severity::Unknown);
        }
        let nameless = Place { host_processes: false, ..place(None, None) };
        assert!(one(&judge(&nameless, false), "container").what.contains("of some kind"));
        let users = Place { host_users: Some(false), ..place(Some(true), Some(true)) };
        assert_eq!(severity(&judge(&users, false), "users"), Severity::Note);
    }
}
