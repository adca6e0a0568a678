//! Who publishes a topic, and what else there is.

use crate::entity::Node;
use crate::error::{TapError, c_string, check, report, text};
use crate::qos::{Durability, Liveliness, Period, Reliability};
use hopwatch_model::PublisherId;
use r2r_rcl::{
    rcl_count_publishers, rcl_get_publishers_info_by_topic, rcl_get_topic_names_and_types,
    rcl_names_and_types_fini, rcl_names_and_types_t, rcl_node_resolve_name,
    rcl_topic_endpoint_info_array_t, rcutils_get_default_allocator, rcutils_string_array_t,
    rmw_get_zero_initialized_names_and_types, rmw_get_zero_initialized_topic_endpoint_info_array,
    rmw_time_t, rmw_topic_endpoint_info_array_fini, rmw_topic_endpoint_info_t,
};
use std::ffi::{CString, c_void};
use std::ptr;
use std::time::Duration;

/// A publisher as the ROS graph knows it.
///
/// History and depth are missing: DDS doesn't tell other participants about them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointInfo {
    /// Its node's full name, for example `/robots/robot_001`; `None` while (or where) the node
    /// isn't known, as with plain DDS writers.
    pub node: Option<String>,
    /// The type that it publishes, for example `hopwatch_msgs/msg/RobotMessage`.
    pub topic_type: String,
    /// The hash of that type's definition (REP 2016); `None` where it isn't told.
    pub type_hash: Option<[u8; 32]>,
    /// Its writer.
    pub id: PublisherId,
    /// What it offers; `None` when it can't be told.
    pub reliability: Option<Reliability>,
    /// What it offers; `None` when it can't be told.
    pub durability: Option<Durability>,
    /// What it offers; `None` when it can't be told.
    pub deadline: Option<Period>,
    /// What it offers; `None` when it can't be told.
    pub liveliness: Option<Liveliness>,
    /// What it offers; `None` when it can't be told.
    pub lease: Option<Period>,
}

/// What the ROS graph has to do with a subscription.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picture {
    /// The topic's full name.
    pub topic: String,
    /// Its publishers, as far as discovery has got, whatever their types and settings.
    pub publishers: Vec<EndpointInfo>,
    /// How many publishers the subscription is matched with.
    pub matched: usize,
    /// When it has no publishers: topics that have some and could have been meant, since they
    /// have the same type or the same last name.
    pub elsewhere: Vec<Elsewhere>,
}

/// A topic that has publishers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    /// Its full name.
    pub topic: String,
    /// Its types: more than one when publishers and subscribers don't agree.
    pub types: Vec<String>,
}

impl EndpointInfo {
    /// What it offers, in words. Times and liveliness are named where they aren't the usual ones.
    pub fn offer(&self) -> String {
        let or_unknown = |setting: Option<String>| setting.unwrap_or_else(|| "unknown".to_owned());
        let mut words = vec![
            or_unknown(self.reliability.map(|r| r.to_string())),
            or_unknown(self.durability.map(|d| d.to_string())),
        ];
        if let Some(deadline @ Period::Of(_)) = self.deadline {
            words.push(format!("DEADLINE {deadline}"));
        }
        if let Some(liveliness @ Liveliness::ManualByTopic) = self.liveliness {
            words.push(format!("LIVELINESS {liveliness}"));
        }
        if let Some(lease @ Period::Of(_)) = self.lease {
            words.push(format!("LEASE {lease}"));
        }
        words.join(" ")
    }

    /// What to call it: "publisher" and its node, else its id.
    pub fn name(&self) -> String {
        match &self.node {
            Some(node) => format!("publisher {node}"),
            None => format!("publisher {} of an unknown node", self.id),
        }
    }
}

/// The publishers of `topic`, as far as discovery has got.
pub(crate) fn publishers(node: &Node, topic: &str) -> Result<Vec<EndpointInfo>, TapError> {
    let what = || format!("ask for the publishers of {topic}");
    let name = resolve(node, topic)?;
    // SAFETY: no preconditions.
    let mut allocator = unsafe { rcutils_get_default_allocator() };
    // SAFETY: no preconditions.
    let mut array = InfoArray(unsafe { rmw_get_zero_initialized_topic_endpoint_info_array() });
    // SAFETY: the node is valid, the allocator and the name are, and the array is
    // zero-initialised.
    let ret = unsafe {
        rcl_get_publishers_info_by_topic(
            node.ptr(),
            &raw mut allocator,
            name.as_ptr(),
            false,
            &raw mut array.0,
        )
    };
    check(ret, what)?;
    if array.0.info_array.is_null() {
        return Ok(Vec::new());
    }
    // SAFETY: rcl filled `size` elements in; each is initialised and lives until `array` goes.
    Ok((0..array.0.size).map(|at| unsafe { read(array.0.info_array.add(at)) }).collect())
}

/// Topics beside `topic` that have publishers and could have been meant.
pub(crate) fn elsewhere(
    node: &Node,
    topic: &str,
    topic_type: &str,
) -> Result<Vec<Elsewhere>, TapError> {
    with_publishers(node, |name, types| name != topic && is_alike(topic, topic_type, name, types))
}

/// All topics that have publishers.
pub(crate) fn topics(node: &Node) -> Result<Vec<Elsewhere>, TapError> {
    with_publishers(node, |_, _| true)
}

/// Topics that are `wanted`, by name and types, and have publishers.
fn with_publishers(
    node: &Node,
    wanted: impl Fn(&str, &[String]) -> bool,
) -> Result<Vec<Elsewhere>, TapError> {
    let what = || "ask for the topics that there are".to_owned();
    // SAFETY: no preconditions.
    let mut allocator = unsafe { rcutils_get_default_allocator() };
    // SAFETY: no preconditions.
    let mut all = NamesAndTypes(unsafe { rmw_get_zero_initialized_names_and_types() });
    // SAFETY: the node and the allocator are valid, and the list is zero-initialised.
    let ret = unsafe {
        rcl_get_topic_names_and_types(node.ptr(), &raw mut allocator, false, &raw mut all.0)
    };
    check(ret, what)?;
    // SAFETY: rcl filled the names in.
    let names = unsafe { strings(&all.0.names) };
    let mut found = Vec::new();
    for (at, name) in names.into_iter().enumerate() {
        // SAFETY: there is an array of types for each name.
        let types = unsafe { strings(&*all.0.types.add(at)) };
        if wanted(&name, &types) && has_publisher(node, &name)? {
            found.push(Elsewhere { topic: name, types });
        }
    }
    Ok(found)
}

/// Whether the one topic could have been meant by the other.
fn is_alike(topic: &str, topic_type: &str, other: &str, types: &[String]) -> bool {
    let last = |name: &str| name.rsplit('/').next().map(str::to_owned);
    last(topic) == last(other) || types.iter().any(|of| of == topic_type)
}

fn has_publisher(node: &Node, topic: &str) -> Result<bool, TapError> {
    let what = || format!("count the publishers of {topic}");
    let name = c_string(topic, what)?;
    let mut count = 0;
    // SAFETY: the node and the name are valid, `count` is writable.
    check(unsafe { rcl_count_publishers(node.ptr(), name.as_ptr(), &raw mut count) }, what)?;
    Ok(count > 0)
}

/// # Safety
/// The array is initialised: `size` pointers, each null or to a NUL-terminated string.
unsafe fn strings(array: &rcutils_string_array_t) -> Vec<String> {
    if array.data.is_null() {
        return Vec::new();
    }
    // SAFETY: the caller vouches for the array and its strings, which are copied.
    (0..array.size).filter_map(|at| unsafe { text(*array.data.add(at)) }).collect()
}

struct NamesAndTypes(rcl_names_and_types_t);

impl Drop for NamesAndTypes {
    fn drop(&mut self) {
        // SAFETY: the list is zero-initialised or was filled by rcl, which keeps the allocator in
        // it.
        report(unsafe { rcl_names_and_types_fini(&raw mut self.0) }, "free a list of topics");
    }
}

/// The full name of a topic, remappings apart: `chatter` in namespace `/a` is `/a/chatter`.
fn resolve(node: &Node, topic: &str) -> Result<CString, TapError> {
    let what = || format!("resolve topic name {topic:?}");
    let c_topic = c_string(topic, what)?;
    let mut full = ptr::null_mut();
    // SAFETY: no preconditions.
    let allocator = unsafe { rcutils_get_default_allocator() };
    // SAFETY: the node, the name and the allocator are valid; `full` is null, as rcl asks.
    let ret = unsafe {
        rcl_node_resolve_name(node.ptr(), c_topic.as_ptr(), allocator, false, false, &raw mut full)
    };
    check(ret, what)?;
    // SAFETY: on success `full` is a NUL-terminated string of ours.
    let name = unsafe { text(full) }.unwrap_or_default();
    if let Some(deallocate) = allocator.deallocate {
        // SAFETY: the string came from this allocator and isn't used any more.
        unsafe { deallocate(full.cast::<c_void>(), allocator.state) };
    }
    c_string(&name, what)
}

struct InfoArray(rcl_topic_endpoint_info_array_t);

impl Drop for InfoArray {
    fn drop(&mut self) {
        // SAFETY: no preconditions.
        let mut allocator = unsafe { rcutils_get_default_allocator() };
        // SAFETY: the array is zero-initialised or was filled with the same allocator.
        let ret =
            unsafe { rmw_topic_endpoint_info_array_fini(&raw mut self.0, &raw mut allocator) };
        report(ret, "free a list of publishers");
    }
}

/// Reads one element. C's enums are read as the numbers they are, since a value that the bindings
/// don't know must not be made a Rust enum.
///
/// # Safety
/// `info` points to an initialised element that nobody changes meanwhile.
unsafe fn read(info: *const rmw_topic_endpoint_info_t) -> EndpointInfo {
    // SAFETY: the caller vouches for the element; its strings are null or NUL-terminated. Enums
    // are `u32` in C and are read as such.
    unsafe {
        let qos = &raw const (*info).qos_profile;
        EndpointInfo {
            node: node_name(text((*info).node_namespace), text((*info).node_name)),
            topic_type: text((*info).topic_type).unwrap_or_default(),
            #[cfg(ros_type_hash)]
            type_hash: type_hash(&(*info).topic_type_hash),
            #[cfg(not(ros_type_hash))]
            type_hash: None,
            id: publisher_id(&(*info).endpoint_gid),
            reliability: match (&raw const (*qos).reliability).cast::<u32>().read() {
                1 => Some(Reliability::Reliable),
                2 => Some(Reliability::BestEffort),
                _ => None,
            },
            durability: match (&raw const (*qos).durability).cast::<u32>().read() {
                1 => Some(Durability::TransientLocal),
                2 => Some(Durability::Volatile),
                _ => None,
            },
            deadline: period((*qos).deadline),
            liveliness: match (&raw const (*qos).liveliness).cast::<u32>().read() {
                1 => Some(Liveliness::Automatic),
                3 => Some(Liveliness::ManualByTopic),
                _ => None,
            },
            lease: period((*qos).liveliness_lease_duration),
        }
    }
}

/// rmw's way to say for ever: the longest time in ns that an i64 holds (`rmw/time.h`).
const ENDLESS: Duration = Duration::new(9_223_372_036, 854_775_807);

/// A time of rmw; zero is "not told".
fn period(time: rmw_time_t) -> Option<Period> {
    let nanoseconds = u32::try_from(time.nsec).unwrap_or(u32::MAX);
    let time =
        Duration::from_secs(time.sec).saturating_add(Duration::from_nanos(nanoseconds.into()));
    match time {
        Duration::ZERO => None,
        time if time >= ENDLESS => Some(Period::Endless),
        time => Some(Period::Of(time)),
    }
}

/// The same for rmw.
pub(crate) fn rmw_time(period: Period) -> rmw_time_t {
    let time = match period {
        Period::Endless => ENDLESS,
        Period::Of(time) => time.min(ENDLESS),
    };
    rmw_time_t { sec: time.as_secs(), nsec: time.subsec_nanos().into() }
}

/// A type's hash; version 0 is "unset" (`rosidl_runtime_c/type_hash.h`).
#[cfg(ros_type_hash)]
pub(crate) fn type_hash(hash: &r2r_rcl::rosidl_type_hash_t) -> Option<[u8; 32]> {
    (hash.version == 1).then_some(hash.value)
}

/// rmw's identifier: the 16 bytes of the DDS GUID (Humble has 24, the rest of them zero).
pub(crate) fn publisher_id(gid: &[u8]) -> PublisherId {
    let mut id = [0; 16];
    for (to, from) in id.iter_mut().zip(gid) {
        *to = *from;
    }
    PublisherId(id)
}

/// Joins a namespace and a name; rmw calls an unknown node `_NODE_NAME_UNKNOWN_`.
fn node_name(namespace: Option<String>, name: Option<String>) -> Option<String> {
    let name = name.filter(|name| !name.is_empty() && !name.starts_with("_NODE_NAME_UNKNOWN"))?;
    let namespace = namespace.unwrap_or_default();
    Some(format!("{}/{name}", namespace.trim_end_matches('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_names_join() {
        let name =
            |namespace: &str, name: &str| node_name(Some(namespace.into()), Some(name.into()));
        assert_eq!(name("/", "robot").as_deref(), Some("/robot"));
        assert_eq!(name("/a", "robot").as_deref(), Some("/a/robot"));
        assert_eq!(name("_NODE_NAMESPACE_UNKNOWN_", "_NODE_NAME_UNKNOWN_"), None);
    }

    #[test]
    fn times_go_to_rmw_and_back() {
        for time in [Period::Endless, Period::Of(Duration::new(3, 7))] {
            assert_eq!(period(rmw_time(time)), Some(time));
        }
        assert_eq!(period(rmw_time_t { sec: 0, nsec: 0 }), None);
        assert_eq!(period(rmw_time_t { sec: u64::MAX, nsec: u64::MAX }), Some(Period::Endless));
    }

    #[test]
    fn a_topic_is_alike_by_its_type_or_its_last_name() {
        let alike = |other: &str, types: &[&str]| {
            let types: Vec<String> = types.iter().map(|of| (*of).to_owned()).collect();
            is_alike("/a/status", "p/msg/T", other, &types)
        };
        assert!(alike("/b/c/status", &["q/msg/U"]));
        assert!(alike("/other", &["q/msg/U", "p/msg/T"]));
        assert!(!alike("/other", &["q/msg/U"]));
        assert!(!alike("/my_status", &[]));
    }

    #[test]
    fn ids_are_16_bytes_whatever_the_distribution() {
        let long: Vec<u8> = (1..=24).collect();
        assert_eq!(publisher_id(&long).0[15], 16);
        assert_eq!(publisher_id(&long[..16]), publisher_id(&long));
    }
}
