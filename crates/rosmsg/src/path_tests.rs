use super::*;

fn schema(root: &str) -> Schema {
    Schema::load(&format!("a/{root}").parse().unwrap(), |of: &TypeName| {
        Ok::<_, String>(match of.to_string().as_str() {
            "a/msg/Image" => "Header header\nuint32 width\nuint8[] data\nstring tail".to_owned(),
            "a/msg/Header" => "builtin_interfaces/Time stamp\nstring frame_id".to_owned(),
            "builtin_interfaces/msg/Time" => "int32 sec\nuint32 nanosec".to_owned(),
            "a/msg/Cloud" => {
                "Point[] points\nPoint[2] pair\nEmpty[] nothings\nuint8 end".to_owned()
            }
            "a/msg/Point" => "float64 x\nbool valid".to_owned(),
            "a/msg/Empty" => String::new(),
            other => return Err(format!("no {other}")),
        })
    })
    .unwrap()
}

fn image() -> Vec<u8> {
    let mut cdr = vec![0, 1, 0, 0, 7, 0, 0, 0, 9, 0, 0, 0, 3, 0, 0, 0, b'm', b'a', 0, 0xA5];
    cdr.extend([2, 0, 0, 0, 3, 0, 0, 0, 10, 11, 12, 0xA5, 3, 0, 0, 0, b'e', b'\xff', 0]);
    cdr
}

#[test]
fn a_field_is_found_at_any_place() {
    let schema = schema("Image");
    let read = |path: &str| schema.path(path).unwrap().read(&image()).map(|v| format!("{v:?}"));
    for (path, value) in [
        ("header.stamp", "Time { sec: 7, nanosec: 9 }"),
        ("header.stamp.nanosec", "UInt(9)"),
        ("header.stamp.sec", "Int(7)"),
        ("header.frame_id", "Text(\"ma\")"),
        ("width", "UInt(2)"),
        ("data[2]", "UInt(12)"),
        ("data", "Other"),
        ("header", "Other"),
        ("tail", "Text(\"e\u{fffd}\")"),
    ] {
        assert_eq!(read(path), Ok(value.to_owned()), "{path}");
    }
    assert_eq!(read("data[3]"), Err(CdrError::NoElement { index: 3, length: 3 }));
    let path = schema.path("data[2]").unwrap();
    assert_eq!((path.field().name.as_str(), path.to_string().as_str()), ("data", "data[2]"));
}

#[test]
fn what_lies_behind_is_not_looked_at() {
    let path = schema("Image").path("width").unwrap();
    assert_eq!(path.read(&image()[..24]), Ok(Value::UInt(2)));
    assert_eq!(path.read(&image()[..23]), Err(CdrError::Truncated { at: 16, want: 4 }));
}

#[test]
fn what_says_more_than_there_is_is_refused() {
    let cloud = |points: u32, nothings: u32| {
        let mut cdr = vec![0, 1, 0, 0];
        cdr.extend(points.to_le_bytes());
        // Two points, 9 bytes each at a multiple of 8.
        cdr.extend([0; 4 + 16 + 9]);
        cdr.extend([0; 3]);
        cdr.extend(nothings.to_le_bytes());
        cdr.extend([1, 2, 3, 42]);
        cdr
    };
    let path = schema("Cloud").path("end").unwrap();
    assert_eq!(path.read(&cloud(0, 3)), Ok(Value::UInt(42)));
    for (points, nothings) in [(u32::MAX, 0), (0, u32::MAX), (0, 5), (1 << 30, 0)] {
        let error = path.read(&cloud(points, nothings)).unwrap_err();
        assert!(matches!(error, CdrError::Sequence { .. }), "{points}, {nothings}: {error}");
    }
}

#[test]
fn paths_that_lead_nowhere_say_where_they_end() {
    let (image, cloud) = (schema("Image"), schema("Cloud"));
    for (schema, path, says) in [
        (&image, "header.stmp", "a/msg/Header has no field \"stmp\"; it has stamp, frame_id"),
        (
            &image,
            "nothing",
            "a/msg/Image has no field \"nothing\"; it has header, width, data, tail",
        ),
        (&image, "width.bits", "\"width\" of a/msg/Image is no message, so \"bits\" isn't in it"),
        (&image, "width[0]", "\"width\" of a/msg/Image is no array"),
        (&cloud, "points.x", "name an element, as in points[0].x"),
        (&cloud, "pair[2].x", "has 2 elements, from 0; there is no 2"),
        (&cloud, "nothings[0].x", "a/msg/Empty has no field \"x\"; it has none"),
        (&image, "", "is no path"),
        (&image, "header.", "is no path"),
        (&image, ".header", "is no path"),
        (&image, "data[]", "is no path"),
        (&image, "data[-1]", "is no path"),
        (&image, "data[99999999999999999999999]", "is no path"),
        (&image, "data]", "is no path"),
    ] {
        let error = schema.path(path).unwrap_err().to_string();
        assert!(error.contains(says), "{path}: {error}");
    }
}

#[test]
fn numbers_and_times_are_told_as_such() {
    assert_eq!(Value::Int(-5).integer(), Some(-5));
    assert_eq!(Value::UInt(5).integer(), Some(5));
    assert_eq!(Value::UInt(u64::MAX).integer(), None);
    assert_eq!(Value::Float(5.0).integer(), None);
    let time = |sec, nanosec| Value::Time { sec, nanosec }.time_ns();
    assert_eq!(time(i32::MIN, 1), Some(-2_147_483_647_999_999_999));
    assert_eq!(time(1, 999_999_999), Some(1_999_999_999));
    assert_eq!(time(1, 1_000_000_000), None);
    assert_eq!(Value::Int(1).time_ns(), None);
}
