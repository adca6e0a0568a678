//! The published figures (SEEDS, S2), and types with everything that a definition can have.

use super::plan::{Message, Plan};
use super::shape::{Given, Shape, ShapeError};
use super::statics::Static;
use super::values::{self, Columns};
use super::{formula, split};
use hopwatch_rosmsg::{JsonOptions, Schema};
use std::collections::BTreeMap;

const TIME: &str = "int32 sec\nuint32 nanosec";

/// Definitions of the published measurement and its exercise.
pub(super) fn definitions() -> BTreeMap<String, String> {
    [
        ("builtin_interfaces/msg/Time", TIME),
        ("t/msg/Foo", "uint64 foo_1\nuint32 foo_2"),
        ("t/msg/FooArray", "Foo[] my_large_array"),
        ("t/msg/FooSplit", "uint64[] foo_1_array\nuint32[] foo_2_array"),
        ("t/msg/FooStamped", "uint64 foo_1\nuint32 foo_2\nbuiltin_interfaces/Time stamp"),
        ("t/msg/FooStampedArray", "FooStamped[] my_large_array"),
        (
            "t/msg/FooStampedSplit",
            "uint64[] foo_1_array\nuint32[] foo_2_array\nint32[] stamp_sec\nuint32[] stamp_nanosec",
        ),
        ("t/msg/Detection", "float32 x\nfloat32 y\nbuiltin_interfaces/Time stamp"),
        ("t/msg/Detections", "Detection[] detections"),
        ("t/msg/Header", "builtin_interfaces/Time stamp\nstring frame_id"),
        ("t/msg/Corner", "float32 x\nstring<=5 name\nuint8[] mask\nint16[3] rgb"),
        (
            "t/msg/Shape",
            "uint8 KIND_BOX=1\nHeader header\nCorner[] corners\nCorner[2] ends\nbool closed",
        ),
        (
            "t/msg/Everything",
            "uint8 MODE_A=1\nstring GREETING=\"hi\"\nHeader header\nShape[] shapes\nwstring wide\n\
             string[] names\nbyte[<=3] bytes\nfloat64 f\nfloat32[] g\nbool[2] flags\nint8 i\n\
             builtin_interfaces/Time[] times",
        ),
        ("t/msg/Empty", ""),
        ("t/msg/Bytes", "uint8[] data\nuint32 crc"),
        ("t/msg/Two", "Header a\nHeader b\nfloat64[36] covariance"),
    ]
    .map(|(name, text)| (name.to_owned(), text.to_owned()))
    .into()
}

pub(super) fn plan(messages: &[(&str, &[(&str, u64)])], rate_hz: f64) -> Plan {
    let messages = messages.iter().map(|(of, lengths)| Message {
        of: (*of).to_owned(),
        lengths: given(lengths),
        split_of: None,
    });
    Plan {
        definitions: definitions(),
        messages: messages.collect(),
        rate_hz,
        measuring: None,
        run: None,
    }
}

fn given(lengths: &[(&str, u64)]) -> Given {
    lengths.iter().map(|(path, n)| ((*path).to_owned(), *n)).collect()
}

fn schema(of: &str) -> Schema {
    plan(&[], 1.0).schema(of).unwrap()
}

fn shape(of: &str, lengths: &[(&str, u64)]) -> Result<Shape, ShapeError> {
    Shape::new(&schema(of), &given(lengths))
}

fn told(of: &str, lengths: &[(&str, u64)], rate_hz: f64) -> Static {
    let plan = plan(&[(of, lengths)], rate_hz);
    Static::of(&plan, &plan.messages[0]).unwrap()
}

/// S2's shapes with all their arrays of length n.
fn of_n(of: &str, n: u64) -> Static {
    let shape = shape(of, &[]).unwrap();
    let lengths: Vec<(&str, u64)> = shape.lengths.iter().map(|l| (l.path.as_str(), n)).collect();
    told(of, &lengths, 30.0)
}

#[test]
fn sizes_are_the_published_ones_to_the_byte() {
    for (of, text, sizes) in [
        ("t/msg/FooArray", "16N+8", [8, 24, 40, 56, 160_008]),
        ("t/msg/FooSplit", "12N+16", [16, 28, 40, 52, 120_016]),
        ("t/msg/FooStampedArray", "24N+8", [8, 32, 56, 80, 240_008]),
        ("t/msg/FooStampedSplit", "20N+24", [24, 44, 64, 84, 200_024]),
    ] {
        for (n, size) in [0, 1, 2, 3, 10_000].into_iter().zip(sizes) {
            let of_n = of_n(of, n);
            assert_eq!(of_n.size.serialized, size, "{of} {n}");
            assert_eq!(of_n.formula.unwrap().text, text, "{of} {n}");
        }
    }
    // The empty arrays of numbers are aligned for, and need nothing.
    assert_eq!(of_n("t/msg/FooSplit", 0).size.needed, 12);
}

#[test]
fn counts_are_the_published_ones() {
    for (of, elements, a_second, declared) in [
        ("t/msg/FooArray", 10_000, 300_000.0, 120_000),
        ("t/msg/FooSplit", 0, 0.0, 120_000),
        ("t/msg/FooStampedArray", 20_000, 600_000.0, 200_000),
        ("t/msg/FooStampedSplit", 0, 0.0, 200_000),
    ] {
        let of_n = of_n(of, 10_000);
        assert_eq!(of_n.counts.elements, elements, "{of}");
        assert!((of_n.elements_per_s - a_second).abs() < 1e-9, "{of}");
        assert_eq!(of_n.counts.declared_bytes, declared, "{of}");
    }
}

#[test]
fn the_exercise_comes_out() {
    let of = told("t/msg/Detections", &[("detections", 500)], 20.0);
    assert_eq!((of.counts.elements, of.counts.declared_bytes), (1000, 8000));
    assert!((of.elements_per_s - 20_000.0).abs() < 1e-9);
    let split = of.split.unwrap();
    assert_eq!((split.counts.elements, split.counts.declared_bytes), (0, 8000));
    assert_eq!(
        split.definition,
        "# Detections with primitive arrays: what has one index belongs together.\n\
         float32[] detections_x\nfloat32[] detections_y\nint32[] detections_stamp_sec\n\
         uint32[] detections_stamp_nanosec\n"
    );
}

#[test]
fn splits_of_the_published_types_are_the_published_ones() {
    let split = |of: &str| of_n(of, 10_000).split.unwrap();
    let foo = split("t/msg/FooArray");
    assert_eq!((foo.size.serialized, foo.formula.unwrap().text.as_str()), (120_016, "12N+16"));
    let stamped = split("t/msg/FooStampedArray");
    assert_eq!((stamped.size.serialized, stamped.counts.elements), (200_024, 0));
    assert_eq!(of_n("t/msg/FooSplit", 10).split, None);
    // Also where the array happens to be empty.
    assert!(of_n("t/msg/FooArray", 0).split.is_some());
}

const EVERYTHING: [(&str, u64); 12] = [
    ("header.frame_id", 3),
    ("shapes", 2),
    ("shapes.header.frame_id", 4),
    ("shapes.corners", 3),
    ("shapes.corners.name", 5),
    ("shapes.corners.mask", 2),
    ("shapes.ends.name", 0),
    ("shapes.ends.mask", 0),
    ("names", 4),
    ("names[]", 6),
    ("g", 3),
    ("times", 7),
];

#[test]
fn structures_in_structures_are_counted() {
    let of = told("t/msg/Everything", &EVERYTHING, 10.0);
    // A shape is itself, its header, the header's stamp, three corners and two ends.
    assert_eq!(of.counts.elements, 2 * 8 + 7);
    assert_eq!(of.counts.arrays[0].structures, 8);
    // The frame's, of each shape one and its five corners', the wide one, the names.
    assert_eq!(of.counts.texts, 1 + 2 * 6 + 1 + 4);
}

#[test]
fn a_split_holds_all_that_was_in_it_and_can_be_split_no_more() {
    let of = told("t/msg/Everything", &EVERYTHING, 10.0);
    let split = of.split.unwrap();
    assert_eq!(split.counts.elements, 0);
    assert_eq!(split.counts.texts, of.counts.texts);
    // What was ragged has counts beside it: of the corners for each shape, of the masks for each.
    let counts = 4 * (2 + 2 * 3 + 2 * 2);
    assert_eq!(split.counts.declared_bytes, of.counts.declared_bytes + counts);
    insta::assert_snapshot!(split.definition);
}

/// Without a look at how it was done: rosmsg reads the bytes.
#[test]
fn bytes_are_read_back_as_the_values_that_they_hold() {
    let shape = shape("t/msg/Everything", &EVERYTHING).unwrap();
    let columns = Columns::of(&shape);
    let size = shape.size().unwrap();
    let bytes = values::encode(&shape, &columns, 0xaa);
    assert_eq!(u64::try_from(bytes.len()), Ok(size.needed));
    assert!(values::holds(&shape, &columns, &bytes).unwrap());
    let compared = values::compare(&shape, &columns, &bytes);
    assert_eq!((compared.different, compared.first), (0, None));

    let schema = schema("t/msg/Everything");
    let mut json = Vec::new();
    let odd = schema.to_json(&bytes, &mut json, JsonOptions::default()).unwrap();
    assert!(odd.is_empty(), "{odd:?}");
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    insta::assert_json_snapshot!(json);

    // Whatever byte is changed, it is seen, unless it is padding.
    let other = values::encode(&shape, &columns, 0x55);
    let mut seen = 0;
    for at in 4..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        let is_padding = bytes[at] != other[at];
        let compared = values::compare(&shape, &columns, &changed);
        assert_eq!(compared.different, u64::from(!is_padding), "{at}");
        seen += u64::from(!is_padding);
        if is_padding {
            assert_eq!(values::holds(&shape, &columns, &changed), Ok(true), "{at}");
        } else {
            assert_ne!(values::holds(&shape, &columns, &changed), Ok(true), "{at}");
        }
    }
    assert!(seen > 400, "{seen}");
}

/// An array of structures and its split hold the same numbers.
#[test]
fn values_do_not_depend_on_the_shape() {
    let bytes = |of: &str, leaf: usize| {
        let shape = shape(of, &[]).unwrap();
        Columns::of(&shape).leaf(leaf).to_vec()
    };
    for leaf in 0..4 {
        assert_eq!(bytes("t/msg/FooStampedArray", leaf), bytes("t/msg/FooStampedSplit", leaf));
    }
    assert_eq!(values::value(0, 0), 0x9E37_79B9_7F4A_7C15_u64.wrapping_add(0xD1B5_4A32_D192_ED03));
    assert_eq!(values::u32_of(0x0123_4567_89ab_cdef), 0x0123_4567);
    assert_eq!(values::i32_of(0xffff_ffff_0000_0000), -1);
    assert_eq!(values::f32_of(0x0123_4567_89ab_cdef).to_bits(), 74_565_f32.to_bits());
    assert_eq!(values::f64_of(1 << 11).to_bits(), 1_f64.to_bits());
    assert_eq!(values::f64_of(1 << 43).to_bits(), 4_294_967_296_f64.to_bits());
    assert_eq!(values::text_of(1 << 32, 27), b"bcdefghijklmnopqrstuvwxyzab");
}

#[test]
fn formulas_hold_where_alignment_matters() {
    for (of, lengths, text) in [
        ("t/msg/Bytes", vec![("data", 10)], "N{+12, +15, +14, +13} for N mod 4 = 0, 1, …"),
        ("t/msg/Two", vec![], "–"),
        ("t/msg/Empty", vec![], "–"),
        // A corner is 4 + 4 + 6 + 2 (padding) + 4 + 3 + 1 (padding) + 6 + 2 (to the next).
        (
            "t/msg/Shape",
            vec![("corners", 9), ("corners.mask", 3), ("ends.mask", 1), ("frame_id", 4)],
            "32N",
        ),
    ] {
        let schema = schema(of);
        let shape = Shape::new(&schema, &given(&lengths)).unwrap();
        let formula = formula(&schema, &shape);
        let got = formula.map_or("–".to_owned(), |formula| formula.text);
        assert!(got.starts_with(text), "{of}: {got}");
    }
}

#[test]
fn what_makes_no_sense_is_refused_in_words() {
    for (of, lengths, says) in [
        (
            "t/msg/FooArray",
            vec![("data", 3)],
            "no sequence or text \"data\"; it has my_large_array",
        ),
        ("t/msg/Two", vec![("frame_id", 3)], "any of a.frame_id, b.frame_id"),
        ("t/msg/Two", vec![("covariance", 3)], "always has 36 elements"),
        ("t/msg/Two", vec![("a.frame_id", 3), ("nothing", 1)], "it has a.frame_id, b.frame_id"),
        ("t/msg/Empty", vec![("x", 1)], "it has none at all"),
        ("t/msg/Shape", vec![("corners.name", 6)], "at most 5 long, not 6"),
        ("t/msg/Shape", vec![("header.frame_id", 2), ("frame_id", 3)], "two lengths"),
        ("t/msg/FooArray", vec![("my_large_array", 300_000_000)], "more than 4 GiB"),
        ("t/msg/FooArray", vec![("my_large_array", u64::MAX)], "more than 4 GiB"),
        ("t/msg/Shape", vec![("corners", 4_000_000_000), ("corners.mask", 4_000_000_000)], "4 GiB"),
    ] {
        let error = shape(of, &lengths).unwrap_err().to_string();
        assert!(error.contains(says), "{of}: {error}");
    }
    // What has two meanings has one where it is the whole path.
    let of = shape("t/msg/Two", &[("a.frame_id", 0)]).unwrap();
    assert_eq!(
        of.lengths.iter().map(|l| (l.length, l.assumed)).collect::<Vec<_>>(),
        [(0, false), (10, true)]
    );
}

#[test]
fn the_largest_that_fits_is_taken() {
    // 16 × 268,435,455 + 8 = 2^32 - 8.
    assert!(shape("t/msg/FooArray", &[("my_large_array", 268_435_455)]).is_ok());
    assert!(shape("t/msg/FooArray", &[("my_large_array", 268_435_456)]).is_err());
    let of = of_n("t/msg/FooArray", 268_435_455);
    assert_eq!(of.formula.unwrap().text, "16N+8");
    assert!(split(&schema("t/msg/Two"), &shape("t/msg/Two", &[]).unwrap()).is_none());
}
