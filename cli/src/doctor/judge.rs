//! From what was seen to what is said of it. Pure.

mod host;
mod loss;
mod memory;
mod place;
mod ports;
mod ros;
mod service;
mod topic;

use super::clean::Cleaned;
use super::finding::Finding;
use super::look::{Facts, Looked};

/// How shared memory is left out. rmw_fastrtps puts transports of its own in place when discovery is to
/// stay on this host, shared memory among them, and passes over what was asked for.
const BY_UDP: &str = "FASTDDS_BUILTIN_TRANSPORTS=UDPv4 and ROS_AUTOMATIC_DISCOVERY_RANGE=SUBNET (LOCALHOST \
                      overrules it)";

/// All findings, in the order in which they are told.
pub(crate) fn judge(facts: &Facts, cleaned: Option<&Cleaned>) -> Vec<Finding> {
    let seen = facts.topics.first().map(|(_, looked)| looked);
    let without = uses_no_shared_memory(facts, seen);
    let mut all = ros::judge(&facts.ros, seen.unwrap_or(&Looked::NotBuilt));
    for (topic, looked) in &facts.topics {
        for finding in topic::judge(topic.as_deref(), looked, &facts.memory) {
            // Lanes that ask for one topic in several ways have much in common.
            if !all.contains(&finding) {
                all.push(finding);
            }
        }
    }
    all.extend(memory::judge(&facts.memory, without, cleaned));
    all.extend(place::judge(&facts.place, without));
    all.extend(host::clocks(&facts.clocks));
    all.extend(host::processors(&facts.processors));
    all.extend(ports::judge(&facts.ports));
    all.extend(service::judge(facts.service.as_ref(), facts.configured_service.as_deref()));
    all.extend(loss::judge(&facts.impairment));
    all
}

/// Whether messages go another way: by order, or since the middleware isn't Fast DDS.
fn uses_no_shared_memory(facts: &Facts, seen: Option<&Looked>) -> bool {
    let set = facts.ros.transports.as_deref().unwrap_or_default();
    let by_order = set.starts_with("UDP") && !facts.ros.is_localhost();
    let is_other = |middleware: &str| !middleware.starts_with("rmw_fastrtps");
    let of_another = match seen {
        Some(Looked::Seen(look)) if !look.middleware.is_empty() => is_other(&look.middleware),
        // What is asked for, where nothing could be looked at.
        _ => facts.ros.rmw.as_deref().is_some_and(is_other),
    };
    by_order || of_another
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::doctor::finding::Severity;
    use crate::doctor::look::Ros;
    use crate::doctor::look::host::{Clocks, Processors};
    use crate::doctor::look::loss::Impairment;
    use crate::doctor::look::memory::Memory;
    use crate::doctor::look::place::Place;
    use hopwatch_wire::look::Look;

    /// The only finding of this name.
    #[track_caller]
    pub(crate) fn one<'a>(all: &'a [Finding], name: &str) -> &'a Finding {
        let of: Vec<&Finding> = all.iter().filter(|finding| finding.name == name).collect();
        let [finding] = of.as_slice() else { panic!("not one {name}: {all:#?}") };
        finding
    }

    #[track_caller]
    pub(crate) fn severity(all: &[Finding], name: &str) -> Severity {
        one(all, name).severity
    }

    fn facts(transports: Option<&str>, middleware: &str) -> Facts {
        let look = Look { middleware: middleware.to_owned(), ..Look::default() };
        Facts {
            ros: Ros { transports: transports.map(str::to_owned), ..Ros::default() },
            topics: vec![(None, Looked::Seen(Box::new(look)))],
            memory: Memory::default(),
            clocks: Clocks::default(),
            processors: Processors::default(),
            ports: Vec::new(),
            service: None,
            configured_service: None,
            place: Place::default(),
            impairment: Impairment::default(),
        }
    }

    #[test]
    fn shared_memory_matters_to_whoever_uses_it() {
        let of = |transports, middleware| {
            let facts = facts(transports, middleware);
            uses_no_shared_memory(&facts, facts.topics.first().map(|(_, looked)| looked))
        };
        assert!(!of(None, "rmw_fastrtps_cpp"));
        assert!(!of(Some("LARGE_DATA"), "rmw_fastrtps_dynamic_cpp"));
        assert!(of(Some("UDPv4"), "rmw_fastrtps_cpp"));
        let mut overruled = facts(Some("UDPv4"), "rmw_fastrtps_cpp");
        overruled.ros.range = Some("LOCALHOST".to_owned());
        assert!(!uses_no_shared_memory(&overruled, Some(&Looked::NotBuilt)));
        assert!(of(None, "rmw_cyclonedds_cpp"));
        assert!(!of(None, ""));
        let mut unseen = facts(None, "");
        unseen.ros.rmw = Some("rmw_zenoh_cpp".to_owned());
        assert!(uses_no_shared_memory(&unseen, Some(&Looked::NotBuilt)));
        unseen.ros.rmw = Some("rmw_fastrtps_cpp".to_owned());
        assert!(!uses_no_shared_memory(&unseen, Some(&Looked::NotBuilt)));
    }

    /// What was seen of nothing still has something to say in each area, and each with something to
    /// do or a reason where it isn't well.
    #[test]
    fn every_finding_that_is_not_well_says_what_to_do_or_why() {
        let all = judge(&facts(None, ""), None);
        for finding in &all {
            let silent = finding.why.is_empty() && finding.todo.is_empty();
            let well = matches!(finding.severity, Severity::Ok | Severity::Note);
            assert!(well || !silent, "{finding:?}");
        }
        let mut areas: Vec<&str> = all.iter().map(|finding| finding.area).collect();
        areas.dedup();
        let expected =
            ["ROS", "topic", "shared memory", "containers", "clocks", "processors", "network"];
        assert_eq!(areas, expected);
    }
}
