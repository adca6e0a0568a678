//! What can be wrong with an archive.

use rusqlite::ErrorCode;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// What can be wrong with an archive.
#[derive(Debug, Error)]
pub enum ArchiveError {
    /// There is no such file.
    #[error("there is no {path}", path = path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// Something else is in the file.
    #[error("{path} is no archive of Hopwatch", path = path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A newer Hopwatch made it.
    #[error(
        "{path} has schema {found}, made by a newer Hopwatch; this one reads up to {known}",
        path = path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: i64,
        /// The newest schema known here.
        known: i64,
    },
    /// What is in the file can't be.
    #[error("{path} is damaged: {what}", path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found.
        what: String,
    },
    /// The file can't be read or written now: the disk is full, somebody else holds it, …
    #[error("failed to use {path}: {source}", path = path.display())]
    Failed {
        /// The file.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
    /// A number that SQLite can't hold; no sender counts so far.
    #[error("{number} is no number of an entry: it is above 2^63 - 1")]
    NumberTooLarge {
        /// The number.
        number: u64,
    },
}

impl ArchiveError {
    /// Whether the file itself is at fault, and will be at the next try, too.
    pub fn is_of_the_file(&self) -> bool {
        !matches!(self, Self::Failed { .. } | Self::NumberTooLarge { .. })
    }

    pub(crate) fn damaged(path: &Path, what: impl std::fmt::Display) -> Self {
        Self::Damaged { path: path.to_owned(), what: what.to_string() }
    }

    /// SQLite's word for it, told apart by what the user can do.
    pub(crate) fn of(path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        match source.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Self::Foreign { path },
            // Also: a table or a value that isn't as the schema says.
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::Unknown) | None => {
                Self::Damaged { path, what: source.to_string() }
            }
            Some(_) => Self::Failed { path, source },
        }
    }
}
