//! Numbers and words as documents have them.

/// Texts, each of its own.
pub(crate) fn words(all: &[&str]) -> Vec<String> {
    all.iter().map(|word| (*word).to_owned()).collect()
}

/// 300,000
pub(crate) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number without digits that say nothing.
pub(crate) fn number(x: f64) -> String {
    if x.abs() >= 1000.0 {
        let text = format!("{x:.0}");
        return text.parse().map_or(text, grouped);
    }
    let text = format!("{x:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    text.to_owned()
}
