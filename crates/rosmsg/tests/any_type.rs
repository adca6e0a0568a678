//! Types and messages made at random, against a writer that lives in the tests only: JSON, paths,
//! both byte orders, padding full of rubbish, cut and mutilated bytes.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use hopwatch_rosmsg::{CdrError, JsonOptions, Oddities, Schema, TypeName, Value};
use proptest::prelude::*;
use serde_json::{Value as Json, json};
use std::fmt::Write as _;

/// What a field is made of; structures by their place.
#[derive(Clone, Copy, Debug)]
enum Of {
    Primitive(&'static str, usize),
    Text,
    Wide,
    /// Of the structures before this one; reduced to what there is.
    Structure(prop::sample::Index),
}

#[derive(Clone, Copy, Debug)]
enum Many {
    One,
    Fixed(usize),
    Sequence,
}

type Fields = Vec<(Of, Many)>;

fn of() -> impl Strategy<Value = Of> {
    const PRIMITIVES: [(&str, usize); 13] = [
        ("bool", 1),
        ("byte", 1),
        ("char", 1),
        ("int8", 1),
        ("uint8", 1),
        ("int16", 2),
        ("uint16", 2),
        ("int32", 4),
        ("uint32", 4),
        ("int64", 8),
        ("uint64", 8),
        ("float32", 4),
        ("float64", 8),
    ];
    prop_oneof![
        4 => prop::sample::select(&PRIMITIVES[..]).prop_map(|(name, size)| Of::Primitive(name, size)),
        1 => Just(Of::Text),
        1 => Just(Of::Wide),
        2 => any::<prop::sample::Index>().prop_map(Of::Structure),
    ]
}

fn many() -> impl Strategy<Value = Many> {
    prop_oneof![3 => Just(Many::One), 1 => (1usize..4).prop_map(Many::Fixed), 2 => Just(Many::Sequence)]
}

fn types() -> impl Strategy<Value = Vec<Fields>> {
    prop::collection::vec(prop::collection::vec((of(), many()), 0..5), 1..5)
}

/// Definitions of the types, the last one being the message; structures hold earlier ones only.
struct World {
    types: Vec<Fields>,
    texts: Vec<String>,
}

impl World {
    fn new(types: Vec<Fields>) -> Self {
        let mut texts = Vec::new();
        for (at, fields) in types.iter().enumerate() {
            let mut text = String::new();
            for (n, (of, many)) in fields.iter().enumerate() {
                match Self::resolved(*of, at) {
                    Of::Primitive(name, _) => text.push_str(name),
                    Of::Text => text.push_str("string"),
                    Of::Wide => text.push_str("wstring"),
                    Of::Structure(index) => write!(text, "T{}", index.index(at)).unwrap(),
                }
                match many {
                    Many::One => {}
                    Many::Fixed(n) => write!(text, "[{n}]").unwrap(),
                    Many::Sequence => text.push_str("[]"),
                }
                writeln!(text, " f{n}").unwrap();
            }
            texts.push(text);
        }
        Self { types, texts }
    }

    /// The first type has nothing that it could hold.
    fn resolved(of: Of, at: usize) -> Of {
        match of {
            Of::Structure(_) if at == 0 => Of::Primitive("float64", 8),
            other => other,
        }
    }

    fn schema(&self) -> Schema {
        let name = format!("a/T{}", self.types.len() - 1).parse().unwrap();
        let source = |of: &TypeName| {
            Ok::<_, String>(self.texts[of.name()[1..].parse::<usize>().unwrap()].clone())
        };
        Schema::load(&name, source).unwrap()
    }
}

/// Writes a message, what it means as JSON, and what each path to a single value leads to.
struct Writer<'a> {
    world: &'a World,
    /// Where values come from; behind its end all are 0.
    dice: std::slice::Iter<'a, u64>,
    big_endian: bool,
    body: Vec<u8>,
    leaves: Vec<(String, Json)>,
}

impl Writer<'_> {
    fn roll(&mut self) -> u64 {
        self.dice.next().copied().unwrap_or_default()
    }

    fn put(&mut self, size: usize, value: u64) {
        while !self.body.len().is_multiple_of(size) {
            self.body.push(0xA5);
        }
        let little = &value.to_le_bytes()[..size];
        if self.big_endian {
            self.body.extend(little.iter().rev());
        } else {
            self.body.extend(little);
        }
    }

    fn message(&mut self, at: usize, path: &str) -> Json {
        let fields = self.world.types[at].clone();
        if fields.is_empty() {
            self.put(1, 0x5A);
        }
        let mut all = serde_json::Map::new();
        for (n, (of, many)) in fields.into_iter().enumerate() {
            let of = World::resolved(of, at);
            let here = if path.is_empty() { format!("f{n}") } else { format!("{path}.f{n}") };
            let count = match many {
                Many::One => None,
                Many::Fixed(n) => Some(n),
                Many::Sequence => {
                    let length = self.roll() % 4;
                    self.put(4, length);
                    Some(usize::try_from(length).unwrap())
                }
            };
            let meaning = match count {
                None => self.value(of, at, &here),
                Some(count) => {
                    (0..count).map(|i| self.value(of, at, &format!("{here}[{i}]"))).collect()
                }
            };
            all.insert(format!("f{n}"), meaning);
        }
        Json::Object(all)
    }

    fn value(&mut self, of: Of, at: usize, path: &str) -> Json {
        let meaning = match of {
            Of::Structure(index) => return self.message(index.index(at), path),
            Of::Text => {
                let text = ["", "a", "é€😀", "a\"\\\n"][usize::try_from(self.roll() % 4).unwrap()];
                self.put(4, text.len() as u64 + 1);
                self.body.extend(text.bytes().chain([0]));
                json!(text)
            }
            Of::Wide => {
                let text =
                    ["", "a", "é€😀", "\u{7f}\u{fffd}"][usize::try_from(self.roll() % 4).unwrap()];
                self.put(4, text.encode_utf16().count() as u64);
                for unit in text.encode_utf16() {
                    self.put(4, unit.into());
                }
                json!(text)
            }
            Of::Primitive(name, size) => {
                let bits = self.roll() & (u64::MAX >> (64 - 8 * size));
                self.put(size, bits);
                let signed =
                    i64::from_ne_bytes((bits << (64 - 8 * size)).to_ne_bytes()) >> (64 - 8 * size);
                match name {
                    "bool" => json!(bits != 0),
                    "float32" => float(&f32::from_bits(bits.try_into().unwrap()).to_string()),
                    "float64" => float(&f64::from_bits(bits).to_string()),
                    name if name.starts_with("int") => json!(signed),
                    _ => json!(bits),
                }
            }
        };
        self.leaves.push((path.to_owned(), meaning.clone()));
        meaning
    }
}

/// By its shortest digits.
fn float(digits: &str) -> Json {
    match digits {
        "NaN" => json!("NaN"),
        "inf" => json!("Infinity"),
        "-inf" => json!("-Infinity"),
        digits => json!(digits.parse::<f64>().unwrap()),
    }
}

fn alike(expected: &Json, ours: &Json) -> bool {
    match (expected, ours) {
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0 && alike(a.1, b.1))
        }
        (Json::Array(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(a, b))
        }
        (Json::Number(a), Json::Number(b)) if a.is_f64() => {
            let (Some(a), Some(b)) = (a.as_f64(), b.as_f64()) else { return false };
            // serde_json may read the last bit otherwise.
            (a - b).abs() <= 2.0 * f64::EPSILON * a.abs()
        }
        _ => expected == ours,
    }
}

fn means(expected: &Json, ours: &Value<'_>) -> bool {
    match ours {
        Value::Bool(value) => expected == value,
        Value::Int(value) => expected == value,
        Value::UInt(value) => expected == value,
        Value::Text(value) => expected == value.as_ref(),
        Value::Float(value) if value.is_finite() => {
            // The expected one is a float32's shortest digits; the smallest have one only.
            expected.as_f64().is_some_and(|e| (e - value).abs() <= 1e-6 * e.abs() + 1e-45)
        }
        Value::Float(value) => *expected == float(&value.to_string()),
        _ => false,
    }
}

fn to_json(schema: &Schema, cdr: &[u8]) -> Result<(String, Oddities), CdrError> {
    let mut out = b"before".to_vec();
    let odd = schema.to_json(cdr, &mut out, JsonOptions::default());
    let text = String::from_utf8(out).unwrap();
    match odd {
        Ok(odd) => Ok((text["before".len()..].to_owned(), odd)),
        Err(error) => {
            assert_eq!(text, "before");
            Err(error)
        }
    }
}

fn dice() -> impl Strategy<Value = Vec<u64>> {
    let die = prop_oneof![
        any::<u64>(),
        0u64..8,
        Just(f64::NAN.to_bits()),
        Just(u64::from(f32::INFINITY.to_bits())),
    ];
    prop::collection::vec(die, 0..60)
}

proptest! {
    #[test]
    fn what_is_written_is_read(types in types(), dice in dice(), big_endian: bool, more in 0usize..4) {
        let world = World::new(types);
        let schema = world.schema();
        let mut writer = Writer {
            world: &world, dice: dice.iter(), big_endian, body: Vec::new(), leaves: Vec::new(),
        };
        let meaning = writer.message(world.types.len() - 1, "");
        let Writer { body, leaves, .. } = writer;
        let mut cdr = vec![0, u8::from(!big_endian), 0, 0];
        cdr.extend(&body);
        let whole = cdr.len();
        cdr.resize(whole + more, 0xA5);

        let (text, odd) = to_json(&schema, &cdr).unwrap();
        let ours: Json = serde_json::from_str(&text).unwrap();
        prop_assert!(alike(&meaning, &ours), "{meaning} became {text}");
        prop_assert!(odd.names().all(|name| name == "not_finite"), "{odd:?}");
        for (path, expected) in &leaves {
            let value = schema.path(path).unwrap().read(&cdr).unwrap();
            prop_assert!(means(expected, &value), "{path}: {expected} became {value:?}");
        }
        // What ends early is refused, wherever it ends.
        for cut in 0..whole {
            prop_assert!(to_json(&schema, &cdr[..cut]).is_err(), "{cut} of {whole}");
        }
        let (_, odd) = to_json(&schema, &[&cdr[..whole], &[0; 4]].concat()).unwrap();
        prop_assert!(odd.names().any(|name| name == "left_over"));
    }

    /// Each element takes a byte and adds, in JSON, its name and at most some digits.
    #[test]
    fn no_bytes_make_it_panic_or_grow(
        types in types(),
        mut bytes in prop::collection::vec(prop_oneof![3 => Just(0u8), 1 => any::<u8>()], 0..300),
        kind in prop_oneof![4 => 0u8..2, 1 => any::<u8>()],
    ) {
        if let [first, second, ..] = &mut bytes[..] {
            (*first, *second) = (0, kind);
        }
        let world = World::new(types);
        let schema = world.schema();
        if let Ok((text, _)) = to_json(&schema, &bytes) {
            serde_json::from_str::<Json>(&text).unwrap();
            prop_assert!(text.len() <= 64 * (bytes.len() + 1), "{} of {}", text.len(), bytes.len());
        }
        for path in ["f0", "f1[1]", "f2[2].f0", "f1.f1", "f3[3].f0[0].f1"] {
            if let Ok(path) = schema.path(path) {
                let _ = path.read(&bytes);
            }
        }
    }

    #[test]
    fn no_definition_makes_it_panic(text in "[a-zA-Z0-9_ \\[\\]<=/#\"'\\\\\\n\\t.-]{0,60}") {
        let _ = Schema::load(&"a/T".parse().unwrap(), |_| Ok::<_, String>(text.clone()));
    }

    #[test]
    fn no_path_makes_it_panic(text in "[a-z0-9_.\\[\\]-]{0,20}") {
        let source = |_: &TypeName| Ok::<_, String>("uint8[] f\nstring[2] g\nint8 h".to_owned());
        let schema = Schema::load(&"a/T".parse().unwrap(), source).unwrap();
        let _ = schema.path(&text);
    }
}
