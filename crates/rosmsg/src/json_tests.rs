use super::*;
use crate::TypeName;

fn schema(text: &str) -> Schema {
    Schema::load(&"a/T".parse().unwrap(), |of: &TypeName| {
        Ok::<_, String>(if of.name() == "T" { text.to_owned() } else { String::new() })
    })
    .unwrap()
}

fn json(text: &str, body: &[u8], options: JsonOptions) -> (String, Vec<&'static str>) {
    let mut out = Vec::new();
    let cdr = [&[0, 1, 0, 0], body].concat();
    let odd = schema(text).to_json(&cdr, &mut out, options).unwrap();
    (String::from_utf8(out).unwrap(), odd.names().collect())
}

const PLAIN: JsonOptions = JsonOptions { base64_bytes: false, text_integers: false };

#[test]
fn fields_keep_their_order_and_empty_messages_are_empty() {
    assert_eq!(
        json("uint8 z\nNothing a\nNothing[2] m", &[1, 9, 9, 9], PLAIN).0,
        r#"{"z":1,"a":{},"m":[{},{}]}"#
    );
    assert_eq!(json("", &[77], PLAIN).0, "{}");
}

#[test]
fn bytes_become_numbers_or_one_text() {
    let base64 = JsonOptions { base64_bytes: true, ..PLAIN };
    let text = "uint8[] a\nbyte[2] b\nchar[] c\nint8[] d\nuint8 e";
    let body = [&[3, 0, 0, 0, 1, 2, 255, 250, 251][..], &[0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 255, 7]]
        .concat();
    assert_eq!(
        json(text, &body, PLAIN).0,
        r#"{"a":[1,2,255],"b":[250,251],"c":[],"d":[-1],"e":7}"#
    );
    let all: Vec<u8> = [0, 1, 0, 0].into_iter().chain(0..=255).collect();
    let numbers: Vec<_> = (0..=255).map(|byte: u8| byte.to_string()).collect();
    assert_eq!(json("uint8[] x", &all, PLAIN).0, format!("{{\"x\":[{}]}}", numbers.join(",")));
    assert_eq!(json(text, &body, base64).0, r#"{"a":"AQL/","b":"+vs=","c":"","d":[-1],"e":7}"#);
}

#[test]
fn large_integers_are_exact_either_way() {
    let body = [u64::MAX.to_le_bytes(), i64::MIN.to_le_bytes()].concat();
    let text = "uint64 a\nint64 b";
    let plain = json(text, &body, PLAIN).0;
    assert_eq!(plain, r#"{"a":18446744073709551615,"b":-9223372036854775808}"#);
    let as_text = JsonOptions { text_integers: true, ..PLAIN };
    let text = json(text, &body, as_text).0;
    assert_eq!(text, r#"{"a":"18446744073709551615","b":"-9223372036854775808"}"#);
}

#[test]
fn floats_are_as_short_as_they_can_be() {
    let singles = [0.1f32, 16_777_216.0, f32::NAN, f32::NEG_INFINITY, -0.0];
    let body: Vec<u8> = singles.iter().flat_map(|x| x.to_le_bytes()).collect();
    let (text, odd) = json("float32[5] x", &body, PLAIN);
    assert_eq!(text, r#"{"x":[0.1,16777216.0,"NaN","-Infinity",-0.0]}"#);
    assert_eq!(odd, ["not_finite"]);
    let (text, odd) = json("float64 x", &0.1f64.to_le_bytes(), PLAIN);
    assert_eq!((text.as_str(), odd.len()), (r#"{"x":0.1}"#, 0));
}

#[test]
fn odd_texts_are_carried_and_named() {
    for (body, text, odd) in [
        (&[4, 0, 0, 0, b'a', 0xff, b'b', 0][..], "a\\ufffdb", "not_utf8"),
        (&[4, 0, 0, 0, b'a', 0, b'b', 0], "a\\u0000b", "holds_nul"),
        (&[2, 0, 0, 0, b'a', b'b'], "ab", "unterminated"),
        (&[0, 0, 0, 0], "", "unterminated"),
        (&[2, 0, 0, 0, b'a', 0, 0, 0, 0, 0], "a", "left_over"),
    ] {
        let (json, names) = json("string x", body, PLAIN);
        let text = text.replace("\\ufffd", "\u{fffd}");
        assert_eq!((json, names), (format!(r#"{{"x":"{text}"}}"#), vec![odd]));
    }
    let units = |units: &[u32]| {
        let length = u32::try_from(units.len()).unwrap();
        let all = [&[length], units].concat();
        json(
            "wstring x",
            &all.iter().flat_map(|unit| unit.to_le_bytes()).collect::<Vec<_>>(),
            PLAIN,
        )
    };
    assert_eq!(units(&[0xe9, 0xd83d, 0xde00]), (r#"{"x":"é😀"}"#.to_owned(), vec![]));
    for (at_fault, text) in [
        (&[0x61, 0xd83d][..], "a\u{fffd}"),
        (&[0x1_0061, 0x61], "\u{fffd}a"),
        (&[0xde00], "\u{fffd}"),
    ] {
        assert_eq!(units(at_fault), (format!(r#"{{"x":"{text}"}}"#), vec!["not_utf16"]));
    }
    assert_eq!(units(&[0, 0xfffd]), ("{\"x\":\"\\u0000\u{fffd}\"}".to_owned(), vec!["holds_nul"]));
}

#[test]
fn an_error_leaves_the_text_as_it_was() {
    let mut out = b"[".to_vec();
    let error = schema("uint8 a\nuint32 b").to_json(&[0, 1, 0, 0, 7], &mut out, PLAIN);
    assert_eq!(error, Err(CdrError::Truncated { at: 4, want: 4 }));
    assert_eq!(out, b"[");
}
