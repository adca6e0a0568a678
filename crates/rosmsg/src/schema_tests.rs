use super::*;
use crate::definition::Primitive;
use crate::flat;

fn source(of: &TypeName) -> Result<String, String> {
    let text = match of.to_string().as_str() {
        "a/msg/Leaf" => "float64 x\nuint8 y",
        "a/msg/Empty" => "",
        "a/msg/Tree" => "Leaf leaf\nLeaf[] more\nEmpty nothing\nb/Other other\nstring name",
        "b/msg/Other" => "uint8 MODE_A=1\nuint8 MODE_B=2\nuint8 SAME=2\na/Leaf[3] leaves",
        "a/msg/Loop" => "uint8 n\nb/Back back",
        "b/msg/Back" => "# a comment\na/Loop[] loops",
        "a/msg/Selfish" => "Selfish other",
        "a/msg/Broken" => "uint8 ok\nuint8 NotOk",
        "a/msg/Holder" => "uint8 ok\nMissing missing",
        other => return Err(format!("no file for {other}")),
    };
    Ok(text.to_owned())
}

fn load(name: &str) -> Result<Schema, SchemaError> {
    Schema::load(&name.parse().unwrap(), source)
}

#[test]
fn what_a_type_holds_comes_before_it_and_once() {
    let schema = load("a/Tree").unwrap();
    let names: Vec<_> = schema.structures().iter().map(|s| s.name.to_string()).collect();
    assert_eq!(names, ["a/msg/Leaf", "a/msg/Empty", "b/msg/Other", "a/msg/Tree"]);
    let (_, leaf) = schema.root().field("leaf").unwrap();
    assert_eq!((leaf.element, leaf.count), (Element::Structure(0), Count::One));
    let other = &schema.structures()[2];
    let named: Vec<_> = other.constants_of(2).map(|c| c.name.as_str()).collect();
    assert_eq!(named, ["MODE_B", "SAME"]);
}

#[test]
fn sizes_are_known_where_they_follow_from_the_place() {
    let schema = load("a/Tree").unwrap();
    let flat: Vec<_> = schema.structures().iter().map(|s| s.flat).collect();
    // 9 bytes from a multiple of 8, up to 7 more of padding.
    assert_eq!(flat[0], Some([9, 16, 15, 14, 13, 12, 11, 10]));
    assert_eq!(flat[1], Some([1; 8]));
    assert_eq!(flat[2].unwrap()[0], 2 * 16 + 9);
    assert_eq!(flat[3], None);
    assert_eq!(flat::primitives(Primitive::Uint32.size(), 0), Some([0; 8]));
    let least: Vec<_> = schema.structures().iter().map(|s| s.least_bytes).collect();
    assert_eq!(least, [9, 1, 27, 9 + 4 + 1 + 27 + 4]);
}

#[test]
fn errors_lead_to_the_line() {
    for (name, says) in [
        (
            "a/Loop",
            "a/msg/Loop holds itself (line 2, by way of a/msg/Loop → b/msg/Back → a/msg/Loop)",
        ),
        ("a/Selfish", "a/msg/Selfish → a/msg/Selfish"),
        ("a/Broken", "definition of a/msg/Broken, line 2 (\"uint8 NotOk\"): \"NotOk\" is no field"),
        ("a/Holder", "definition of a/msg/Missing, which a/msg/Holder holds (line 2)"),
        ("a/Missing", "definition of a/msg/Missing"),
    ] {
        let error = load(name).unwrap_err().to_string();
        assert!(error.contains(says), "{name}: {error}");
    }
    let cause = load("a/Missing").unwrap_err().source().map(ToString::to_string);
    assert_eq!(cause.as_deref(), Some("no file for a/msg/Missing"));
}

#[test]
fn depth_has_an_end_by_whatever_way() {
    // T0 holds T1 holds T2 …; each also holds the last but one first, so that most are known
    // already when they are met.
    let chain = |last: usize| {
        move |of: &TypeName| {
            let at: usize = of.name()[1..].parse().unwrap();
            let text = if at == last { "uint8 x".to_owned() } else { format!("T{} next", at + 1) };
            Ok::<_, String>(text)
        }
    };
    let name = "a/T0".parse().unwrap();
    assert!(Schema::load(&name, chain(MOST_DEPTH - 1)).is_ok());
    assert!(matches!(Schema::load(&name, chain(MOST_DEPTH)), Err(SchemaError::Deep { .. })));
    assert!(matches!(Schema::load(&name, chain(100_000)), Err(SchemaError::Deep { .. })));
    let halves = |of: &TypeName| {
        let at: usize = of.name()[1..].parse().unwrap();
        Ok::<_, String>(match at {
            // The second half is known when the first one reaches it.
            0 => "T40 known\nT1 next".to_owned(),
            79 => "uint8 x".to_owned(),
            at => format!("T{} next", at + 1),
        })
    };
    assert!(matches!(Schema::load(&name, halves), Err(SchemaError::Deep { .. })));
}
