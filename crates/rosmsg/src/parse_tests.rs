use super::*;
use crate::ConstantValue;

fn read(text: &str) -> Result<Parsed, (usize, String, LineProblem)> {
    parse(&"my_msgs/msg/Thing".parse().unwrap(), text)
}

fn field(text: &str) -> (String, ParsedElement, Count) {
    let mut parsed = read(text).unwrap();
    assert_eq!(parsed.fields.len(), 1, "{text}");
    let field = parsed.fields.remove(0);
    (field.name, field.element, field.count)
}

fn named(name: &str) -> ParsedElement {
    ParsedElement::Named(name.parse().unwrap())
}

#[test]
fn fields_of_every_form_are_read() {
    use Count::{Fixed, One, Sequence};
    use ParsedElement::{Primitive as P, Text, WideText};
    for (text, element, count) in [
        ("bool x", P(Primitive::Bool), One),
        ("byte x", P(Primitive::Byte), One),
        ("char[3] x", P(Primitive::Char), Fixed(3)),
        ("float64[] x", P(Primitive::Float64), Sequence { bound: None }),
        ("uint16[<=5] x", P(Primitive::Uint16), Sequence { bound: Some(5) }),
        ("string x", Text { bound: None }, One),
        ("string<=10 x", Text { bound: Some(10) }, One),
        ("string<=10[<=2] x", Text { bound: Some(10) }, Sequence { bound: Some(2) }),
        ("wstring<=7[4] x", WideText { bound: Some(7) }, Fixed(4)),
        ("Other x", named("my_msgs/msg/Other"), One),
        // As in ROS 2: a bare Header is one of the own package.
        ("Header x", named("my_msgs/msg/Header"), One),
        ("std_msgs/Header x", named("std_msgs/msg/Header"), One),
        ("std_msgs/msg/Header[] x", named("std_msgs/msg/Header"), Sequence { bound: None }),
        ("int32 x 42", P(Primitive::Int32), One),
        ("string x \"a # default\"", Text { bound: None }, One),
        ("int32[] x [1, 2]   # [m]", P(Primitive::Int32), Sequence { bound: None }),
        ("\tint32\t x # after tabs", P(Primitive::Int32), One),
        ("# before\n\nint32 x\r\n   # behind", P(Primitive::Int32), One),
    ] {
        assert_eq!(field(text), ("x".to_owned(), element, count), "{text}");
    }
    assert_eq!(read("# only a comment\n\n").unwrap().fields, []);
}

#[test]
fn constants_of_every_type_are_read() {
    use ConstantValue::{Bool, Float, Integer, Text};
    let text = |text: &str| Text(text.to_owned());
    for (line, value) in [
        ("bool X=true", Bool(true)),
        ("bool X=0", Bool(false)),
        ("byte X=0x1F", Integer(31)),
        ("char X=65", Integer(65)),
        ("int8 X=-128", Integer(-128)),
        ("int32 X = 0b101 # why", Integer(5)),
        ("uint8 X=007", Integer(7)),
        ("uint32 X=1_000", Integer(1000)),
        ("int64 X=-0x8000000000000000", Integer(i64::MIN.into())),
        ("uint64 X=18446744073709551615", Integer(u64::MAX.into())),
        ("float32 X=.5", Float(0.5)),
        ("float64 X=-1e-9", Float(-1e-9)),
        ("string X=no quotes here", text("no quotes here")),
        ("string X=", text("")),
        ("string X='  kept  '", text("  kept  ")),
        ("string X=\"a \\\"b\\\" c\\td\"", text("a \"b\" c\td")),
        ("string X=a=b", text("a=b")),
        // rosidl cuts the comment off first, wherever it begins.
        ("string X=\"a#b\"", text("\"a")),
        ("wstring X='it\\'s'", text("it's")),
    ] {
        let constants = read(line).unwrap().constants;
        assert_eq!(constants[0].value, value, "{line}");
        assert_eq!(constants[0].name, "X");
    }
}

#[test]
fn what_makes_no_sense_is_named_with_its_line_and_its_cure() {
    for (line, says) in [
        ("---", "not a message"),
        ("int32", "needs a name"),
        ("time stamp", "write builtin_interfaces/Time"),
        ("octet x", "write byte"),
        ("double x", "write float64"),
        ("text x", "begin with a capital letter"),
        ("std_msgs/string x", "no type name"),
        ("a/b/c/D x", "written like"),
        ("int32[0] x", "whole number above 0"),
        ("int32[<=] x", "whole number above 0"),
        ("int32[-1] x", "whole number above 0"),
        ("string<=0 x", "whole number above 0"),
        ("int32] x", "has no ["),
        ("int32 X", "no field name"),
        ("int32 a__b", "no field name"),
        ("int32 x_", "no field name"),
        ("int32 x=1", "no constant's name"),
        ("int32 first\nint32 second\nint32 first", "twice"),
        ("Other X=1", "no type of constants"),
        ("string<=5 X=a", "no type of constants"),
        ("bool X=yes", "true or false"),
        ("uint8 X=256", "out of range"),
        ("int8 X=-129", "out of range"),
        ("int32 X=1.5", "whole number"),
        ("int32 X=0x-5", "whole number"),
        ("float32 X=1,5", "separator"),
        ("string X=\"a\"b\"", "before quotes"),
        ("int32 X=1\nint32 X=2", "twice"),
    ] {
        let (number, text, problem) = read(&format!("# comment\n\n{line}")).unwrap_err();
        let problem = problem.to_string();
        assert!(problem.contains(says), "{line}: {problem}");
        assert_eq!(number, 2 + line.lines().count(), "{line}");
        assert_eq!(text, line.lines().last().unwrap(), "{line}");
    }
}
