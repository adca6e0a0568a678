//! Of the ports.

use crate::doctor::finding::{Area, Finding};
use crate::doctor::look::ports::{Port, State};

const PORTS: Area = Area("ports");

/// The beginning of our programs' names, as the kernel cuts them.
const OURS: &str = "(hopwatch";

/// All of them.
pub(crate) fn judge(ports: &[Port]) -> Vec<Finding> {
    let free: Vec<String> = ports
        .iter()
        .filter(|port| port.state == State::Free)
        .map(|Port { name, number, .. }| format!("{number} ({name})"))
        .collect();
    let mut all = Vec::new();
    if !free.is_empty() {
        all.push(PORTS.ok("free", format!("free on 127.0.0.1: {}", free.join(", "))));
    }
    all.extend(ports.iter().filter_map(taken));
    all
}

fn taken(of: &Port) -> Option<Finding> {
    let Port { name, number: port, state } = of;
    match state {
        State::Free => None,
        State::Taken { process, user } => {
            let user = user.map_or_else(String::new, |user| format!(" of user {user}"));
            let who = match process {
                Some(process) => format!("process {process}{user}"),
                None => format!("a process{user} that can't be seen from here"),
            };
            let what = format!("port {port} ({name}) is taken by {who}");
            let ours = process.as_ref().is_some_and(|process| process.contains(OURS));
            Some(if ours {
                PORTS
                    .note("taken", what)
                    .why("a pipeline of Hopwatch runs already")
                    .todo("end it, or start another beside it with --any-ports --page-port 0")
            } else {
                PORTS
                    .warning("taken", what)
                    .why(format!("hopwatch up can't start its {name} on the usual port"))
                    .todo(
                        "stop it, or hopwatch up --any-ports --page-port 0; if it is your own \
                         service, name it (--ai-url http://127.0.0.1:5000/…)",
                    )
            })
        }
        State::Refused(why) => Some(
            PORTS
                .warning("refused", format!("port {port} ({name}) can't be listened on: {why}"))
                .why(format!("hopwatch up can't start its {name} on the usual port"))
                .todo("hopwatch up --any-ports --page-port 0"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Severity;

    #[test]
    fn ports_are_free_or_have_an_owner() {
        let port = |state| Port { name: "gateway", number: 8000, state };
        let of = |state| judge(&[port(state)]).pop().unwrap();
        assert_eq!(of(State::Free).what, "free on 127.0.0.1: 8000 (gateway)");
        let by = |process: Option<&str>| State::Taken {
            process: process.map(str::to_owned),
            user: Some(0),
        };
        let python = of(by(Some("7 (python3)")));
        assert_eq!(python.severity, Severity::Warning);
        assert!(python.what.ends_with("is taken by process 7 (python3) of user 0"));
        assert_eq!(of(by(Some("7 (hopwatch-gatewa)"))).severity, Severity::Note);
        assert!(of(by(None)).what.contains("can't be seen"));
        assert_eq!(of(State::Refused("no".into())).severity, Severity::Warning);
    }
}
