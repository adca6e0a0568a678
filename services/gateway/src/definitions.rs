//! The definitions of message types, as their packages have them installed.

use hopwatch_kit::ament::{message_definition, shares};
use hopwatch_kit::config::Refused;
use hopwatch_rosmsg::{Schema, TypeName};
use std::path::PathBuf;

/// The definition of a type and of all that it holds, from the prefixes in `AMENT_PREFIX_PATH`.
pub(crate) fn schema(name: &str) -> Result<Schema, Refused> {
    schema_in(&shares(), name)
}

fn schema_in(shares: &[PathBuf], name: &str) -> Result<Schema, Refused> {
    let name: TypeName = name.parse().map_err(|error| Refused(format!("{error}")))?;
    Schema::load(&name, |of| message_definition(shares, of.package(), of.name()))
        .map_err(|error| Refused(format!("{:#}", anyhow::Error::new(error))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_found_in_the_prefixes() {
        let folder =
            std::env::temp_dir().join(format!("hopwatch-definitions-{}", std::process::id()));
        let place = folder.join("share/demo_msgs/msg");
        std::fs::create_dir_all(&place).unwrap();
        std::fs::write(place.join("Outer.msg"), "Inner inner\nuint8 n\n").unwrap();
        std::fs::write(place.join("Inner.msg"), "float64 x\n").unwrap();
        std::fs::write(place.join("Broken.msg"), "Nowhere n\n").unwrap();
        let shares = [PathBuf::from("/nowhere"), folder.join("share")];
        assert!(schema_in(&shares, "demo_msgs/msg/Outer").unwrap().path("inner.x").is_ok());
        for (name, part) in [
            ("demo_msgs/msg/Broken", "share/demo_msgs has no msg/Nowhere.msg"),
            ("none_msgs/msg/Some", "install the package none_msgs"),
            ("demo_msgs/Outer/", "message type"),
        ] {
            let why = schema_in(&shares, name).unwrap_err().0;
            assert!(why.contains(part), "{why}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
