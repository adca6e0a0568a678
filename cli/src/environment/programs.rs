//! Which build of the programs was measured: their ELF build IDs.

use std::fmt::Write;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// The programs of the pipeline that lie beside this one.
const PROGRAMS: [&str; 7] = [
    "hopwatch",
    "hopwatch-ai-mock",
    "hopwatch-broadcaster",
    "hopwatch-collector",
    "hopwatch-gateway",
    "hopwatch-lab-probe",
    "hopwatch-robot-sim",
];

/// The build ID of each program, in the order of their names; "none" where there is none.
///
/// The linker makes it of all that it writes (`ld --build-id`), so a program that was built anew
/// from other sources, or otherwise, has another one. Version and size may stay the same.
pub(super) fn programs() -> Option<String> {
    let own = std::env::current_exe().ok()?;
    let of = |name: &&str| {
        let id = build_id(&own.with_file_name(name));
        let short = name.strip_prefix("hopwatch-").unwrap_or(name);
        format!("{short} {}", id.as_deref().unwrap_or("none"))
    };
    Some(PROGRAMS.iter().map(of).collect::<Vec<_>>().join(", "))
}

/// PT_NOTE, as in `elf(5)`.
const NOTE: u32 = 4;
/// NT_GNU_BUILD_ID.
const BUILD_ID: u32 = 3;
/// Notes are short; what is longer is none.
const LONGEST: u64 = 1 << 16;

/// Of a little-endian ELF file of 64 bits.
fn build_id(path: &Path) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let head = read(&mut file, 0, 64)?;
    if !head.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (table, size, count) = (u64_at(&head, 32)?, u16_at(&head, 54)?, u16_at(&head, 56)?);
    (0..u64::from(count)).find_map(|i| {
        let entry = read(&mut file, table.checked_add(i * u64::from(size))?, 56)?;
        let (kind, offset, length) = (u32_at(&entry, 0)?, u64_at(&entry, 8)?, u64_at(&entry, 32)?);
        if kind != NOTE || length > LONGEST {
            return None;
        }
        id_in(&read(&mut file, offset, length)?)
    })
}

/// In a segment of notes: each has the lengths of its name and of its value, its kind, and both,
/// to 4 bytes.
fn id_in(mut notes: &[u8]) -> Option<String> {
    while notes.len() >= 12 {
        let whole = |length: u32| usize::try_from(length).ok()?.checked_next_multiple_of(4);
        let (name, value, kind) = (u32_at(notes, 0)?, u32_at(notes, 4)?, u32_at(notes, 8)?);
        let (from, length) = (12_usize.checked_add(whole(name)?)?, usize::try_from(value).ok()?);
        if kind == BUILD_ID && notes.get(12..16)? == b"GNU\0" {
            let id = notes.get(from..from.checked_add(length)?)?;
            return Some(id.iter().fold(String::new(), |mut text, byte| {
                let _infallible = write!(text, "{byte:02x}");
                text
            }));
        }
        notes = notes.get(from.checked_add(whole(value)?)?..)?;
    }
    None
}

fn read(file: &mut File, at: u64, length: u64) -> Option<Vec<u8>> {
    file.seek(SeekFrom::Start(at)).ok()?;
    let mut bytes = vec![0; usize::try_from(length).ok()?];
    file.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first program: another build of it, with as many bytes, is another one.
    #[test]
    fn a_program_that_was_built_anew_is_told() {
        let own = std::env::current_exe().unwrap();
        let id = build_id(&own).expect("the linker gives build IDs");
        assert_eq!((id.len(), build_id(&own)), (40, Some(id.clone())));
        let folder = std::env::temp_dir().join(format!("hopwatch-elf-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let mut bytes = std::fs::read(&own).unwrap();
        let wanted: Vec<u8> =
            (0..20).map(|i| u8::from_str_radix(&id[2 * i..2 * i + 2], 16).unwrap()).collect();
        let at = bytes.windows(20).position(|window| window == wanted).unwrap();
        bytes[at] ^= 1;
        let other = folder.join("other");
        std::fs::write(&other, &bytes).unwrap();
        assert_ne!(build_id(&other).unwrap(), id);
        // What is no program, or only half of one, has none.
        for part in [0, 3, 64, 100, 400] {
            std::fs::write(&other, &bytes[..part]).unwrap();
            assert_eq!(build_id(&other), None, "{part} bytes");
        }
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(build_id(&folder), None);
        assert!(programs().unwrap().contains("gateway "));
    }
}
