//! Messages as rclpy serializes them, against what they mean by a walk that shares no code with
//! ours (`tests/peers/serialize.py`): the committed ones, and all types that are installed.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use hopwatch_rosmsg::{JsonOptions, Oddity, Schema, TypeName, Value};
use serde::Deserialize;
use serde_json::Value as Json;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::process::Command;

const FIXTURES: &str = include_str!("../fixtures/messages.ndjson");

#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Definition { definition: String, text: String },
    Message { r#type: String, cdr: String, json: Json },
}

/// What a walk through all lines told.
#[derive(Default)]
struct Seen {
    types: BTreeSet<String>,
    messages: usize,
    faults: Vec<String>,
}

fn check(ndjson: &str) -> Seen {
    let mut definitions = HashMap::new();
    let mut schemas: HashMap<String, Schema> = HashMap::new();
    let mut seen = Seen::default();
    for line in ndjson.lines() {
        match serde_json::from_str(line).unwrap() {
            Line::Definition { definition, text } => {
                definitions.insert(definition, text);
            }
            Line::Message { r#type, cdr, json } => {
                let schema = schemas.entry(r#type.clone()).or_insert_with(|| {
                    let source = |of: &TypeName| {
                        definitions.get(&of.to_string()).cloned().ok_or("not among the lines")
                    };
                    Schema::load(&r#type.parse().unwrap(), source).unwrap()
                });
                let cdr = bytes(&cdr);
                let mut ours = Vec::new();
                match schema.to_json(&cdr, &mut ours, JsonOptions::default()) {
                    Ok(odd) => {
                        let text = String::from_utf8(ours).unwrap();
                        let value: Json = serde_json::from_str(&text).unwrap();
                        if !same(&json, &value) {
                            seen.faults.push(format!("{type}: {json} became {text}"));
                        }
                        for oddity in [Oddity::NotUtf8, Oddity::NotUtf16, Oddity::Unterminated] {
                            if odd.contains(oddity) {
                                seen.faults.push(format!("{type}: {} in {json}", oddity.name()));
                            }
                        }
                    }
                    Err(error) => seen.faults.push(format!("{type}: {error} in {json}")),
                }
                each_leaf(&json, "", &mut |path, expected| {
                    let read = schema.path(path).unwrap().read(&cdr);
                    if !read.as_ref().is_ok_and(|ours| means(expected, ours)) {
                        seen.faults.push(format!("{type}, {path}: {expected} became {read:?}"));
                    }
                });
                // A message cut anywhere is refused or, within trailing padding, still whole.
                for cut in 0..cdr.len() {
                    let _ = schema.to_json(&cdr[..cut], &mut Vec::new(), JsonOptions::default());
                }
                seen.types.insert(r#type);
                seen.messages += 1;
            }
        }
    }
    seen
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2);
    digits.map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// Equal but for the order of fields; floats to the last bit but one, since serde_json reads
/// the last bit of some spellings otherwise than that of others.
fn same(expected: &Json, ours: &Json) -> bool {
    match (expected, ours) {
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0 && same(a.1, b.1))
        }
        (Json::Array(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Json::Number(a), Json::Number(b)) if a.is_f64() => {
            let (Some(a), Some(b)) = (a.as_f64(), b.as_f64()) else { return false };
            (a - b).abs() <= f64::EPSILON * a.abs()
        }
        _ => expected == ours,
    }
}

/// All single values of a message, by their paths.
fn each_leaf(json: &Json, path: &str, to: &mut impl FnMut(&str, &Json)) {
    match json {
        Json::Object(fields) => {
            for (name, value) in fields {
                let dot = if path.is_empty() { "" } else { "." };
                each_leaf(value, &format!("{path}{dot}{name}"), to);
            }
        }
        Json::Array(all) => {
            for (at, value) in all.iter().enumerate() {
                each_leaf(value, &format!("{path}[{at}]"), to);
            }
        }
        leaf => to(path, leaf),
    }
}

fn means(expected: &Json, ours: &Value<'_>) -> bool {
    match ours {
        Value::Bool(value) => expected == value,
        Value::Int(value) => expected == value,
        Value::UInt(value) => expected == value,
        Value::Text(value) => expected == value.as_ref(),
        Value::Float(value) if value.is_nan() => expected == "NaN",
        Value::Float(f64::INFINITY) => expected == "Infinity",
        Value::Float(f64::NEG_INFINITY) => expected == "-Infinity",
        // A float32 is expected with its shortest digits; the smallest ones have one only.
        Value::Float(value) => {
            expected.as_f64().is_some_and(|e| (e - value).abs() <= 1e-7 * e.abs() + 1e-45)
        }
        Value::Time { .. } | Value::Other => false,
    }
}

#[test]
fn the_committed_messages_mean_what_ros_says() {
    let seen = check(FIXTURES);
    assert_eq!(seen.faults, [] as [String; 0]);
    assert!(seen.types.contains("hopwatch_test_msgs/msg/Texts"), "{:?}", seen.types);
    assert!(seen.messages >= 3 * 18, "{}", seen.messages);
}

#[test]
fn messages_of_all_installed_types_mean_what_ros_says() {
    let Some(python) = std::env::var_os("HOPWATCH_PYTHON") else {
        eprintln!("skipped: HOPWATCH_PYTHON isn't set (source .hopwatch/env.sh)");
        return;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/peers/serialize.py");
    let output = Command::new(python)
        .arg(script)
        .args(["--installed", "--rounds", "4", "--seed", "7"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let seen = check(&String::from_utf8(output.stdout).unwrap());
    assert_eq!(seen.faults, [] as [String; 0]);
    assert!(seen.types.len() > 50, "{:?}", seen.types);
    eprintln!("{} messages of {} types", seen.messages, seen.types.len());
}

/// The constants of the test package, as Python has them.
#[test]
fn constants_have_the_values_that_ros_gives_them() {
    use hopwatch_rosmsg::ConstantValue::{Bool, Float, Integer, Text};
    let line = FIXTURES.lines().find(|line| line.contains("_msgs/msg/Constants\", \"text\""));
    let Line::Definition { definition, text } = serde_json::from_str(line.unwrap()).unwrap() else {
        panic!("no definition");
    };
    let schema = Schema::load(&definition.parse().unwrap(), |_| Ok::<_, String>(text.clone()));
    let schema = schema.unwrap();
    let text = |text: &str| Text(text.to_owned());
    let told: Vec<_> =
        schema.root().constants.iter().map(|c| (c.name.as_str(), c.value.clone())).collect();
    assert_eq!(
        told,
        [
            ("YES", Bool(true)),
            ("NO", Bool(false)),
            ("MASK", Integer(0x1f)),
            ("LETTER", Integer(65)),
            ("LOWEST", Integer(-128)),
            ("HIGHEST", Integer(255)),
            ("MODE_AUTO", Integer(1)),
            ("FAR", Integer(i64::MIN.into())),
            ("MOST", Integer(u64::MAX.into())),
            ("HALF", Float(0.5)),
            ("TINY", Float(1e-9)),
            ("PLAIN", text("no quotes here")),
            ("QUOTED", text("in quotes")),
            ("SINGLE", text("  spaces kept  ")),
            ("ESCAPED", text("a \"quote\" and a tab\tend")),
            ("WIDE", text("wide")),
        ]
    );
}
