//! What ROS packages have installed, by the prefixes in `AMENT_PREFIX_PATH`.

use std::io::{Error, ErrorKind};
use std::path::PathBuf;

/// The `share` folders of all prefixes, in their order.
pub fn shares() -> Vec<PathBuf> {
    let prefixes = std::env::var_os("AMENT_PREFIX_PATH").unwrap_or_default();
    let prefixes = std::env::split_paths(&prefixes).filter(|prefix| !prefix.as_os_str().is_empty());
    prefixes.map(|prefix| prefix.join("share")).collect()
}

/// The text of `package/msg/Name.msg` in the first of these folders that has it.
///
/// # Errors
/// When none has it, told by what is there of the package; when it can't be read.
pub fn message_definition(
    shares: &[PathBuf],
    package: &str,
    name: &str,
) -> std::io::Result<String> {
    let place = format!("{package}/msg/{name}.msg");
    let found = shares.iter().map(|share| share.join(&place)).find(|path| path.exists());
    let path = found.ok_or_else(|| {
        let installed = shares.iter().map(|share| share.join(package)).find(|path| path.exists());
        let why = match installed {
            Some(share) => format!("{} has no msg/{name}.msg", share.display()),
            None => format!(
                "no share/{place} in any prefix of AMENT_PREFIX_PATH: install the package {package}, \
                 or source the workspace that has it"
            ),
        };
        Error::new(ErrorKind::NotFound, why)
    })?;
    std::fs::read_to_string(&path)
        .map_err(|error| Error::new(error.kind(), format!("{}: {error}", path.display())))
}
