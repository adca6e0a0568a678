//! The ready examples of AI services: those with the lines for Hopwatch get AI and transport told
//! apart, the others are marked.
#![allow(clippy::unwrap_used, reason = "tests")]

use hopwatch_e2e::{Running, Start, World, figures_are_of_the_traces, legs_add_up, within};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Where nothing listens just now.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The interpreter of the environment that has FastAPI and Flask, made if it isn't there.
fn python() -> PathBuf {
    let script = "import os, environment; print(environment.prepared_python(os.environ))";
    let output = Command::new(std::env::var_os("HOPWATCH_PYTHON").unwrap())
        .args(["-c", script])
        .current_dir(repository().join("bench/python-stack"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    said.lines().last().unwrap().into()
}

/// Starts a service, and waits until it listens.
fn started(mut start: Start, port: u16) -> Running {
    let mut running = start.without_dds().env("PYTHONDONTWRITEBYTECODE", "1").start();
    within(Duration::from_secs(30), "a listening example", || {
        assert!(running.lives(), "{}", running.stderr());
        TcpStream::connect(("127.0.0.1", port)).map_err(|error| error.to_string())
    });
    running
}

/// Runs Hopwatch on a service, and looks whether its time is told apart.
fn is_split(start: impl Fn(&World, u16) -> Start, tells: bool) {
    let (world, port) = (World::new(), free_port());
    let service = started(start(&world, port), port);
    let words = format!("run --for 2s --rate 20 --ai-url http://127.0.0.1:{port}/analyze");
    let ended = world.hopwatch(&words).end();
    service.terminate();
    drop(service.end());
    world.is_empty_now();
    let report = ended.has_code(0).report();
    report.ledger().all_delivered(40);
    let rows = ended.traces();
    legs_add_up(&rows);
    figures_are_of_the_traces(report.lane(), &rows);
    let legs = &report.lane().legs;
    let has = |leg: &str| legs.get(leg).is_some_and(|figures| figures.n == 40);
    assert_eq!((has("ai_infer"), has("ai_transport")), (tells, tells), "{legs:?}");
    assert_eq!(has("ai_round_trip"), !tells, "{legs:?}");
    assert_eq!(ended.markdown().contains("AI includes its transport"), !tells);
}

#[test]
fn fastapi_tells_its_time_by_two_lines() {
    let python = python();
    for (module, tells) in [("fastapi_service", true), ("fastapi_plain", false)] {
        let folder = repository().join("examples/ai-services");
        is_split(
            |world, port| {
                let words = format!("-m uvicorn {module}:app --port {port} --app-dir");
                let mut start = world.program(&python, &words);
                start.arg(folder.to_str().unwrap());
                start
            },
            tells,
        );
    }
}

#[test]
fn flask_tells_its_time_by_two_lines() {
    let python = python();
    for (module, tells) in [("flask_service", true), ("flask_plain", false)] {
        let script = repository().join(format!("examples/ai-services/{module}.py"));
        is_split(
            |world, port| {
                let mut start = world.program(&python, "");
                start.arg(script.to_str().unwrap()).args(&format!("--port {port}"));
                start
            },
            tells,
        );
    }
}

#[test]
fn axum_tells_its_time_by_two_lines() {
    let own = std::env::current_exe().unwrap();
    let folder = own.parent().and_then(Path::parent).unwrap().join("examples");
    for (program, tells) in [("axum_service", true), ("axum_plain", false)] {
        let program = folder.join(program);
        assert!(
            program.exists(),
            "{} is not built: cargo build -p hopwatch-example-axum --examples",
            program.display()
        );
        is_split(|world, port| world.program(&program, &port.to_string()), tells);
    }
}

/// Each of the files to start from can be read, and says what its comment says.
#[test]
fn the_files_to_start_from_are_configurations() {
    let world = World::new();
    let mut seen = 0;
    for file in std::fs::read_dir(repository().join("examples/topics")).unwrap() {
        let file = file.unwrap().path();
        let mut start = world.program(&world.built("hopwatch-gateway"), "--check-config --config");
        let ended = start.arg(file.to_str().unwrap()).env("MODEL_KEY", "k").without_dds().end();
        let said = &ended.has_code(0).stdout;
        assert!(said.contains("\"topics\""), "{said}");
        seen += 1;
    }
    assert_eq!(seen, 4);
}
