//! run.json: what is known of a run beside its records, so that a report needs nothing else.

use crate::files::{self, FilesError};
use hopwatch_analysis::{Budget, Network, RunInfo};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use thiserror::Error;

/// The file.
pub const RUN_FILE: &str = "run.json";
/// Its schema.
const SCHEMA: &str = "hopwatch.run/1";
/// What a report says of a run that nobody ended: `hopwatch` or the machine died.
const NOT_ENDED: &str = "the run was not ended properly";

/// A folder that holds no run that can be read; what, where and why in a sentence.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct NoRun(String);

/// What a run was.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunFile {
    schema: String,
    /// When it began, RFC 3339.
    started: String,
    /// The command line.
    command: Vec<String>,
    /// How long it took; of one that was killed, how long it is known to have lived.
    duration_ns: u64,
    /// Why it ended before its time, if it did.
    interrupted: Option<String>,
    /// How it ended.
    end: End,
    /// Whether anyone set the budget: `hopwatch up` judges nothing.
    judged: bool,
    budget: BudgetFile,
    environment: BTreeMap<String, String>,
    /// The network that was made to lose packets, if one was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    network: Option<Network>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// Not yet, or nobody was left to say so.
    NotYet,
    /// In order.
    InOrder,
    /// A program of the pipeline ended when it should not have.
    Failed,
}

/// [`Budget`] in JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct BudgetFile {
    total_ns: i64,
    communication_ns: i64,
    p99_total_ns: i64,
    min_delivered: Option<f64>,
}

#[derive(Deserialize)]
struct Named {
    schema: String,
}

impl RunFile {
    /// A run that begins.
    pub fn new(
        started: String,
        environment: BTreeMap<String, String>,
        budget: &Budget,
        judged: bool,
    ) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            started,
            command: std::env::args().skip(1).collect(),
            duration_ns: 0,
            interrupted: None,
            end: End::NotYet,
            judged,
            budget: BudgetFile {
                total_ns: budget.total_ns,
                communication_ns: budget.communication_ns,
                p99_total_ns: budget.p99_total_ns,
                min_delivered: budget.min_delivered,
            },
            environment,
            network: None,
        }
    }

    /// Reads the one of a folder.
    pub fn read(folder: &Path) -> Result<Self, NoRun> {
        let path = folder.join(RUN_FILE);
        let text = std::fs::read_to_string(&path).map_err(|error| {
            NoRun(format!(
                "failed to read {}: {error}; is this the folder of a run?",
                path.display()
            ))
        })?;
        let wrong = |what: String| NoRun(format!("{} can't be read: {what}", path.display()));
        // First the schema: of another one, nothing else is known.
        let named: Named = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        if named.schema != SCHEMA {
            let text = format!("it is {:?}, and this Hopwatch knows {SCHEMA:?}", named.schema);
            return Err(wrong(text));
        }
        serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))
    }

    /// For the report.
    pub fn info(&self, id: String, messages_not_kept: u64) -> RunInfo {
        let interrupted = match self.end {
            End::NotYet => Some(NOT_ENDED.to_owned()),
            End::InOrder | End::Failed => self.interrupted.clone(),
        };
        RunInfo {
            id,
            started: self.started.clone(),
            duration_s: Duration::from_nanos(self.duration_ns).as_secs_f64(),
            command: self.command.clone(),
            interrupted,
            messages_not_kept,
            network: self.network.clone(),
        }
    }

    /// What it is judged by.
    pub fn budget(&self) -> Budget {
        Budget {
            total_ns: self.budget.total_ns,
            communication_ns: self.budget.communication_ns,
            p99_total_ns: self.budget.p99_total_ns,
            min_delivered: self.budget.min_delivered,
        }
    }

    /// Where it was measured.
    pub fn environment(&self) -> BTreeMap<String, String> {
        self.environment.clone()
    }

    /// The network that was made to lose packets, if one was.
    pub fn network(&self) -> Option<&Network> {
        self.network.as_ref()
    }

    /// It ended in order, and nobody stopped it before.
    pub fn is_whole(&self) -> bool {
        self.end == End::InOrder && self.interrupted.is_none()
    }

    /// How it ended.
    pub fn end(&self) -> End {
        self.end
    }

    /// Whether anyone set the budget.
    pub fn judged(&self) -> bool {
        self.judged
    }
}

/// Whether a folder is that of a run.
pub fn is_in(folder: &Path) -> bool {
    folder.join(RUN_FILE).exists()
}

/// A run that is under way, and its file.
pub struct UnderWay {
    /// Its folder.
    pub out: PathBuf,
    file: RunFile,
    began: Instant,
}

impl UnderWay {
    /// Writes the file: from now on the folder can be reported, whatever happens.
    pub fn begin(out: PathBuf, file: RunFile) -> Result<Self, FilesError> {
        let run = Self { out, file, began: Instant::now() };
        run.write()?;
        Ok(run)
    }

    /// Goes on with a run that nobody ended: its time goes on from the last sign of life.
    ///
    /// # Errors
    /// When the folder holds no run that can be read.
    pub fn go_on(out: PathBuf) -> Result<Self, NoRun> {
        let file = RunFile::read(&out)?;
        let lived = Duration::from_nanos(file.duration_ns);
        let now = Instant::now();
        Ok(Self { out, file, began: now.checked_sub(lived).unwrap_or(now) })
    }

    /// What stands in its file.
    pub fn file(&self) -> &RunFile {
        &self.file
    }

    /// Time counts from now.
    pub fn measure(&mut self) {
        self.began = Instant::now();
    }

    /// It still lives.
    pub fn lives(&mut self) {
        self.set_duration();
        self.write_or_warn();
    }

    /// It has ended; written when everything else has, too.
    pub fn end(&mut self, end: End, interrupted: Option<String>) {
        self.set_duration();
        self.file.end = end;
        self.file.interrupted = interrupted;
    }

    /// The network that it was measured on.
    pub fn set_network(&mut self, network: Network) {
        self.file.network = Some(network);
    }

    /// What was stored is reported even if this can't be.
    pub fn write_or_warn(&self) {
        if let Err(error) = self.write() {
            let why = std::error::Error::source(&error).map(ToString::to_string);
            tracing::warn!(why, "{error}");
        }
    }

    /// Nothing was measured: the folder is free for another run.
    pub fn discard(self) {
        for name in [RUN_FILE, files::DATABASE, "records.db-wal", "records.db-shm"] {
            let _not_made_yet = std::fs::remove_file(self.out.join(name));
        }
    }

    fn set_duration(&mut self) {
        let ns = self.began.elapsed().as_nanos();
        self.file.duration_ns = u64::try_from(ns).unwrap_or(u64::MAX);
    }

    fn write(&self) -> Result<(), FilesError> {
        let mut text = serde_json::to_string_pretty(&self.file)?;
        text.push('\n');
        files::replace(&self.out.join(RUN_FILE), &text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> RunFile {
        let environment = BTreeMap::from([("cores".to_owned(), "2".to_owned())]);
        let budget = Budget { min_delivered: Some(0.1 + 0.2), ..Budget::default() };
        RunFile::new("2026-11-30T15:00:00Z".to_owned(), environment, &budget, true)
    }

    #[test]
    fn it_is_read_as_it_was_written() {
        let folder = std::env::temp_dir().join(format!("hopwatch-run-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let mut run = UnderWay::begin(folder.clone(), file()).unwrap();
        let killed = RunFile::read(&folder).unwrap().info("id".to_owned(), 3);
        assert_eq!(killed.interrupted.as_deref(), Some(NOT_ENDED));
        assert_eq!((killed.duration_s.to_bits(), killed.messages_not_kept), (0, 3));
        run.end(End::InOrder, Some("Ctrl-C".to_owned()));
        run.write_or_warn();
        let read = RunFile::read(&folder).unwrap();
        let info = read.info("id".to_owned(), 0);
        assert_eq!(info.interrupted.as_deref(), Some("Ctrl-C"));
        let own = run.file.info("id".to_owned(), 0);
        assert_eq!(info.duration_s.to_bits(), own.duration_s.to_bits());
        assert_eq!((read.budget(), read.environment()), (file().budget(), file().environment()));
        run.discard();
        std::fs::remove_dir(&folder).unwrap();
    }

    #[test]
    fn a_run_that_nobody_ended_goes_on() {
        let folder = std::env::temp_dir().join(format!("hopwatch-go-on-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let mut killed = UnderWay::begin(folder.clone(), file()).unwrap();
        killed.began = Instant::now().checked_sub(Duration::from_secs(5)).unwrap();
        killed.lives();
        let mut run = UnderWay::go_on(folder.clone()).unwrap();
        run.end(End::InOrder, None);
        assert!(run.file().is_whole() && run.file().duration_ns >= 5_000_000_000);
        assert_eq!(run.file().environment(), file().environment());
        run.discard();
        std::fs::remove_dir(&folder).unwrap();
        assert!(UnderWay::go_on(folder).is_err());
    }

    #[test]
    fn what_is_no_file_of_a_run_is_named() {
        let folder = std::env::temp_dir().join(format!("hopwatch-norun-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let said = |text: &str| {
            std::fs::write(folder.join(RUN_FILE), text).unwrap();
            RunFile::read(&folder).unwrap_err().to_string()
        };
        for (text, word) in [
            ("", "EOF"),
            ("{}", "schema"),
            (r#"{"schema":"hopwatch.run/1"}"#, "started"),
            (r#"{"schema":"hopwatch.run/2"}"#, "hopwatch.run/1"),
        ] {
            let said = said(text);
            assert!(said.contains(word) && said.contains("run.json"), "{said}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
        let missing = RunFile::read(&folder).unwrap_err().to_string();
        assert!(missing.contains("folder of a run"), "{missing}");
    }
}
