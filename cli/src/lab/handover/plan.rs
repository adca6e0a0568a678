//! What is compared, and what each way needs.

use super::super::of_run;
use super::Handover;
use crate::args::Usage;
use anyhow::Context;
use hopwatch_lab::handover::{Condition, Look, Plan, Way};
use hopwatch_lab::{Language, Skipped};
use std::path::Path;

/// Bytes of `hopwatch_lab_msgs/msg/FixedFrame`, the one type that is lent: 1920 × 1080 × 3.
pub(super) const FIXED: u64 = 6_220_800;
/// A queue that is shorter than a burst.
const SHORT: u32 = 5;
/// How long a slow consumer takes over each message, in ms.
const SLOW_MS: u32 = 20;
/// Messages for which a way without copies may need shared memory, for two consumers: with less the system
/// kills who writes there (SIGBUS).
const SLOTS: u64 = 32;

/// A way on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Kind {
    /// Inside a process, given away to consumers that each want their own
    Moved,
    /// Inside a process, read together
    Shared,
    /// Inside a process, copied for each consumer
    Copied,
    /// Inside a process, copied once and read together
    CopiedOnce,
    /// DDS inside one process
    DdsOneProcess,
    /// DDS between processes through shared memory
    DdsSharedMemory,
    /// The same with large segments
    DdsLargeSegment,
    /// By shared memory, where one side has none
    DdsFallBack,
    /// DDS between processes by UDP
    DdsUdp,
    /// DDS, messages lent, as it comes
    Lent,
    /// DDS, messages lent, data sharing on
    LentDataSharing,
    /// iceoryx2
    Iceoryx2,
    /// rclcpp's intra-process communication
    Cpp,
}

impl Kind {
    const fn of(condition: Condition) -> Self {
        match (condition.language, condition.way) {
            (Language::Cpp, _) => Self::Cpp,
            (_, Way::Moved) => Self::Moved,
            (_, Way::Shared) => Self::Shared,
            (_, Way::Copied) => Self::Copied,
            (_, Way::CopiedOnce) => Self::CopiedOnce,
            (_, Way::OneProcess) => Self::DdsOneProcess,
            (_, Way::SharedMemory) => Self::DdsSharedMemory,
            (_, Way::LargeSegment) => Self::DdsLargeSegment,
            (_, Way::FallBack) => Self::DdsFallBack,
            (_, Way::Loopback) => Self::DdsUdp,
            (_, Way::Loan) => Self::Lent,
            (_, Way::LoanDataSharing) => Self::LentDataSharing,
            (_, Way::Iceoryx2) => Self::Iceoryx2,
        }
    }
}

/// The plan, and what of it can't be had; also why there is no network namespace, when there is none.
pub(super) fn plan(
    args: &Handover,
    no_namespace: Option<&str>,
) -> Result<(Plan, Vec<Skipped>), Usage> {
    let full = args.common.full;
    let mut consumers = args.consumers.clone();
    if consumers.is_empty() {
        consumers = if full { vec![1, 2, 4, 8] } else { vec![1, 4] };
    }
    consumers.sort_unstable();
    consumers.dedup();
    let messages = args.messages.unwrap_or(if full { 100 } else { 30 });
    let mut conditions = conditions(&consumers);
    conditions.retain(|one| args.only.is_empty() || args.only.contains(&Kind::of(*one)));
    let mut skipped = Vec::new();
    leave_out(&mut conditions, &mut skipped, args.size, memory());
    let middleware = std::env::var("RMW_IMPLEMENTATION").ok();
    leave_out_of_another(&mut conditions, &mut skipped, middleware.as_deref());
    let chosen =
        |one: &Condition| matches!(one.way, Way::Loopback | Way::FallBack | Way::LargeSegment);
    if let Some(why) = no_namespace
        && conditions.iter().any(chosen)
    {
        conditions.retain(|one| !chosen(one));
        skipped.push(Skipped {
            what: "DDS by UDP, and with large segments".to_owned(),
            why: format!(
                "transports can be chosen in a network namespace only, and none can be made here \
                 ({why}): run it as root, or where users may make namespaces"
            ),
        });
    }
    let plan = Plan {
        conditions,
        rounds: args.common.rounds.unwrap_or(if full { 10 } else { 4 }),
        bytes: args.size,
        messages,
        warm_up: super::WARM_UP,
        rate_hz: f64::from(args.rate),
        slow_ms: SLOW_MS,
        apart: no_namespace.is_none(),
        of_run: args.run.as_deref().map(of_run::read).transpose()?,
    };
    Ok((plan, skipped))
}

/// All of them.
fn conditions(consumers: &[u32]) -> Vec<Condition> {
    let new = Condition::new;
    let cpp = |condition: Condition| Condition { language: Language::Cpp, ..condition };
    let addresses =
        |condition: Condition| Condition { look: Look::Addresses { decoys: true }, ..condition };
    let inside = [Way::Moved, Way::Shared, Way::Copied, Way::CopiedOnce];
    let mut all = Vec::new();
    for way in inside {
        all.extend(consumers.iter().map(|n| new(way, *n)));
    }
    for way in [Way::OneProcess, Way::SharedMemory] {
        all.extend(consumers.iter().map(|n| new(way, *n)));
    }
    let one = [Way::LargeSegment, Way::FallBack, Way::Loopback, Way::Loan];
    all.extend(one.map(|way| new(way, 1)));
    all.push(Condition { control: true, ..new(Way::SharedMemory, 1) });
    for way in [Way::LoanDataSharing, Way::Iceoryx2] {
        all.extend(consumers.iter().map(|n| new(way, *n)));
    }
    for way in [Way::Moved, Way::Shared, Way::OneProcess, Way::SharedMemory] {
        all.push(Condition { kept: true, ..new(way, 1) });
    }
    all.push(Condition { watched: true, ..new(Way::Shared, 1) });
    for way in inside.into_iter().chain([Way::OneProcess]) {
        all.extend(consumers.iter().map(|n| cpp(new(way, *n))));
    }
    // A queue that holds less than what comes, and one that holds all of it.
    for depth in [SHORT, super::BURST + super::WARM_UP] {
        let burst = |way| Condition { look: Look::Burst { depth }, ..new(way, 1) };
        all.extend([Way::Moved, Way::OneProcess].map(burst));
    }
    for way in inside {
        all.extend(consumers.iter().map(|n| addresses(new(way, *n))));
        all.extend(consumers.iter().map(|n| addresses(cpp(new(way, *n)))));
    }
    for way in [Way::Moved, Way::Shared] {
        all.push(addresses(Condition { kept: true, ..new(way, 1) }));
    }
    for decoys in [false, true] {
        let look = Look::Addresses { decoys };
        all.push(Condition { look, ..new(Way::OneProcess, 1) });
        all.push(Condition { look, ..cpp(new(Way::OneProcess, 1)) });
    }
    for way in [Way::SharedMemory, Way::Loan, Way::LoanDataSharing, Way::Iceoryx2] {
        all.push(addresses(new(way, 1)));
    }
    all
}

/// Leaves out what this size or this machine has no place for.
fn leave_out(
    conditions: &mut Vec<Condition>,
    skipped: &mut Vec<Skipped>,
    bytes: u64,
    memory: Option<u64>,
) {
    let lent = |one: &Condition| matches!(one.way, Way::Loan | Way::LoanDataSharing);
    if bytes != FIXED && conditions.iter().any(lent) {
        conditions.retain(|one| !lent(one));
        skipped.push(Skipped {
            what: "lent messages".to_owned(),
            why: format!(
                "only a type of fixed size can be lent, and the study's has {FIXED} bytes: leave \
                 --size away"
            ),
        });
    }
    let needed = |one: &Condition| match one.way {
        // A segment of each side.
        Way::LargeSegment => 2 * HELD * bytes,
        _ => bytes * SLOTS * u64::from(one.consumers.max(2)) / 2,
    };
    for way in [Way::LoanDataSharing, Way::Iceoryx2, Way::LargeSegment] {
        let most = conditions.iter().filter(|one| one.way == way).map(needed).max();
        let (Some(most), Some(memory)) = (most, memory) else { continue };
        if most > memory {
            conditions.retain(|one| one.way != way);
            skipped.push(Skipped {
                what: Condition::new(way, 1).name(),
                why: format!(
                    "/dev/shm has {} MB free, and its messages may need {} MB there: \
                     take a smaller --size, or a larger /dev/shm (docker run --shm-size)",
                    memory / 1_000_000,
                    most / 1_000_000
                ),
            });
        }
    }
}

/// What a user may have set for DDS: each way has its own settings, and no others.
pub(super) const SETTINGS: [&str; 7] = [
    "FASTDDS_BUILTIN_TRANSPORTS",
    "FASTDDS_DEFAULT_PROFILES_FILE",
    "FASTRTPS_DEFAULT_PROFILES_FILE",
    "RMW_FASTRTPS_PUBLICATION_MODE",
    "RMW_FASTRTPS_USE_QOS_FROM_XML",
    "ROS_DISABLE_LOANED_MESSAGES",
    "ROS_STATIC_PEERS",
];

/// Leaves out what only Fast DDS has, under another middleware.
fn leave_out_of_another(
    conditions: &mut Vec<Condition>,
    skipped: &mut Vec<Skipped>,
    middleware: Option<&str>,
) {
    let of_fast_dds = |one: &Condition| {
        matches!(
            one.way,
            Way::LargeSegment | Way::FallBack | Way::Loopback | Way::Loan | Way::LoanDataSharing
        )
    };
    let Some(other) = middleware.filter(|name| !name.starts_with("rmw_fastrtps")) else { return };
    if conditions.iter().any(of_fast_dds) {
        conditions.retain(|one| !of_fast_dds(one));
        skipped.push(Skipped {
            what: "ways that settings of Fast DDS choose".to_owned(),
            why: format!("RMW_IMPLEMENTATION is {other}"),
        });
    }
}

/// Bytes that are free in /dev/shm; none: not known.
fn memory() -> Option<u64> {
    let of = rustix::fs::statvfs("/dev/shm").ok()?;
    Some(of.f_bavail * of.f_frsize)
}

/// What Fast DDS is told for data sharing. Profiles that are the default are those of every topic.
const DATA_SHARING: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<dds xmlns="http://www.eprosima.com/XMLSchemas/fastRTPS_Profiles">
  <profiles>
    <data_writer profile_name="lent" is_default_profile="true">
      <qos><data_sharing><kind>AUTOMATIC</kind></data_sharing></qos>
      <historyMemoryPolicy>PREALLOCATED_WITH_REALLOC</historyMemoryPolicy>
    </data_writer>
    <data_reader profile_name="taken" is_default_profile="true">
      <qos><data_sharing><kind>AUTOMATIC</kind></data_sharing></qos>
      <historyMemoryPolicy>PREALLOCATED_WITH_REALLOC</historyMemoryPolicy>
    </data_reader>
  </profiles>
</dds>
"#;

/// What Fast DDS is told for large segments, before and behind their size in bytes.
const LARGE_SEGMENT: [&str; 2] = [
    r#"<?xml version="1.0" encoding="UTF-8"?>
<dds xmlns="http://www.eprosima.com/XMLSchemas/fastRTPS_Profiles">
  <profiles>
    <transport_descriptors>
      <transport_descriptor>
        <transport_id>memory</transport_id>
        <type>SHM</type>
        <segment_size>"#,
    r#"</segment_size>
      </transport_descriptor>
      <transport_descriptor>
        <transport_id>udp</transport_id>
        <type>UDPv4</type>
      </transport_descriptor>
    </transport_descriptors>
    <participant profile_name="large" is_default_profile="true">
      <rtps>
        <userTransports>
          <transport_id>memory</transport_id>
          <transport_id>udp</transport_id>
        </userTransports>
        <useBuiltinTransports>false</useBuiltinTransports>
      </rtps>
    </participant>
  </profiles>
</dds>
"#,
];
/// Messages that a large segment holds.
const HELD: u64 = 10;

/// What a process of a way needs in its environment.
pub(super) fn environment(
    condition: Condition,
    gives: bool,
    watcher: bool,
    bytes: u64,
    folder: &Path,
) -> anyhow::Result<Vec<(String, String)>> {
    let own = |all: &[(&str, &str)]| -> Vec<(String, String)> {
        all.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    };
    let udp = ("FASTDDS_BUILTIN_TRANSPORTS", "UDPv4");
    Ok(match condition.way {
        _ if watcher => Vec::new(),
        // Without shared memory nothing but the process is left where loopback is out.
        _ if condition.language == Language::Cpp => own(&[udp]),
        Way::Loopback | Way::OneProcess => own(&[udp]),
        Way::FallBack if gives => own(&[udp]),
        Way::LoanDataSharing => {
            let mut all = own(&[
                ("RMW_FASTRTPS_USE_QOS_FROM_XML", "1"),
                ("ROS_DISABLE_LOANED_MESSAGES", "0"),
            ]);
            all.extend(profiles(folder, "data-sharing.xml", DATA_SHARING)?);
            all
        }
        Way::LargeSegment => {
            let size = (bytes * HELD).max(1 << 20);
            let text = LARGE_SEGMENT.join(&size.to_string());
            profiles(folder, "large-segment.xml", &text)?.into()
        }
        _ => Vec::new(),
    })
}

/// Writes XML profiles into the study's folder, and names them: by two variables, for the name was changed.
fn profiles(folder: &Path, name: &str, text: &str) -> anyhow::Result<[(String, String); 2]> {
    let probes = folder.join("probes");
    std::fs::create_dir_all(&probes)
        .with_context(|| format!("failed to make the folder {}", probes.display()))?;
    let path = probes.join(name);
    std::fs::write(&path, text).with_context(|| format!("failed to write {}", path.display()))?;
    let path = std::path::absolute(&path).context("failed to find the study's folder")?;
    let path = path.to_string_lossy().into_owned();
    Ok(["FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE"]
        .map(|key| (key.to_owned(), path.clone())))
}

/// The way's name to the probes.
pub(super) const fn way(way: Way) -> &'static str {
    match way {
        Way::Moved => "moved",
        Way::Shared => "shared",
        Way::Copied => "copied",
        Way::CopiedOnce => "copied-once",
        Way::OneProcess | Way::SharedMemory | Way::LargeSegment | Way::FallBack | Way::Loopback => {
            "dds"
        }
        Way::Loan | Way::LoanDataSharing => "lent",
        Way::Iceoryx2 => "iceoryx2",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use crate::lab::Lab;
    use clap::Parser;

    fn planned(words: &str, no_namespace: Option<&str>) -> (Plan, Vec<Skipped>) {
        let words = format!("hopwatch lab handover {words}");
        match Cli::try_parse_from(words.split_whitespace()).unwrap().command {
            Command::Lab(Lab::Handover(args)) => plan(&args, no_namespace).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    fn names(plan: &Plan) -> Vec<String> {
        plan.conditions.iter().map(Condition::name).collect()
    }

    #[test]
    fn quick_takes_minutes_and_full_more_of_all() {
        let (quick, skipped) = planned("", None);
        assert_eq!((quick.rounds, quick.messages, quick.bytes), (4, 30, FIXED));
        assert!(skipped.is_empty(), "{skipped:?}");
        let all = names(&quick);
        let apart: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(apart.len(), all.len(), "{all:?}");
        for name in [
            "moved, 4 consumers, addresses",
            "DDS in one process, addresses without decoys",
            "DDS, shared memory, kept for late ones",
            "DDS, shared memory, once more",
            "DDS, lent, data sharing, 4 consumers",
            "DDS in one process, burst, depth 5",
            "moved, burst, depth 55",
            "shared (Arc), watched from outside",
            "rclcpp, const& to unique_ptr",
            "rclcpp, intra-process off, addresses",
            "iceoryx2",
        ] {
            assert!(all.iter().any(|one| one == name), "no {name} in {all:?}");
        }
        let (full, _) = planned("--full", None);
        assert_eq!((full.rounds, full.messages), (10, 100));
        assert!(names(&full).contains(&"shared (Arc), 8 consumers".to_owned()));
        let (some, _) = planned("--only iceoryx2,cpp --consumers 2,2 --rounds 6 --size 64", None);
        assert_eq!((some.rounds, some.bytes), (6, 64));
        assert!(
            names(&some)
                .iter()
                .all(|name| name.starts_with("iceoryx2") || name.starts_with("rclcpp"))
        );
    }

    #[test]
    fn what_has_no_place_is_left_out_with_a_word() {
        let (plan, skipped) = planned("--only lent,dds-udp --size 1000", None);
        assert_eq!(names(&plan), ["DDS, UDP"]);
        assert!(skipped[0].why.contains("6220800 bytes"), "{skipped:?}");
        let (plan, skipped) = planned("--only dds-udp,dds-shared-memory --consumers 1", Some("no"));
        assert!(!names(&plan).contains(&"DDS, UDP".to_owned()));
        assert!(names(&plan).contains(&"DDS, shared memory".to_owned()));
        assert!(skipped[0].why.contains("(no)"), "{skipped:?}");
        // 64 MB, as a container has them.
        let mut conditions = vec![Condition::new(Way::Iceoryx2, 1), Condition::new(Way::Moved, 1)];
        let mut skipped = Vec::new();
        leave_out(&mut conditions, &mut skipped, FIXED, Some(64_000_000));
        assert_eq!(conditions, [Condition::new(Way::Moved, 1)]);
        assert!(skipped[0].why.contains("has 64 MB free"), "{skipped:?}");
        let mut conditions =
            vec![Condition::new(Way::LargeSegment, 1), Condition::new(Way::Moved, 1)];
        leave_out(&mut conditions, &mut Vec::new(), FIXED, Some(64_000_000));
        assert_eq!(conditions.len(), 1);
        let mut conditions = vec![Condition::new(Way::Loopback, 1), Condition::new(Way::Moved, 1)];
        let mut skipped = Vec::new();
        leave_out_of_another(&mut conditions, &mut skipped, Some("rmw_fastrtps_dynamic_cpp"));
        leave_out_of_another(&mut conditions, &mut skipped, None);
        assert_eq!((conditions.len(), skipped.len()), (2, 0));
        leave_out_of_another(&mut conditions, &mut skipped, Some("rmw_zenoh_cpp"));
        assert_eq!((conditions.len(), skipped.len()), (1, 1));
        let mut conditions = vec![Condition::new(Way::Iceoryx2, 1)];
        leave_out(&mut conditions, &mut Vec::new(), 100_000, Some(64_000_000));
        assert_eq!(conditions.len(), 1);
    }

    #[test]
    fn each_way_has_its_settings() {
        let folder = tempfile::tempdir().unwrap();
        let of = |way, gives| {
            environment(Condition::new(way, 1), gives, false, FIXED, folder.path()).unwrap()
        };
        let udp = [("FASTDDS_BUILTIN_TRANSPORTS".to_owned(), "UDPv4".to_owned())];
        assert_eq!(of(Way::Loopback, false), udp);
        assert_eq!(of(Way::FallBack, true), udp);
        assert!(of(Way::FallBack, false).is_empty() && of(Way::SharedMemory, true).is_empty());
        assert!(of(Way::LoanDataSharing, true).iter().any(|(key, _)| key.starts_with("RMW_")));
        of(Way::LargeSegment, true);
        let text = std::fs::read_to_string(folder.path().join("probes/large-segment.xml")).unwrap();
        assert!(text.contains("<segment_size>62208000</segment_size>"), "{text}");
        // Who looks on from outside takes what there is.
        let outside = Condition { watched: true, ..Condition::new(Way::Shared, 1) };
        assert!(environment(outside, false, true, FIXED, folder.path()).unwrap().is_empty());
    }
}
