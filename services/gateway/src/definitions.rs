//! The definitions of message types, as their packages have them installed.

use hopwatch_kit::config::Refused;
use hopwatch_rosmsg::{Schema, TypeName};
use std::io;
use std::path::PathBuf;

/// The definition of a type and of all that it holds, from the prefixes in `AMENT_PREFIX_PATH`.
pub(crate) fn schema(name: &str) -> Result<Schema, Refused> {
    let prefixes = std::env::var_os("AMENT_PREFIX_PATH").unwrap_or_default();
    let prefixes: Vec<PathBuf> = std::env::split_paths(&prefixes).collect();
    schema_in(&prefixes, name)
}

fn schema_in(prefixes: &[PathBuf], name: &str) -> Result<Schema, Refused> {
    let name: TypeName = name.parse().map_err(|error| Refused(format!("{error}")))?;
    Schema::load(&name, |of| text(prefixes, of))
        .map_err(|error| Refused(format!("{:#}", anyhow::Error::new(error))))
}

fn text(prefixes: &[PathBuf], name: &TypeName) -> Result<String, io::Error> {
    let place = name.definition_path();
    let found = prefixes.iter().map(|prefix| prefix.join(&place)).find(|path| path.exists());
    let path = found.ok_or_else(|| {
        let why = format!(
            "no {place} in any prefix of AMENT_PREFIX_PATH: install the package {}, or source the \
             workspace that has it",
            name.package()
        );
        io::Error::new(io::ErrorKind::NotFound, why)
    })?;
    std::fs::read_to_string(&path)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
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
        let prefixes = [PathBuf::from("/nowhere"), folder.clone()];
        assert!(schema_in(&prefixes, "demo_msgs/msg/Outer").unwrap().path("inner.x").is_ok());
        for (name, part) in [
            ("demo_msgs/msg/Broken", "Nowhere.msg"),
            ("none_msgs/msg/Some", "install the package none_msgs"),
            ("demo_msgs/Outer/", "message type"),
        ] {
            let why = schema_in(&prefixes, name).unwrap_err().0;
            assert!(why.contains(part), "{why}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
