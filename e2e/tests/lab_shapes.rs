//! `hopwatch lab shapes`: by definitions alone, and measured on real rclpy and real DDS.
#![allow(clippy::unwrap_used, reason = "tests")]

use hopwatch_e2e::World;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::time::Duration;

fn report(folder: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(folder.join("report.json")).unwrap()).unwrap()
}

fn put(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// The exercise of SEEDS S2, from definitions that no package has.
#[test]
fn a_type_of_ones_own_is_counted_and_split() {
    let world = World::new();
    let (out, messages) = (world.path("static"), world.path("messages"));
    let time = "int32 sec\nuint32 nanosec\n";
    put(&messages, "builtin_interfaces/msg/Time.msg", time);
    let detection = "float32 x\nfloat32 y\nbuiltin_interfaces/Time stamp\n";
    put(&messages, "own_msgs/msg/Detection.msg", detection);
    put(&messages, "own_msgs/msg/Detections.msg", "Detection[] detections\n");
    let words = "shapes --static --type own_msgs/msg/Detections --length detections=500 --rate 20 \
                 --msg-path";
    let mut start = world.lab(words);
    start.arg(messages.to_str().unwrap()).arg("--out").arg(out.to_str().unwrap());
    let ended = start.env("AMENT_PREFIX_PATH", "").end();
    ended.has_code(0);
    let report = report(&out);
    let of = &report["figures"]["messages"][0];
    assert_eq!((&of["elements"], &of["elements_per_s"]), (&1000.into(), &20_000.0.into()), "{of}");
    assert_eq!(of["declared_bytes"], 8000, "{of}");
    assert_eq!(
        (&of["split"]["elements"], &of["split"]["declared_bytes"]),
        (&0.into(), &8000.into())
    );
    assert!(ended.stdout.contains("float32[] detections_x"), "{}", ended.stdout);
}

/// What the middleware makes of the types is what the formulas say, in every language, to the byte.
#[test]
fn sizes_are_as_predicted_and_pythons_objects_cost() {
    let world = World::new();
    let out = world.path("measured");
    let words = "shapes -n 1000 --way rust,rust-raw,python --rounds 1 --iterations 5 --for 300ms \
                 --out";
    let running = world.lab(words).arg(out.to_str().unwrap()).start();
    // Twelve runs of three processes each.
    let ended = running.end_within(Duration::from_secs(150));
    // One round decides nothing.
    ended.has_code(3);
    world.is_empty_now();
    let report = report(&out);
    let figures = &report["figures"];
    assert_eq!(figures["wrong"], Value::Array(vec![]), "{figures}");
    let formulas: Vec<&str> = figures["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["formula"]["text"].as_str().unwrap())
        .collect();
    assert_eq!(formulas, ["16N+8", "12N+16", "24N+8", "20N+24"]);
    let measured = figures["measured"].as_array().unwrap();
    assert_eq!(measured.len(), 12, "four types, three ways");
    for one in measured {
        assert_eq!((&one["size_as_predicted"], &one["bytes_different"]), (&true.into(), &0.into()));
        assert!(one["round_trips"].as_u64().unwrap() >= 5 && one["sent"].as_u64().unwrap() > 0);
    }
    // Python's objects cost many times what its arrays do, at any load; how much is for the study.
    let python = figures["contrasts"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["way"] == "python" && one["array"] == "hopwatch_lab_msgs/msg/FooArray");
    let times = python.unwrap()["ratios"]["serialize"]["times"].as_f64().unwrap();
    assert!(times > 5.0, "{python:?}");
}

#[test]
fn what_cant_be_is_refused() {
    let world = World::new();
    for (words, says) in [
        ("--static --type no_msgs/msg/None", "no_msgs/msg/None"),
        ("--static --type Image", "Image"),
        ("--static --type hopwatch_lab_msgs/msg/FooArray --length none=3", "none"),
        ("--static --type hopwatch_lab_msgs/msg/FooArray --length my_large_array=many", "PATH=N"),
        (
            "--static --type hopwatch_lab_msgs/msg/FooArray --length my_large_array=18446744073709551615",
            "my_large_array",
        ),
        ("--rate 0", "0 Hz is no rate"),
        ("--rounds 0", "--rounds"),
        ("--split hopwatch_lab_msgs/msg/FooSplit", "--type"),
        ("--run /nowhere", "/nowhere"),
    ] {
        world.lab(&format!("shapes {words}")).end().has_code(2).says(&[says]);
    }
    world.is_empty_now();
}
