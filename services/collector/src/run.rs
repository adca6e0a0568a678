//! Runs that the collector keeps itself, where no `hopwatch` does: in containers.
//!
//! **The rule.** A run goes from a start of the collector to the first stop in order, which writes
//! its report. A collector that was killed and is started again goes on with the run of before, as
//! long as it is on the same clock: after a restart of the machine nothing fits together any more.

use crate::export::gather;
use crate::{Config, Shared};
use anyhow::{Context, ensure};
use hopwatch_analysis::{Budget, report};
use hopwatch_folder::{DATABASE, End, Gathered, ReportFiles, RunFile, UnderWay, is_in};
use hopwatch_kit::Shutdown;
use hopwatch_kit::clock::clock_id;
use hopwatch_kit::config::Refused;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How often the file tells that the run lives.
const LIFE_SIGN: Duration = Duration::from_secs(5);
/// Where the environment of a run names its clock.
const CLOCK: &str = "clock";

/// The run of this start.
pub(crate) struct Run(UnderWay);

impl Run {
    /// Begins a run, or goes on with the newest one, and has the database in its folder; `None`
    /// without a folder for runs.
    pub(crate) fn begin(config: &mut Config, budget: &Budget) -> anyhow::Result<Option<Self>> {
        if config.runs.is_empty() {
            return Ok(None);
        }
        ensure!(
            config.database.is_empty(),
            Refused("database and runs exclude each other: each run has a database".to_owned())
        );
        let runs = PathBuf::from(&config.runs);
        std::fs::create_dir_all(&runs).map_err(|error| {
            Refused(format!("runs: failed to make {}: {error}", runs.display()))
        })?;
        let run = match unended(&runs)? {
            Some(folder) => UnderWay::go_on(folder)?,
            None => begin_in(&runs, budget)?,
        };
        let database = run.out.join(DATABASE);
        database
            .to_str()
            .context("runs must be a folder whose name is UTF-8")?
            .clone_into(&mut config.database);
        tracing::info!(folder = %run.out.display(), "the run's folder");
        Ok(Some(Self(run)))
    }

    /// Tells now and then that the run lives, until the shutdown begins.
    pub(crate) async fn live(mut self, shutdown: Shutdown) -> Self {
        let begun = shutdown.begun();
        tokio::pin!(begun);
        loop {
            tokio::select! {
                () = &mut begun => return self,
                () = tokio::time::sleep(LIFE_SIGN) => self.0.lives(),
            }
        }
    }

    /// Ends it in order, and writes the report of all that was told.
    pub(crate) fn end(self, shared: &Shared) -> anyhow::Result<()> {
        let Self(mut run) = self;
        run.end(End::InOrder, None);
        run.write_or_warn();
        let Gathered { data, messages_not_kept } = gather(shared).context("nothing is reported")?;
        let info = run.file().info(shared.store().run_id.clone(), messages_not_kept);
        let report = report(&data, info, run.file().environment(), &run.file().budget());
        ReportFiles::of(&report, &data)?.write(&run.out)?;
        tracing::info!(folder = %run.out.display(), "the report is written");
        Ok(())
    }
}

/// The newest run, if nobody ended it and its clock still runs.
fn unended(runs: &Path) -> anyhow::Result<Option<PathBuf>> {
    let entries = std::fs::read_dir(runs)
        .with_context(|| format!("failed to read the folder {}", runs.display()))?;
    let folders = entries.filter_map(|entry| Some(entry.ok()?.path()));
    // Others may be there, too: runs of `hopwatch run` and experiments.
    let ours = |folder: &PathBuf| {
        folder.file_name().and_then(|name| name.to_str()).is_some_and(is_named_by_its_begin)
    };
    let Some(newest) = folders.filter(|folder| ours(folder) && is_in(folder)).max() else {
        return Ok(None);
    };
    let file = RunFile::read(&newest)?;
    let clock = clock_id().to_string();
    let goes_on =
        file.end() == End::NotYet && file.environment().get(CLOCK).is_some_and(|own| *own == clock);
    Ok(goes_on.then_some(newest))
}

/// "2026-11-30T12-00-00Z", or a further one of that second: "….2".
fn is_named_by_its_begin(name: &str) -> bool {
    let (time, number) = name.split_once('.').unwrap_or((name, "2"));
    let digits = |place: &str| !place.is_empty() && place.bytes().all(|byte| byte.is_ascii_digit());
    let time = time.strip_suffix('Z').and_then(|time| time.split_once('T'));
    let fits = |part: &str, lengths: [usize; 3]| {
        let parts: Vec<&str> = part.split('-').collect();
        parts.len() == 3
            && parts.iter().zip(lengths).all(|(p, length)| digits(p) && p.len() == length)
    };
    digits(number) && time.is_some_and(|(day, hour)| fits(day, [4, 2, 2]) && fits(hour, [2, 2, 2]))
}

fn begin_in(runs: &Path, budget: &Budget) -> anyhow::Result<UnderWay> {
    let since = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let name = since.replace(':', "-");
    // A restart within the second.
    let names = std::iter::once(name.clone()).chain((2..100).map(|n| format!("{name}.{n}")));
    let free = names.map(|name| runs.join(name)).find(|folder| !folder.exists());
    let folder = free.context("failed to find a name for the run's folder")?;
    std::fs::create_dir(&folder)
        .map_err(|error| Refused(format!("runs: failed to make {}: {error}", folder.display())))?;
    Ok(UnderWay::begin(folder, RunFile::new(since, environment(), budget, false))?)
}

/// Where it is measured, as far as the collector sees.
fn environment() -> BTreeMap<String, String> {
    let read = |path: &str| std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
    let is_container = Path::new("/.dockerenv").exists();
    let cores = std::thread::available_parallelism().ok().map(|n| n.to_string());
    [
        ("hopwatch", Some(env!("CARGO_PKG_VERSION").to_owned())),
        ("kernel", read("/proc/sys/kernel/osrelease")),
        ("architecture", Some(std::env::consts::ARCH.to_owned())),
        ("cores", cores),
        ("container", Some(if is_container { "docker" } else { "none seen" }.to_owned())),
        (CLOCK, Some(clock_id().to_string())),
    ]
    .into_iter()
    .filter_map(|(key, value)| Some((key.to_owned(), value?)))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_runs_of_its_own_are_gone_on_with() {
        for (name, ours) in [
            ("2026-11-30T12-00-00Z", true),
            ("2026-11-30T12-00-00Z.2", true),
            ("mine", false),
            ("out", false),
            ("2026-11-30T12-00-00Z.", false),
            ("2026-11-30T12-00-0Z", false),
            ("compare-2026-11-30T12-00-00Z", false),
        ] {
            assert_eq!(is_named_by_its_begin(name), ours, "{name}");
        }
    }

    fn begin(runs: &Path) -> (Run, String) {
        let mut config = Config { runs: runs.display().to_string(), ..Config::default() };
        let run = Run::begin(&mut config, &Budget::default()).unwrap().unwrap();
        assert_eq!(Path::new(&config.database), run.0.out.join(DATABASE));
        (run, config.database)
    }

    #[test]
    fn a_run_that_was_killed_goes_on_and_one_that_ended_does_not() {
        let runs = tempfile::tempdir().unwrap();
        let (killed, first) = begin(&runs.path().join("deep"));
        drop(killed);
        let (Run(mut run), again) = begin(&runs.path().join("deep"));
        assert_eq!(again, first);
        run.end(End::InOrder, None);
        run.write_or_warn();
        let (_, other) = begin(&runs.path().join("deep"));
        assert_ne!(other, first);
    }

    #[test]
    fn a_run_on_another_clock_does_not_go_on() {
        let runs = tempfile::tempdir().unwrap();
        let (Run(run), first) = begin(runs.path());
        let file = run.out.join(hopwatch_folder::RUN_FILE);
        let text = std::fs::read_to_string(&file).unwrap();
        let clock = clock_id().to_string();
        assert!(text.contains(&clock), "{text}");
        std::fs::write(&file, text.replace(&clock, "another-boot")).unwrap();
        assert_ne!(begin(runs.path()).1, first);
    }

    #[test]
    fn database_and_runs_exclude_each_other() {
        let (runs, database) = ("a".to_owned(), "b".to_owned());
        let mut config = Config { database, runs, ..Config::default() };
        let refused = Run::begin(&mut config, &Budget::default()).err().unwrap();
        assert!(refused.to_string().contains("exclude each other"));
        assert!(Run::begin(&mut Config::default(), &Budget::default()).unwrap().is_none());
    }
}
