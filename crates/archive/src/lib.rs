//! Records in a SQLite file: stored before they are acknowledged, each once.
//!
//! The file is in WAL mode with `synchronous = NORMAL`: what [`Archive::append`] returned for
//! outlives the death of the process (SIGKILL), because the kernel has it; a power cut may take
//! the newest transactions, never a part of one (<https://www.sqlite.org/wal.html>).
//!
//! One process appends ([`Archive`]); any number may read meanwhile ([`Reader`]).

mod append;
mod error;
mod forget;
mod read;
mod schema;
mod slot;

pub use append::{Archive, NewEntry};
pub use error::ArchiveError;
pub use read::Reader;
pub use schema::{APPLICATION_ID, SCHEMA};
pub use slot::slot;
