//! Message types.

use crate::error::TapError;
use libloading::Library;
use r2r_rcl::rosidl_message_type_support_t;
use std::fmt;
use std::path::{Path, PathBuf};

/// A message type: its ROS name, and what rcl needs to know of it.
#[derive(Clone)]
pub struct TypeSupport {
    name: String,
    handle: &'static rosidl_message_type_support_t,
}

// SAFETY: the handle points to a static of the type's library, which is never unloaded; rcl only
// reads it, and hands out such pointers to any thread itself.
unsafe impl Send for TypeSupport {}
// SAFETY: as for `Send`: shared access is read access.
unsafe impl Sync for TypeSupport {}

impl TypeSupport {
    /// The type support of a message type of r2r.
    pub fn of<T: r2r::WrappedTypesupport>() -> Self {
        // r2r lays its types out as …::package::msg::Type.
        let path: Vec<_> = std::any::type_name::<T>().rsplit("::").take(3).collect();
        Self { name: path.into_iter().rev().collect::<Vec<_>>().join("/"), handle: T::get_ts() }
    }

    /// The type support of any type by its ROS name, for example `std_msgs/msg/String`, whether
    /// r2r was built with it or not: it is loaded from the library of the type's package, by the
    /// loader's search path or from the prefixes in `AMENT_PREFIX_PATH`.
    ///
    /// # Errors
    /// When the name isn't of the form `package/msg/Type`, or there is no such library or type.
    pub fn named(name: &str) -> Result<Self, TapError> {
        let fail = |reason: String| TapError::UnknownType { name: name.to_owned(), reason };
        let parts: Vec<_> = name.split('/').collect();
        let [package, "msg", message] = parts.as_slice() else {
            return Err(fail("write it as package/msg/Type".to_owned()));
        };
        let is_word = |text: &str| {
            !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        };
        if !is_word(package) || !is_word(message) {
            return Err(fail("write it as package/msg/Type".to_owned()));
        }
        let library = open(package).map_err(|error| fail(error.to_string()))?;
        let symbol = format!(
            "rosidl_typesupport_c__get_message_type_support_handle__{package}__msg__{message}"
        );
        // SAFETY: rosidl generates the symbol with this signature, for every message type.
        let get = unsafe { library.get::<GetTypeSupport>(symbol.as_bytes()) };
        let get = get.map_err(|error| fail(error.to_string()))?;
        // SAFETY: the function has no preconditions. What it returns is null or points to a
        // static of the library.
        let handle = unsafe { get().as_ref() };
        let handle = handle.ok_or_else(|| fail("its library has no type support".to_owned()))?;
        // Never unloaded, so that its statics live as long as the program.
        std::mem::forget(library);
        Ok(Self { name: name.to_owned(), handle })
    }

    /// The type's ROS name: `package/msg/Type`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The hash of the type's definition (REP 2016); `None` before ROS 2 Iron.
    pub fn hash(&self) -> Option<[u8; 32]> {
        #[cfg(ros_type_hash)]
        {
            let get = self.handle.get_type_hash_func?;
            // SAFETY: the function is that of this very type support. What it returns is null or
            // points to a static of the type's library.
            let hash = unsafe { get(self.handle()).as_ref() };
            hash.and_then(crate::graph::type_hash)
        }
        #[cfg(not(ros_type_hash))]
        None
    }

    pub(crate) fn handle(&self) -> *const rosidl_message_type_support_t {
        self.handle
    }
}

/// `rosidl_typesupport_c__get_message_type_support_handle__<package>__msg__<Type>`
type GetTypeSupport = unsafe extern "C" fn() -> *const rosidl_message_type_support_t;

/// Opens the type support library of a package.
fn open(package: &str) -> Result<Library, libloading::Error> {
    let file = format!("lib{package}__rosidl_typesupport_c.so");
    let prefixes = std::env::var_os("AMENT_PREFIX_PATH").unwrap_or_default();
    let mut places = vec![PathBuf::from(&file)];
    places.extend(std::env::split_paths(&prefixes).map(|prefix| prefix.join("lib").join(&file)));
    let mut result = load(&places[0]);
    for place in &places[1..] {
        if result.is_err() && place.exists() {
            result = load(place);
        }
    }
    result
}

fn load(place: &Path) -> Result<Library, libloading::Error> {
    // SAFETY: this runs the library's initialisers. It is one that rosidl generated, as trusted
    // as those that this program is linked with; the name was checked to be a plain word.
    unsafe { Library::new(place) }
}

impl fmt::Debug for TypeSupport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TypeSupport({})", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_known_by_their_ros_names() {
        let of = TypeSupport::of::<r2r::hopwatch_msgs::msg::RobotMessage>();
        assert_eq!(of.name(), "hopwatch_msgs/msg/RobotMessage");
        let named = TypeSupport::named(of.name()).unwrap();
        assert!(std::ptr::eq(named.handle(), of.handle()));
    }

    #[test]
    fn types_that_r2r_does_not_know_are_loaded() {
        assert!(r2r::WrappedNativeMsgUntyped::new_from("std_msgs/msg/String").is_err());
        assert_eq!(
            TypeSupport::named("std_msgs/msg/String").unwrap().name(),
            "std_msgs/msg/String"
        );
    }

    #[test]
    fn types_that_are_not_there_are_clear_errors() {
        for (name, part) in [
            ("no_such/msg/Type", "libno_such__rosidl"),
            ("std_msgs/msg/Strin", "Strin"),
            ("std_msgs/String", "package/msg/Type"),
            ("../evil/msg/Type", "package/msg/Type"),
            ("a b/msg/Type", "package/msg/Type"),
            ("", "package/msg/Type"),
        ] {
            let error = TypeSupport::named(name).unwrap_err().to_string();
            assert!(error.contains(&format!("{name:?}")) && error.contains(part), "{error}");
        }
    }
}
