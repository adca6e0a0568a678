//! Values of constants, as `rosidl_adapter` reads them: Python's numbers, quoted or bare text.

use crate::definition::ConstantValue;
use crate::parse::LineProblem;

/// The value of a constant of type `of`.
pub(crate) fn constant_value(of: &str, text: &str) -> Result<ConstantValue, LineProblem> {
    let wrong = |hint| LineProblem::ConstantValue {
        of: of.to_owned(),
        value: text.chars().take(80).collect(),
        hint,
    };
    match of {
        "bool" => match text.to_ascii_lowercase().as_str() {
            "true" | "1" => Ok(ConstantValue::Bool(true)),
            "false" | "0" => Ok(ConstantValue::Bool(false)),
            _ => Err(wrong("; write true or false")),
        },
        "float32" | "float64" => text
            .replace('_', "")
            .parse()
            .map(ConstantValue::Float)
            .map_err(|_| wrong("; write a number with . as its separator")),
        "string" | "wstring" => unquote(text)
            .map(|inner| ConstantValue::Text(unescape(inner)))
            .ok_or_else(|| wrong("; put a \\ before quotes within the quotes")),
        _ => {
            let range = match of {
                "byte" | "char" | "uint8" => 0..=i128::from(u8::MAX),
                "int8" => i8::MIN.into()..=i8::MAX.into(),
                "int16" => i16::MIN.into()..=i16::MAX.into(),
                "uint16" => 0..=u16::MAX.into(),
                "int32" => i32::MIN.into()..=i32::MAX.into(),
                "uint32" => 0..=u32::MAX.into(),
                "int64" => i64::MIN.into()..=i64::MAX.into(),
                "uint64" => 0..=u64::MAX.into(),
                _ => return Err(LineProblem::ConstantType(of.to_owned())),
            };
            let value = integer(text).ok_or_else(|| wrong("; write a whole number"))?;
            if range.contains(&value) {
                Ok(ConstantValue::Integer(value))
            } else {
                Err(wrong(": it is out of range"))
            }
        }
    }
}

/// Python's `int(text, 0)`, and decimals with leading zeros.
fn integer(text: &str) -> Option<i128> {
    let plain = text.replace('_', "").to_ascii_lowercase();
    if let Ok(decimal) = plain.parse() {
        return Some(decimal);
    }
    let (sign, digits) = match plain.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, plain.strip_prefix('+').unwrap_or(&plain)),
    };
    let (prefix, digits) = digits.split_at_checked(2)?;
    let radix = match prefix {
        "0x" => 16,
        "0o" => 8,
        "0b" => 2,
        _ => return None,
    };
    // from_str_radix would take a second sign.
    let digits = Some(digits).filter(|digits| digits.starts_with(|c: char| c.is_digit(radix)))?;
    i128::from_str_radix(digits, radix).ok()?.checked_mul(sign)
}

/// Takes the outer quotes off, if there are any; `None` when an inner one isn't escaped.
fn unquote(text: &str) -> Option<&str> {
    for quote in ['"', '\''] {
        let inner = text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
        if let Some(inner) = inner {
            let mut before = ' ';
            for next in inner.chars() {
                if next == quote && before != '\\' {
                    return None;
                }
                before = next;
            }
            return Some(inner);
        }
    }
    Some(text)
}

/// Resolves the escapes; one that isn't known stays as it is.
fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(next) = rest.next() {
        if next != '\\' {
            out.push(next);
            continue;
        }
        match rest.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some(quoted @ ('\\' | '"' | '\'')) => out.push(quoted),
            other => {
                out.push('\\');
                out.extend(other);
            }
        }
    }
    out
}
