//! `hopwatch lab executor`, on real rclpy and real DDS: small, for what it shows must be told at any load.
#![allow(clippy::unwrap_used, reason = "tests")]

use hopwatch_e2e::{World, wait_until};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::time::Duration;

const FILES: [&str; 3] = ["report.json", "report.md", "report.html"];

fn json(folder: &Path, name: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(folder.join(name)).unwrap()).unwrap()
}

#[test]
fn a_loop_beside_a_heavy_callback_is_measured_and_reported_again() {
    let world = World::new();
    let out = world.path("executor");
    let words = "executor --only rust,python,python-process,python-numpy --threads 2,3 --rounds 1 \
                 --for 2s --heavy 2000000 --seed 5 --out";
    let running = world.lab(words).arg(out.to_str().unwrap()).start();
    // Six runs of two processes each.
    let ended = running.end_within(Duration::from_secs(120));
    // One round shows nothing.
    ended.has_code(3);
    world.is_empty_now();
    let report = json(&out, "report.json");
    assert_eq!(
        (&report["schema"], &report["study"]),
        (&"hopwatch.lab/1".into(), &"executor".into())
    );
    assert_eq!(report["complete"], true);
    let conditions = report["figures"]["conditions"].as_array().unwrap();
    let names: Vec<&str> = conditions.iter().map(|one| one["name"].as_str().unwrap()).collect();
    let all = [
        "Rust, 2 threads",
        "Rust, 3 threads",
        "rclpy, 2 threads",
        "rclpy, 3 threads",
        "rclpy, work in a process, 2 threads",
        "rclpy, work in NumPy, 2 threads",
    ];
    assert_eq!(names, all);
    for one in conditions {
        let run = &one["runs"][0];
        // Scans came and work was done beside the loop, on several threads.
        assert!(run["turns"].as_u64().unwrap() > 0 && run["heavy"].as_u64().unwrap() > 0, "{one}");
        let (published, taken) =
            (run["scans"][0].as_u64().unwrap(), run["scans"][1].as_u64().unwrap());
        assert!(taken > 0 && taken <= published, "{one}");
        assert!(run["threads_used"].as_u64().unwrap() >= 2, "{one}");
        assert!(one["rate_hz"].as_f64().unwrap() <= 110.0, "{one}");
    }
    // At the same work, whatever else this machine does: the interpreter's lock costs the loop turns, and
    // numpy is quicker than Python's own words.
    let of = |name: &str, key: &str| {
        conditions.iter().find(|one| one["name"] == name).unwrap()[key].as_f64().unwrap()
    };
    let (rust, python) = (of("Rust, 2 threads", "rate_hz"), of("rclpy, 2 threads", "rate_hz"));
    assert!(python < 0.9 * rust, "rclpy {python} Hz, Rust {rust} Hz");
    let plain = of("rclpy, 2 threads", "heavy_p50_ns");
    let numpy = of("rclpy, work in NumPy, 2 threads", "heavy_p50_ns");
    assert!(numpy < 0.7 * plain, "numpy {numpy} ns, Python {plain} ns");
    // One round shows nothing.
    assert!(conditions.iter().all(|one| one["pace"] == "between"), "{conditions:?}");
    let housekeeping = report["housekeeping"].as_array().unwrap();
    // One look before the first run, and one after each.
    assert_eq!(housekeeping.len(), 1 + all.len());
    assert!(housekeeping.iter().all(|run| run["killed"] == 0), "{housekeeping:?}");
    // The script that was run lies beside the figures.
    assert!(out.join("probes/executor.py").is_file());

    // The same bytes again, from what was measured alone.
    let before = FILES.map(|name| fs::read(out.join(name)).unwrap());
    for name in FILES {
        fs::remove_file(out.join(name)).unwrap();
    }
    let again = world.bare("report").arg(out.to_str().unwrap()).end();
    again.has_code(3);
    assert_eq!(FILES.map(|name| fs::read(out.join(name)).unwrap()), before);
    assert_eq!(again.stdout, ended.stdout);
    // A folder has one study.
    let twice = world.lab("executor --out").arg(out.to_str().unwrap()).end();
    twice.has_code(2).says(&["has a study already"]);
}

#[test]
fn ctrl_c_leaves_what_was_measured_and_nothing_else() {
    let world = World::new();
    let out = world.path("stopped");
    let words = "executor --only rust,python --threads 2 --rounds 50 --for 2s --heavy 100000 --out";
    let running = world.lab(words).arg(out.to_str().unwrap()).start();
    wait_until("a run that is done", || {
        let text = fs::read_to_string(out.join("study.json")).map_err(|error| error.to_string())?;
        let study: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        if study["runs"].as_array().is_some_and(|runs| !runs.is_empty()) {
            Ok(())
        } else {
            Err(text)
        }
    });
    running.interrupt();
    let ended = running.end();
    ended.has_code(3).says(&["stopped: the report has the"]);
    world.is_empty_now();
    assert_eq!(json(&out, "report.json")["complete"], false);
    assert!(fs::read_to_string(out.join("report.md")).unwrap().contains("was stopped before all"));
}

/// Ctrl-C while a run's processes get ready: none of them is started after it, and none killed.
#[test]
fn ctrl_c_in_the_first_moments_leaves_nothing() {
    let world = World::new();
    let out = world.path("soon");
    let words = "executor --only python --threads 2 --rounds 5 --for 2s --out";
    for after_ms in [0, 100, 400, 1200] {
        let out = out.join(after_ms.to_string());
        let running = world.lab(words).arg(out.to_str().unwrap()).start();
        wait_until("the first run", || {
            let said = running.stderr();
            if said.contains("run 1 of") { Ok(()) } else { Err(said) }
        });
        // Moments that fall into starting the laser, starting the node, and running both.
        std::thread::sleep(Duration::from_millis(after_ms));
        running.interrupt();
        let ended = running.end();
        ended.has_code(3);
        world.is_empty_now();
        let killed = &json(&out, "report.json")["housekeeping"][1]["killed"];
        assert!(killed.is_null() || *killed == 0, "{}", ended.stderr);
    }
}

#[test]
fn what_cant_be_is_refused() {
    let world = World::new();
    for (words, says) in [
        ("--threads 0", "0 is not in 1..=256"),
        ("--only java", "java"),
        ("--for 20ms", "between 1s and 1h"),
        ("--run /nowhere", "/nowhere"),
        ("--only cpp", "no node of those that are wanted can be had here"),
    ] {
        let ended = world.lab(&format!("executor {words}")).env("AMENT_PREFIX_PATH", "/none").end();
        ended.has_code(2).says(&[says]);
    }
    world.is_empty_now();
}
