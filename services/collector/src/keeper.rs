//! Records in a file: nothing is acknowledged that isn't stored, nothing is counted twice.

use crate::store::{Keep, Store};
use crate::told::Told;
use anyhow::Context;
use axum::body::Body;
use hopwatch_archive::{Archive, ArchiveError, NewEntry, Reader};
use hopwatch_kit::config::Refused;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc;

/// The dataset is sent in pieces of about so many bytes.
const PIECE: usize = 64 << 10;

/// The archive of a run, and what can't be stored in it now.
pub(crate) struct Keeper {
    path: PathBuf,
    state: Mutex<State>,
}

struct State {
    /// `None` once it is closed.
    archive: Option<Archive>,
    /// Told once per silence.
    failing: bool,
    /// Events of our own that wait to be stored.
    waiting: Vec<(Told, String)>,
}

/// Why a batch wasn't stored.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotStored {
    #[error(transparent)]
    Failed(#[from] ArchiveError),
    #[error("the collector is ending")]
    Closed,
}

impl Keeper {
    /// Opens the archive, and takes into a store what is in it.
    pub(crate) fn open(path: &Path, limit: u64, keep: Keep) -> anyhow::Result<(Self, Store)> {
        let new_id = uuid::Uuid::new_v4().to_string();
        let opened = Archive::open(path, limit, &new_id);
        let archive = opened.map_err(refused_if_of_the_file)?;
        let mut store = Store::new(keep, archive.run_id().to_owned());
        let read = Reader::open(path).map_err(refused_if_of_the_file)?;
        store.begin_reading();
        let mut lines = 0_u64;
        read.by_arrival(|line| {
            lines += 1;
            let told = Told::read(line).map_err(|error| {
                Refused(format!("{} holds what is no record: {error}", path.display()))
            })?;
            store.put(told);
            Ok::<(), anyhow::Error>(())
        })
        .context("failed to go on with the records of an earlier start")?;
        if lines > 0 {
            tracing::info!(records = lines, run = archive.run_id(), "goes on with a run");
        }
        store.end_reading();
        let state = State { archive: Some(archive), failing: false, waiting: Vec::new() };
        Ok((Self { path: path.to_owned(), state: Mutex::new(state) }, store))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores a batch and then takes what was new of it into the store; gives how many were.
    /// `refused`: how many lines of the batch were no entries, and what was wrong with the first.
    pub(crate) fn take<'s>(
        &self,
        batch: Vec<(Told, &str)>,
        refused: (usize, Option<&String>),
        store: impl Fn() -> MutexGuard<'s, Store>,
    ) -> Result<usize, NotStored> {
        // Held to the end: what is stored first is also taken first.
        let mut state = self.state();
        let fresh = match state.append(&batch) {
            Ok(fresh) => fresh,
            Err(error) => {
                if !std::mem::replace(&mut state.failing, true) {
                    tracing::error!("records can't be stored, senders keep them: {error}");
                    let text = format!("records can't be stored, senders keep them: {error}");
                    state.waiting.extend(store().say("archive_failed", text));
                }
                return Err(error);
            }
        };
        if std::mem::take(&mut state.failing) {
            tracing::info!("records are stored again");
        }
        if let (lines, Some(first)) = refused {
            let event = store().refused(lines, first);
            state.waiting.extend(event);
        }
        // Told when it can be; nobody waits for it.
        let _later = state.append(&[]);
        let mut store = store();
        let new = batch.into_iter().zip(fresh).filter(|(_, fresh)| *fresh);
        Ok(new.map(|((told, _), _)| store.put(told)).count())
    }

    /// Closes the archive; batches that still come are not taken.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        let _said = state.append(&[]);
        if let Some(archive) = state.archive.take()
            && let Err(error) = archive.close()
        {
            tracing::warn!("the archive was not closed in order: {error}");
        }
    }

    /// Gives all lines that are stored to `take`, by their sources.
    pub(crate) fn read(&self, take: impl FnMut(&str) -> anyhow::Result<()>) -> anyhow::Result<()> {
        Reader::open(&self.path)?.by_source(take)
    }

    /// All that is stored, as a body in pieces.
    pub(crate) fn dataset(&self) -> Result<Body, ArchiveError> {
        let reader = Reader::open(&self.path)?;
        let (pieces, mut received) = mpsc::channel::<std::io::Result<Vec<u8>>>(4);
        tokio::task::spawn_blocking(move || {
            let mut piece = Vec::new();
            let sent = reader.by_source(|line| {
                piece.extend_from_slice(line.as_bytes());
                piece.push(b'\n');
                if piece.len() < PIECE {
                    return Ok(());
                }
                // Whoever asked may be gone.
                let sent = pieces.blocking_send(Ok(std::mem::take(&mut piece)));
                sent.context("nobody reads any more")
            });
            // An error cuts the body off, so that nobody takes the part for the whole.
            let last = sent.map(|()| piece).map_err(std::io::Error::other);
            let _gone = pieces.blocking_send(last);
        });
        Ok(Body::from_stream(futures_util::stream::poll_fn(move |context| {
            received.poll_recv(context)
        })))
    }
}

impl State {
    /// Stores what waits and the batch, in one transaction.
    fn append(&mut self, batch: &[(Told, &str)]) -> Result<Vec<bool>, NotStored> {
        let archive = self.archive.as_mut().ok_or(NotStored::Closed)?;
        let waiting = self.waiting.iter().map(|(told, line)| (told, line.as_str()));
        let all = waiting.chain(batch.iter().map(|(told, line)| (told, *line)));
        let entries: Vec<NewEntry<'_>> = all
            .map(|(told, line)| NewEntry {
                source: &told.origin.0,
                number: told.origin.1,
                slot: told.slot(),
                line,
            })
            .collect();
        if entries.is_empty() {
            return Ok(Vec::new());
        }
        let mut fresh = archive.append(&entries)?;
        Ok(fresh.split_off(std::mem::take(&mut self.waiting).len()))
    }
}

/// A file that can't be an archive is the configuration's fault.
fn refused_if_of_the_file(error: ArchiveError) -> anyhow::Error {
    if error.is_of_the_file() {
        Refused(format!("database: {error}; choose another")).into()
    } else {
        error.into()
    }
}
