//! Of the ROS environment.

use crate::doctor::finding::{Area, Finding};
use crate::doctor::look::{Looked, Profiles, Ros};

const ROS: Area = Area("ROS");

/// Domains whose ports lie below Linux's ephemeral ones (32768), and those above them (60999): each
/// has 250, from 7400 (DDSI-RTPS 2.3, 9.6.2.3).
const LAST_LOW: u16 = 101;
const FIRST_HIGH: u16 = 215;
const LAST: u16 = 232;

/// What Fast DDS knows (`BuiltinTransports`), without options behind a `?`.
const TRANSPORTS: [&str; 9] =
    ["NONE", "DEFAULT", "DEFAULTv6", "SHM", "UDPv4", "UDPv6", "LARGE_DATA", "LARGE_DATAv6", "P2P"];

/// All of it.
pub(crate) fn judge(ros: &Ros, looked: &Looked) -> Vec<Finding> {
    let mut all = vec![found(ros, looked), middleware(ros, looked), domain(ros)];
    all.extend(range(ros));
    all.extend(transports(ros));
    all.extend(ros.profiles.iter().map(profiles));
    all
}

fn found(ros: &Ros, looked: &Looked) -> Finding {
    const NAME: &str = "ros_found";
    let distro = ros.distro.as_deref().unwrap_or("of an unknown name");
    if ros.prefixes.is_empty() {
        let what = "no ROS 2 in this environment: AMENT_PREFIX_PATH is not set";
        if *looked == Looked::NotBuilt {
            return ROS
                .note(NAME, what)
                .why("robots and gateway need ROS 2; AI services, broadcaster, page and reports don't")
                .todo("where the gateway is to run, source /opt/ros/<distro>/setup.bash, then ./hopwatch");
        }
        return ROS
            .problem(NAME, what)
            .why("the gateway finds neither its libraries nor the message types without it")
            .todo(
                "source /opt/ros/<distro>/setup.bash (and your workspace's install/setup.bash), or \
                 start by ./hopwatch, which prepares a ROS of its own",
            );
    }
    let source = match ros.prepared.as_deref() {
        Some("wheels") => "from Python wheels that ./hopwatch prepared".to_owned(),
        _ => format!("sourced from {}", ros.prefixes.join(", ")),
    };
    let what = format!("ROS 2 {distro}, {source}");
    let gone = format!("{what}; not there: {}", ros.missing.join(", "));
    if ros.missing.len() == ros.prefixes.len() {
        return ROS
            .problem(NAME, gone)
            .why(
                "none of AMENT_PREFIX_PATH is there: neither libraries nor message types are found",
            )
            .todo("source the right setup.bash in a fresh shell");
    }
    if let (Looked::Seen(look), Some(here)) = (looked, &ros.distro)
        && !look.distro.is_empty()
        && look.distro != *here
    {
        return ROS
            .problem(NAME, format!("{what}; the gateway was built for {}", look.distro))
            .why("its libraries and message definitions are another version's")
            .todo(format!(
                "source ROS 2 {}, or build anew under {here} (./hopwatch)",
                look.distro
            ));
    }
    if !ros.missing.is_empty() {
        return ROS
            .warning(NAME, gone)
            .why("message packages that were in a folder that is gone can't be found")
            .todo("build that workspace again, or source the right setup.bash in a fresh shell");
    }
    ROS.ok(NAME, what)
}

fn middleware(ros: &Ros, looked: &Looked) -> Finding {
    const NAME: &str = "middleware";
    let asked = ros.rmw.as_deref();
    match looked {
        Looked::Seen(look) if look.middleware.is_empty() => {
            ROS.unknown(NAME, "middleware", "the gateway's libraries don't name it")
        }
        Looked::Seen(look) => {
            let used = &look.middleware;
            match asked {
                Some(asked) if asked != used => ROS
                    .problem(
                        NAME,
                        format!(
                            "RMW_IMPLEMENTATION asks for {asked}, the gateway talks through {used}"
                        ),
                    )
                    .why("robots on another middleware may be discovered and never be heard")
                    .todo(format!(
                        "install {asked} for this ROS, or run all of it on {used}: export \
                         RMW_IMPLEMENTATION={used}"
                    )),
                _ => ROS.ok(NAME, format!("the gateway talks through {used}")),
            }
        }
        Looked::NotBuilt => ROS
            .unknown(NAME, "middleware", "no hopwatch-gateway lies beside this program")
            .todo("build it where ROS is: ./hopwatch prepare"),
        Looked::Failed(error) => ROS
            .problem(NAME, format!("the gateway can't look at ROS: {error}"))
            .why("it could not take a message either")
            .todo(
                "source the ROS that it was built with (a missing library is in one of its \
                 prefixes), or start by ./hopwatch",
            ),
    }
}

fn domain(ros: &Ros) -> Finding {
    const NAME: &str = "domain";
    let Some(text) = &ros.domain else {
        return ROS
            .ok(NAME, "ROS domain 0, as ROS_DOMAIN_ID is not set")
            .why("everybody on this network who sets nothing is in it, too");
    };
    match text.parse::<u16>() {
        Ok(id @ (0..=LAST_LOW | FIRST_HIGH..=LAST)) => ROS.ok(NAME, format!("ROS domain {id}")),
        Ok(id @ 0..=LAST) => ROS
            .warning(NAME, format!("ROS domain {id} has ports among Linux's ephemeral ones"))
            .why(
                "any program may be given one of them for a connection; then a participant here \
                 isn't discovered, now and then",
            )
            .todo(format!("choose a domain from 0 to {LAST_LOW}, on robots and here")),
        _ => ROS
            .problem(NAME, format!("ROS_DOMAIN_ID is {text:?}, which is no ROS domain"))
            .why("no node starts with it")
            .todo(format!("set a number from 0 to {LAST_LOW}, the same on robots and here")),
    }
}

fn range(ros: &Ros) -> Vec<Finding> {
    const NAME: &str = "discovery_range";
    let mut all = Vec::new();
    let deprecated = ros.localhost_only.as_deref() == Some("1");
    if deprecated {
        let finding = ROS
            .warning(
                "localhost_only",
                "ROS_LOCALHOST_ONLY=1: only this host's nodes are discovered",
            )
            .why("it is deprecated since ROS 2 Iron and overrules ROS_AUTOMATIC_DISCOVERY_RANGE")
            .todo("unset it, and set ROS_AUTOMATIC_DISCOVERY_RANGE to LOCALHOST or SUBNET");
        all.push(finding);
    }
    let range = ros.range.as_deref();
    all.push(match range {
        None | Some("SUBNET" | "SYSTEM_DEFAULT") if !deprecated => {
            ROS.ok(NAME, format!("discovery range {}", range.unwrap_or("SUBNET (the default)")))
        }
        None | Some("SUBNET" | "SYSTEM_DEFAULT" | "LOCALHOST") => {
            ROS.note(NAME, "discovery range LOCALHOST: robots on other hosts are not seen").todo(
                "for a robot elsewhere: ROS_AUTOMATIC_DISCOVERY_RANGE=SUBNET, or its address in \
                 ROS_STATIC_PEERS on both sides",
            )
        }
        Some("OFF") => ROS
            .problem(NAME, "ROS_AUTOMATIC_DISCOVERY_RANGE=OFF: nobody is discovered, not even here")
            .why("the gateway would wait for ever")
            .todo("set it to LOCALHOST or SUBNET"),
        Some(other) => ROS
            .problem(
                NAME,
                format!("ROS_AUTOMATIC_DISCOVERY_RANGE is {other:?}, which means nothing"),
            )
            .why("ROS passes over it with a warning and takes SUBNET: not what was meant")
            .todo("set it to SUBNET, LOCALHOST, OFF or SYSTEM_DEFAULT"),
    });
    if let Some(peers) = &ros.static_peers {
        all.push(
            ROS.note("static_peers", format!("ROS_STATIC_PEERS={peers} are asked as well"))
                .todo("separate several by semicolons; firewalls must let UDP from 7400 through"),
        );
    }
    all
}

fn transports(ros: &Ros) -> Option<Finding> {
    const NAME: &str = "transports";
    let set = ros.transports.as_deref()?;
    let what = format!("FASTDDS_BUILTIN_TRANSPORTS={set}");
    let kind = set.split('?').next().unwrap_or(set);
    if ros.is_localhost() && kind != "DEFAULT" {
        return Some(
            ROS.warning(NAME, format!("{what} has no effect here"))
                .why(
                    "discovery is to stay on this host (LOCALHOST), and rmw_fastrtps then puts UDP and \
                     shared memory in place, whatever is set here or in XML profiles",
                )
                .todo(format!("unset it, or {}", super::BY_UDP)),
        );
    }
    Some(match kind {
        "SHM" => ROS
            .warning(NAME, format!("{what}: shared memory only"))
            .why("nothing goes to or comes from another host, or a container without --ipc=host")
            .todo("leave it unset, or UDPv4 where shared memory can't be shared"),
        "NONE" => ROS
            .problem(NAME, format!("{what}: no transport at all"))
            .why("without one in the XML profiles, nothing is sent or received")
            .todo("unset it, or define transports in FASTDDS_DEFAULT_PROFILES_FILE"),
        "UDPv4" | "UDPv6" => ROS
            .note(NAME, format!("{what}: no shared memory"))
            .why("right between containers and users; messages of one host take longer, large ones most")
            .todo("set the same for the robots, or they write into memory that nobody reads"),
        "LARGE_DATA" | "LARGE_DATAv6" => ROS
            .note(NAME, format!("{what}: data by TCP and shared memory, discovery by UDP"))
            .todo("set the same for the robots: other transports don't meet"),
        known if TRANSPORTS.contains(&known) => ROS.ok(NAME, what),
        _ => ROS
            .warning(NAME, format!("{what}, which Fast DDS doesn't know"))
            .why("it says so in a log line and takes its default transports")
            .todo(format!("one of {}", TRANSPORTS.join(", "))),
    })
}

fn profiles(of: &Profiles) -> Finding {
    const NAME: &str = "profiles";
    let named = match of.variable {
        Some(variable) => format!("{variable}={}", of.path),
        None => format!("{} lies in this folder", of.path),
    };
    let Some(text) = &of.text else {
        return ROS
            .problem(NAME, format!("{named}, which can't be read"))
            .why("Fast DDS goes on with its defaults, and not with what was meant")
            .todo("mend the path, or unset the variable");
    };
    let has = |tag: &str| text.contains(&format!("<{tag}"));
    let told: Vec<&str> = [
        ("partition", "partitions"),
        ("userTransports", "transports"),
        ("interfaceWhiteList", "a list of interfaces"),
        ("discovery_config", "discovery settings"),
    ]
    .into_iter()
    .filter(|(tag, _)| has(tag))
    .map(|(_, what)| what)
    .collect();
    if told.is_empty() {
        return ROS.note(NAME, format!("{named}: Fast DDS takes settings from it"));
    }
    ROS.warning(NAME, format!("{named}, with {}", told.join(", ")))
        .why(
            "these decide who hears whom: with others on the robots' side nothing is matched, or \
             matched and never heard",
        )
        .todo("compare it with the robots' profiles, or try once without it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Severity;
    use crate::doctor::judge::tests::{one, severity};
    use hopwatch_wire::look::Look;

    fn sound() -> Ros {
        Ros {
            prefixes: vec!["/opt/ros/jazzy".into()],
            distro: Some("jazzy".into()),
            ..Ros::default()
        }
    }

    fn seen(middleware: &str) -> Looked {
        let look =
            Look { middleware: middleware.into(), distro: "jazzy".into(), ..Look::default() };
        Looked::Seen(Box::new(look))
    }

    #[test]
    fn a_usual_environment_is_fine() {
        let all = judge(&sound(), &seen("rmw_fastrtps_cpp"));
        assert!(all.iter().all(|of| of.severity == Severity::Ok), "{all:?}");
        assert_eq!(all.len(), 4);
        assert!(one(&all, "ros_found").what.contains("sourced from /opt/ros/jazzy"));
    }

    #[test]
    fn no_ros_matters_where_the_gateway_is() {
        let none = Ros::default();
        let failed = Looked::Failed("librcl.so: cannot open".into());
        let all = judge(&none, &failed);
        assert_eq!(severity(&all, "ros_found"), Severity::Problem);
        assert!(one(&all, "middleware").what.contains("librcl.so"));
        assert_eq!(severity(&all, "middleware"), Severity::Problem);
        let all = judge(&none, &Looked::NotBuilt);
        assert_eq!(severity(&all, "ros_found"), Severity::Note);
        assert_eq!(severity(&all, "middleware"), Severity::Unknown);
    }

    #[test]
    fn what_does_not_belong_together_is_told() {
        let all = judge(&Ros { distro: Some("kilted".into()), ..sound() }, &seen("x"));
        assert!(one(&all, "ros_found").what.contains("built for jazzy"));
        // A folder of two that is gone is in nobody's way, unless it is needed.
        let prefixes = vec!["/opt/ros/jazzy".to_owned(), "/gone".to_owned()];
        let stale = Ros { prefixes, missing: vec!["/gone".into()], ..sound() };
        let all = judge(&stale, &seen("x"));
        assert_eq!(severity(&all, "ros_found"), Severity::Warning);
        assert!(one(&all, "ros_found").what.contains("not there: /gone"));
        let kilted = Ros { distro: Some("kilted".into()), ..stale };
        assert_eq!(severity(&judge(&kilted, &seen("x")), "ros_found"), Severity::Problem);
        let none = Ros { missing: sound().prefixes, ..sound() };
        assert_eq!(severity(&judge(&none, &seen("x")), "ros_found"), Severity::Problem);
        let rmw = Some("rmw_cyclonedds_cpp".into());
        let all = judge(&Ros { rmw, ..sound() }, &seen("rmw_fastrtps_cpp"));
        assert_eq!(severity(&all, "middleware"), Severity::Problem);
        let all = judge(&sound(), &seen(""));
        assert_eq!(severity(&all, "middleware"), Severity::Unknown);
    }

    #[test]
    fn domains_have_limits() {
        for (text, expected) in [
            ("0", Severity::Ok),
            ("101", Severity::Ok),
            ("102", Severity::Warning),
            ("214", Severity::Warning),
            ("215", Severity::Ok),
            ("232", Severity::Ok),
            ("233", Severity::Problem),
            ("-1", Severity::Problem),
            ("lab", Severity::Problem),
        ] {
            let found = domain(&Ros { domain: Some(text.into()), ..sound() });
            assert_eq!(found.severity, expected, "{text}");
        }
    }

    #[test]
    fn the_range_says_who_is_seen() {
        let of = |range: Option<&str>, localhost: Option<&str>| {
            let ros = Ros {
                range: range.map(str::to_owned),
                localhost_only: localhost.map(str::to_owned),
                static_peers: Some("10.0.0.1".into()),
                ..sound()
            };
            let all = super::range(&ros);
            assert_eq!(severity(&all, "static_peers"), Severity::Note);
            (severity(&all, "discovery_range"), all.len())
        };
        assert_eq!(of(None, None), (Severity::Ok, 2));
        assert_eq!(of(Some("SUBNET"), Some("0")), (Severity::Ok, 2));
        assert_eq!(of(Some("LOCALHOST"), None), (Severity::Note, 2));
        assert_eq!(of(Some("SUBNET"), Some("1")), (Severity::Note, 3));
        assert_eq!(of(Some("OFF"), None), (Severity::Problem, 2));
        assert_eq!(of(Some("localhost"), None), (Severity::Problem, 2));
    }

    #[test]
    fn transports_that_part_people_are_told() {
        for (set, expected) in [
            ("DEFAULT", Severity::Ok),
            ("SHM", Severity::Warning),
            ("UDPv4", Severity::Note),
            ("LARGE_DATA?max_msg_size=1MB", Severity::Note),
            ("NONE", Severity::Problem),
            ("udp", Severity::Warning),
        ] {
            let found = transports(&Ros { transports: Some(set.into()), ..sound() }).unwrap();
            assert_eq!(found.severity, expected, "{set}");
        }
        assert_eq!(transports(&sound()), None);
        // Seen with rmw_fastrtps 8.4.3: segments of shared memory are made, and carry the messages.
        for (range, localhost_only) in [(Some("LOCALHOST"), None), (None, Some("1"))] {
            let ros = Ros {
                transports: Some("UDPv4".into()),
                range: range.map(str::to_owned),
                localhost_only: localhost_only.map(str::to_owned),
                ..sound()
            };
            let found = transports(&ros).unwrap();
            assert_eq!(found.severity, Severity::Warning);
            assert!(found.what.contains("has no effect"), "{}", found.what);
        }
    }

    #[test]
    fn profiles_that_decide_who_hears_whom_are_told() {
        let of = |text: Option<&str>, variable| {
            let path = "p.xml".to_owned();
            profiles(&Profiles { variable, path, text: text.map(str::to_owned) })
        };
        let variable = Some("FASTDDS_DEFAULT_PROFILES_FILE");
        assert_eq!(of(None, variable).severity, Severity::Problem);
        assert_eq!(of(Some("<profiles/>"), variable).severity, Severity::Note);
        let found = of(Some("<partition><names>"), None);
        assert_eq!(found.severity, Severity::Warning);
        assert!(found.what.contains("partitions") && found.what.contains("this folder"));
    }
}
