//! Who publishes a topic.

use crate::entity::Node;
use crate::error::{TapError, c_string, check, report, text};
use crate::qos::{Durability, Reliability};
use hopwatch_model::PublisherId;
use r2r_rcl::{
    rcl_get_publishers_info_by_topic, rcl_node_resolve_name, rcl_topic_endpoint_info_array_t,
    rcutils_get_default_allocator, rmw_get_zero_initialized_topic_endpoint_info_array,
    rmw_topic_endpoint_info_array_fini, rmw_topic_endpoint_info_t,
};
use std::ffi::{CString, c_void};
use std::ptr;

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
    /// Its writer.
    pub id: PublisherId,
    /// What it offers; `None` when it can't be told.
    pub reliability: Option<Reliability>,
    /// What it offers; `None` when it can't be told.
    pub durability: Option<Durability>,
}

impl EndpointInfo {
    /// What it offers, in words.
    pub fn offer(&self) -> String {
        let or_unknown = |setting: Option<String>| setting.unwrap_or_else(|| "unknown".to_owned());
        format!(
            "{} {}",
            or_unknown(self.reliability.map(|r| r.to_string())),
            or_unknown(self.durability.map(|d| d.to_string())),
        )
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
        }
    }
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
    fn ids_are_16_bytes_whatever_the_distribution() {
        let long: Vec<u8> = (1..=24).collect();
        assert_eq!(publisher_id(&long).0[15], 16);
        assert_eq!(publisher_id(&long[..16]), publisher_id(&long));
    }
}
