//! What a message of any type costs: as JSON, beside a struct made for it, and one field of it.
//!
//! `stamp_of_image` must not grow with the image, nor `field_behind_image` with its bytes: an
//! array of primitives is passed over without a look.

#![expect(clippy::unwrap_used, reason = "a bench fails by panicking")]

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use hopwatch_rosmsg::cdr::Reader;
use hopwatch_rosmsg::{JsonOptions, Schema};
use serde::Serialize;

fn main() {
    divan::main();
}

/// The fields of `hopwatch_msgs/msg/RobotMessage`.
#[derive(Serialize)]
#[expect(clippy::struct_field_names, reason = "the names of the message")]
struct Robot<'a> {
    header: Header<'a>,
    battery: f64,
    robot_status: &'a str,
    command: &'a str,
    error_message: &'a str,
}

#[derive(Serialize)]
struct Header<'a> {
    message_id: &'a str,
    timestamp_sec: i64,
    timestamp_nsec: i64,
    robot_id: &'a str,
    message_type: &'a str,
    priority: i32,
    sequence: i32,
}

fn schema(name: &str, texts: &[(&str, &str)]) -> Schema {
    Schema::load(&name.parse().unwrap(), |of| {
        let of = of.to_string();
        texts.iter().find(|(name, _)| *name == of).map(|(_, text)| (*text).to_owned()).ok_or(of)
    })
    .unwrap()
}

fn put(cdr: &mut Vec<u8>, align: usize, bytes: &[u8]) {
    cdr.resize((cdr.len() - 4).next_multiple_of(align) + 4, 0);
    cdr.extend_from_slice(bytes);
}

fn put_text(cdr: &mut Vec<u8>, text: &str) {
    put(cdr, 4, &u32::try_from(text.len() + 1).unwrap().to_le_bytes());
    cdr.extend_from_slice(text.as_bytes());
    cdr.push(0);
}

fn robot() -> (Schema, Vec<u8>) {
    let schema = schema(
        "hopwatch_msgs/RobotMessage",
        &[
            (
                "hopwatch_msgs/msg/RobotMessage",
                include_str!("../../../ros/hopwatch_msgs/msg/RobotMessage.msg"),
            ),
            (
                "hopwatch_msgs/msg/RobotMessageHeader",
                include_str!("../../../ros/hopwatch_msgs/msg/RobotMessageHeader.msg"),
            ),
        ],
    );
    let mut cdr = vec![0, 1, 0, 0];
    put_text(&mut cdr, "06ead0a1-8893-4860-8b3a-c4e6f7d1e833");
    put(&mut cdr, 8, &1_796_042_926i64.to_le_bytes());
    put(&mut cdr, 8, &862_868_302i64.to_le_bytes());
    put_text(&mut cdr, "robot_001");
    put_text(&mut cdr, "status");
    put(&mut cdr, 4, &1i32.to_le_bytes());
    put(&mut cdr, 4, &42i32.to_le_bytes());
    put(&mut cdr, 8, &97.25f64.to_le_bytes());
    put_text(&mut cdr, "running");
    put_text(&mut cdr, "");
    put_text(&mut cdr, "");
    (schema, cdr)
}

/// An image of `bytes` bytes, as a `sensor_msgs/Image` with a field more behind it.
fn image(bytes: usize) -> (Schema, Vec<u8>) {
    let schema = schema(
        "a/Image",
        &[
            (
                "a/msg/Image",
                "Header header\nuint32 height\nuint32 width\nstring encoding\n\
                 uint8 is_bigendian\nuint32 step\nuint8[] data\nuint32 behind",
            ),
            ("a/msg/Header", "builtin_interfaces/Time stamp\nstring frame_id"),
            ("builtin_interfaces/msg/Time", "int32 sec\nuint32 nanosec"),
        ],
    );
    let mut cdr = vec![0, 1, 0, 0];
    put(&mut cdr, 4, &7u32.to_le_bytes());
    put(&mut cdr, 4, &9u32.to_le_bytes());
    put_text(&mut cdr, "camera");
    put(&mut cdr, 4, &1080u32.to_le_bytes());
    put(&mut cdr, 4, &1920u32.to_le_bytes());
    put_text(&mut cdr, "rgb8");
    cdr.push(0);
    put(&mut cdr, 4, &5760u32.to_le_bytes());
    put(&mut cdr, 4, &u32::try_from(bytes).unwrap().to_le_bytes());
    cdr.extend((0..bytes).map(|at| u8::try_from(at % 251).unwrap()));
    put(&mut cdr, 4, &5u32.to_le_bytes());
    (schema, cdr)
}

#[divan::bench]
fn robot_message_by_its_definition(bencher: Bencher<'_, '_>) {
    let (schema, cdr) = robot();
    let mut out = Vec::with_capacity(1024);
    bencher.counter(BytesCount::new(cdr.len())).bench_local(move || {
        out.clear();
        schema.to_json(black_box(&cdr), &mut out, JsonOptions::default()).unwrap();
        black_box(out.len())
    });
}

#[divan::bench]
fn robot_message_by_a_struct(bencher: Bencher<'_, '_>) {
    let (_, cdr) = robot();
    let mut out = Vec::with_capacity(1024);
    bencher.counter(BytesCount::new(cdr.len())).bench_local(move || {
        out.clear();
        let mut r = Reader::new(black_box(&cdr)).unwrap();
        let message = Robot {
            header: Header {
                message_id: text(&mut r),
                timestamp_sec: r.i64().unwrap(),
                timestamp_nsec: r.i64().unwrap(),
                robot_id: text(&mut r),
                message_type: text(&mut r),
                priority: r.i32().unwrap(),
                sequence: r.i32().unwrap(),
            },
            battery: r.f64().unwrap(),
            robot_status: text(&mut r),
            command: text(&mut r),
            error_message: text(&mut r),
        };
        serde_json::to_writer(&mut out, &message).unwrap();
        black_box(out.len())
    });
}

fn text<'a>(r: &mut Reader<'a>) -> &'a str {
    str::from_utf8(r.string().unwrap()).unwrap()
}

#[divan::bench(args = [600, 6_000_000])]
fn stamp_of_image(bencher: Bencher<'_, '_>, bytes: usize) {
    let (schema, cdr) = image(bytes);
    let path = schema.path("header.stamp").unwrap();
    bencher.bench_local(|| path.read(black_box(&cdr)).unwrap().time_ns());
}

#[divan::bench(args = [600, 6_000_000])]
fn field_behind_image(bencher: Bencher<'_, '_>, bytes: usize) {
    let (schema, cdr) = image(bytes);
    let path = schema.path("behind").unwrap();
    bencher.bench_local(|| path.read(black_box(&cdr)).unwrap().integer());
}

#[divan::bench(args = [false, true], sample_count = 20)]
fn image_of_6_mb(bencher: Bencher<'_, '_>, base64_bytes: bool) {
    let (schema, cdr) = image(6_000_000);
    let options = JsonOptions { base64_bytes, ..JsonOptions::default() };
    let mut out = Vec::new();
    bencher.counter(BytesCount::new(cdr.len())).bench_local(move || {
        out.clear();
        schema.to_json(black_box(&cdr), &mut out, options).unwrap();
        black_box(out.len())
    });
}
