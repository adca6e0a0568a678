//! Figures and names as they stand in charts and tables.

use hopwatch_analysis::maybe;
use hopwatch_model::{Class, Ns};
use hopwatch_stats::Interval;

/// A time as a float.
#[expect(clippy::cast_precision_loss, reason = "drawn to a tenth of a pixel")]
pub(crate) fn float(ns: Ns) -> f64 {
    ns as f64
}

/// A count as a float.
#[expect(clippy::cast_precision_loss, reason = "drawn to a tenth of a pixel")]
pub(crate) fn count(n: u64) -> f64 {
    n as f64
}

/// A count of things in memory.
pub(crate) fn count_of(n: usize) -> f64 {
    count(u64::try_from(n).unwrap_or(u64::MAX))
}

/// A part of a whole as "12.3 %": never rounded to all or nothing when it isn't.
pub(crate) fn percent(part: f64) -> String {
    let percent = part * 100.0;
    let text = format!("{:.1}", percent + 0.0);
    match text.as_str() {
        "100.0" if percent < 100.0 => "> 99.9 %".to_owned(),
        "0.0" if percent > 0.0 => "< 0.1 %".to_owned(),
        "100.0" => "100 %".to_owned(),
        "0.0" | "-0.0" => "0 %".to_owned(),
        text => format!("{text} %"),
    }
}

/// A count with its thousands apart, as SI has it.
pub(crate) fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push('\u{a0}');
        }
        out.push(digit);
    }
    out
}

/// An interval, or what there is of it.
pub(crate) fn interval(ci: Interval) -> String {
    match (ci.lo, ci.hi) {
        (lo, Some(hi)) => between(&maybe(lo), &maybe(Some(hi))),
        (Some(lo), None) => format!("≥ {}", maybe(Some(lo))),
        (None, None) => "–".to_owned(),
    }
}

/// Two times as an interval: their unit stands once when it is the same.
pub(crate) fn between(lo: &str, hi: &str) -> String {
    match (lo.split_once(' '), hi.split_once(' ')) {
        (Some((number, unit)), Some((_, other)))
            if unit == other && number.parse::<f64>().is_ok() =>
        {
            format!("{number} to {hi}")
        }
        _ => format!("{lo} to {hi}"),
    }
}

/// With a capital.
pub(crate) fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

/// A probability of chance.
pub(crate) fn probability(p: f64) -> String {
    if p < 0.001 { "< 0.001".to_owned() } else { format!("{p:.3}") }
}

/// A name that fits a chart: cut where it is too long.
pub(crate) fn short(name: &str, most: usize) -> String {
    if name.chars().count() <= most {
        name.to_owned()
    } else {
        name.chars().take(most.saturating_sub(1)).chain(['…']).collect()
    }
}

/// How wide a text is in a chart, at most about: 12 px letters of a system font.
pub(crate) fn width(text: &str) -> f64 {
    count_of(text.chars().count()) * 6.7
}

/// The classes in the order of every chart.
pub(crate) const CLASSES: [Class; 3] = [Class::Ai, Class::Transport, Class::Overhead];

/// What a class's time is, in a few words.
pub(crate) const fn class_said(class: Class) -> &'static str {
    match class {
        Class::Ai => "the AI service's own time",
        Class::Transport => "between processes: wire, middleware",
        Class::Overhead => "inside our processes: queues, wake-ups, encoding",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_all_or_nothing_only_when_they_are() {
        let said: Vec<String> =
            [0.0, 0.0001, 0.5, 0.9996, 0.99999, 1.0].into_iter().map(percent).collect();
        assert_eq!(said, ["0 %", "< 0.1 %", "50.0 %", "> 99.9 %", "> 99.9 %", "100 %"]);
    }

    #[test]
    fn thousands_are_apart() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(999), "999");
        assert_eq!(thousands(1_234_567), "1\u{a0}234\u{a0}567");
    }

    #[test]
    fn an_interval_has_its_unit_once() {
        assert_eq!(between("10.01 ms", "10.02 ms"), "10.01 to 10.02 ms");
        assert_eq!(between("950 µs", "1.020 ms"), "950 µs to 1.020 ms");
        assert_eq!(between("1.020 ms", "lost"), "1.020 ms to lost");
        assert_eq!(between("–", "1.020 ms"), "– to 1.020 ms");
        let nothing = "minus everything";
        assert_eq!(between(nothing, nothing), format!("{nothing} to {nothing}"));
    }

    #[test]
    fn names_are_cut_by_characters() {
        assert_eq!(short("größe", 5), "größe");
        assert_eq!(short("größer", 5), "größ…");
    }
}
