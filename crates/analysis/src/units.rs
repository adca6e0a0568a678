//! Durations for people: three or four digits that mean something, with their unit.

/// A duration in ns as text ("1.034 s", "27.9 ms", "380 µs", "42 ns").
pub fn duration(ns: f64) -> String {
    let size = ns.abs();
    if size >= 1e9 {
        format!("{:.3} s", ns / 1e9)
    } else if size >= 1e8 {
        format!("{:.1} ms", ns / 1e6)
    } else if size >= 1e7 {
        format!("{:.2} ms", ns / 1e6)
    } else if size >= 1e6 {
        format!("{:.3} ms", ns / 1e6)
    } else if size >= 1e5 {
        format!("{:.0} µs", ns / 1e3)
    } else if size >= 1e3 {
        format!("{:.1} µs", ns / 1e3)
    } else {
        format!("{ns:.0} ns")
    }
}

/// Text from outside without what a terminal or a reader would obey: control characters, and
/// the invisible ones that reorder or hide text.
pub fn plain(text: &str) -> String {
    let obeyed = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{2069}' | '\u{feff}')
    };
    text.chars().map(|c| if obeyed(c) { ' ' } else { c }).collect()
}

/// The same of a whole number that may not exist.
#[expect(clippy::cast_precision_loss, reason = "shown with four digits")]
pub fn maybe(ns: Option<i64>) -> String {
    ns.map_or_else(|| "–".to_owned(), |ns| duration(ns as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_fit() {
        for (ns, text) in [
            (1_034_000_000.0, "1.034 s"),
            (27_900_000.0, "27.90 ms"),
            (3_141_500.0, "3.142 ms"),
            (380_400.0, "380 µs"),
            (42_300.0, "42.3 µs"),
            (42.0, "42 ns"),
            (-5_000.0, "-5.0 µs"),
            (0.0, "0 ns"),
        ] {
            assert_eq!(duration(ns), text);
        }
        assert_eq!(maybe(None), "–");
    }
}
