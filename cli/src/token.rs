//! `hopwatch token`: a token that services share by a file (`HOPWATCH_TOKEN_FILE`).

use crate::args::{TokenFile, Usage};
use crate::report::print;
use anyhow::Context;
use hopwatch_kit::net::Token;
use hopwatch_kit::service::exit;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// For its owner alone.
const OWN: u32 = 0o400;
/// Whoever can open the file is meant to have it: the folder guards it, such as a volume that is given
/// to Hopwatch's containers alone, whose users differ.
const SHARED: u32 = 0o444;

/// Makes the file unless it holds a token, and shows it if it is asked to.
pub(crate) fn command(args: &TokenFile) -> anyhow::Result<u8> {
    let file = &args.file;
    let known = std::fs::metadata(file).map_or(0, |known| known.len());
    if known == 0 {
        make(file, if args.shared { SHARED } else { OWN })
            .with_context(|| format!("failed to write {}", file.display()))?;
    }
    let token = Token::in_file(file).map_err(|refused| Usage(refused.to_string()))?;
    if args.show {
        print(|out| writeln!(out, "{}", token.secret().unwrap_or_default()))?;
    }
    Ok(exit::OK)
}

/// 244 random bits of the system's.
fn make(file: &Path, mode: u32) -> std::io::Result<()> {
    let random = || uuid::Uuid::new_v4().simple().to_string();
    // One that was begun when the power went is empty, and may not be written to.
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut new = OpenOptions::new().write(true).create_new(true).mode(mode).open(file)?;
    writeln!(new, "{}{}", random(), random())?;
    new.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_token_is_made_once_and_another_one_elsewhere() {
        let folder = std::env::temp_dir().join(format!("hopwatch-token-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let read = |name: &str| {
            let file = folder.join(name);
            command(&TokenFile { file: file.clone(), show: false, shared: name == "b" }).unwrap();
            let mode = std::fs::metadata(&file).unwrap().permissions().mode() & 0o777;
            assert_eq!(
                mode,
                if name == "b" {
                    SHARED
                } else if name == "c" {
                    mode
                } else {
                    OWN
                }
            );
            std::fs::read_to_string(file).unwrap()
        };
        let first = read("a");
        assert_eq!((first.trim().len(), read("a")), (64, first.clone()));
        assert_ne!(read("b"), first);
        std::fs::write(folder.join("c"), "").unwrap();
        assert_eq!(read("c").trim().len(), 64);
        std::fs::remove_dir_all(&folder).unwrap();
        let lost = TokenFile { file: folder.join("a"), show: false, shared: false };
        assert!(format!("{:#}", command(&lost).unwrap_err()).contains("failed to write"));
    }
}
