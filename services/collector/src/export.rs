//! Everything so far as the files of a report: `GET /v1/report.html`, `.json`, `.md`, and
//! `GET /v1/traces.csv`.

use crate::Shared;
use anyhow::Context;
use axum::Router;

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use hopwatch_analysis::{RunInfo, report};
use hopwatch_folder::{Gathered, Gathering, ReportFiles, RunFile};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;
use tokio::sync::Semaphore;

/// The files that can be had, each with its content type.
pub(crate) const FILES: [(&str, &str); 4] = [
    ("report.html", "text/html; charset=utf-8"),
    ("report.json", "application/json"),
    ("report.md", "text/markdown; charset=utf-8"),
    ("traces.csv", "text/csv; charset=utf-8"),
];

/// What a report needs beside the records.
pub(crate) struct Surroundings {
    pub(crate) info: RunInfo,
    pub(crate) environment: BTreeMap<String, String>,
}

/// What the routes share: `place` is for one report in the making, as each needs the memory for
/// all records.
#[derive(Clone)]
struct Exports {
    shared: Arc<Shared>,
    place: Arc<Semaphore>,
}

/// The routes.
pub(crate) fn routes(shared: Arc<Shared>, place: Arc<Semaphore>) -> Router {
    let exports = Exports { shared, place };
    FILES.iter().fold(Router::new(), |router, (name, _)| {
        let of = exports.clone();
        router.route(&format!("/v1/{name}"), get(move || export(of.clone(), name)))
    })
}

async fn export(Exports { shared, place }: Exports, name: &'static str) -> Response {
    let Ok(place) = place.try_acquire_owned() else {
        let text = "a report is being made already: ask again when it is done\n";
        return (StatusCode::SERVICE_UNAVAILABLE, text).into_response();
    };
    let making = tokio::task::spawn_blocking(move || {
        let _until_done = place;
        so_far(&shared)
    });
    let made = making.await.context("failed to make the report").and_then(|made| made);
    match made {
        Ok((files, id)) => match files.text(name) {
            Some(text) => attachment(&id, name, text.to_owned()),
            None => StatusCode::NOT_FOUND.into_response(),
        },
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, format!("{error:#}\n")).into_response(),
    }
}

/// The report of everything so far, and the name of the run.
fn so_far(shared: &Shared) -> anyhow::Result<(ReportFiles, String)> {
    let Gathered { mut data, messages_not_kept } = gather(shared)?;
    data.goes_on = true;
    let Surroundings { mut info, environment } = surroundings(shared);
    info.messages_not_kept = messages_not_kept;
    let now = humantime::format_rfc3339_seconds(SystemTime::now());
    info.interrupted = Some(format!("the run went on: this is what was known at {now}"));
    let id = format!("hopwatch-{}", info.id.chars().take(8).collect::<String>());
    let report = report(&data, info, environment, &shared.budget);
    Ok((ReportFiles::of(&report, &data)?, id))
}

/// All records that are kept.
pub(crate) fn gather(shared: &Shared) -> anyhow::Result<Gathered> {
    let mut gathering = Gathering::default();
    if let Some(keeper) = &shared.keeper {
        keeper.read(|line| Ok(gathering.take(line)?))?;
    } else {
        // Made under the lock, read without it.
        let lines = shared.store().lines();
        lines.lines().try_for_each(|line| gathering.take(line))?;
    }
    Ok(gathering.end())
}

/// What the run is: by the run.json beside the database, if `hopwatch` left one there.
pub(crate) fn surroundings(shared: &Shared) -> Surroundings {
    let beside = Path::new(&shared.config.database).parent();
    let run = beside.and_then(|folder| RunFile::read(folder).ok());
    let (id, since) = {
        let store = shared.store();
        (store.run_id.clone(), store.started.elapsed())
    };
    if let Some(run) = run {
        return Surroundings { info: run.info(id, 0), environment: run.environment() };
    }
    let started = SystemTime::now().checked_sub(since).unwrap_or_else(SystemTime::now);
    let info = RunInfo {
        id,
        started: humantime::format_rfc3339_seconds(started).to_string(),
        duration_s: since.as_secs_f64(),
        ..RunInfo::default()
    };
    let version = ("hopwatch".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
    Surroundings { info, environment: BTreeMap::from([version]) }
}

/// A file to be saved; its name tells which run it is of.
pub(crate) fn attachment(run: &str, name: &str, text: String) -> Response {
    let kind = FILES.iter().find(|(known, _)| *known == name).map_or("text/plain", |of| of.1);
    // No name has a quotation mark or anything beyond ASCII.
    let file = format!("attachment; filename=\"{run}-{name}\"");
    let headers = [
        (header::CONTENT_TYPE, kind.to_owned()),
        (header::CONTENT_DISPOSITION, file),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
        (header::CACHE_CONTROL, "no-store".to_owned()),
    ];
    (headers, text).into_response()
}
