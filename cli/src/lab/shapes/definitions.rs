//! The definitions of message types: of the folders that were named, of the ROS environment, and
//! those that this program brings.

use crate::args::Usage;
use hopwatch_kit::ament::{message_definition, shares};
use hopwatch_rosmsg::{Schema, TypeName};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::PathBuf;

/// What can be looked at without any ROS.
const OWN: [(&str, &str); 7] = [
    ("builtin_interfaces/msg/Time", "int32 sec\nuint32 nanosec\n"),
    ("hopwatch_lab_msgs/msg/Foo", include_str!("../../../../ros/hopwatch_lab_msgs/msg/Foo.msg")),
    (
        "hopwatch_lab_msgs/msg/FooArray",
        include_str!("../../../../ros/hopwatch_lab_msgs/msg/FooArray.msg"),
    ),
    (
        "hopwatch_lab_msgs/msg/FooSplit",
        include_str!("../../../../ros/hopwatch_lab_msgs/msg/FooSplit.msg"),
    ),
    (
        "hopwatch_lab_msgs/msg/FooStamped",
        include_str!("../../../../ros/hopwatch_lab_msgs/msg/FooStamped.msg"),
    ),
    (
        "hopwatch_lab_msgs/msg/FooStampedArray",
        include_str!("../../../../ros/hopwatch_lab_msgs/msg/FooStampedArray.msg"),
    ),
    (
        "hopwatch_lab_msgs/msg/FooStampedSplit",
        include_str!("../../../../ros/hopwatch_lab_msgs/msg/FooStampedSplit.msg"),
    ),
];

/// Reads definitions, and keeps what it has read.
pub(super) struct Definitions {
    folders: Vec<PathBuf>,
    pub(super) texts: BTreeMap<String, String>,
}

impl Definitions {
    /// From these folders first.
    pub(super) fn new(folders: &[PathBuf]) -> Result<Self, Usage> {
        if let Some(missing) = folders.iter().find(|folder| !folder.is_dir()) {
            return Err(Usage(format!("--msg-path {} is no folder", missing.display())));
        }
        let folders = folders.iter().cloned().chain(shares()).collect();
        Ok(Self { folders, texts: BTreeMap::new() })
    }

    /// A type and all that it holds.
    pub(super) fn schema(&mut self, name: &TypeName) -> Result<Schema, Usage> {
        let Self { folders, texts } = self;
        let schema = Schema::load(name, |of| {
            let key = of.to_string();
            let text = match message_definition(folders, of.package(), of.name()) {
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    let own = OWN.iter().find(|(name, _)| *name == key);
                    own.map(|(_, text)| (*text).to_owned()).ok_or(error)?
                }
                text => text?,
            };
            texts.insert(key, text.clone());
            Ok::<_, std::io::Error>(text)
        });
        schema.map_err(|error| Usage(format!("{:#}", anyhow::Error::new(error))))
    }
}
