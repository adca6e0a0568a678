//! The findings as text of at most 100 columns, and as JSON.

use super::clean::Cleaned;
use super::finding::{Finding, Severity};
use serde::Serialize;
use std::fmt::Write;

const WIDTH: usize = 100;
/// Before what is said of a finding: two spaces, the longest severity, two spaces.
const INDENT: usize = 11;

/// The document that `--json` prints.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    hopwatch: &'static str,
    problems: usize,
    warnings: usize,
    findings: &'a [Finding],
    /// Only with `--clean`.
    #[serde(skip_serializing_if = "Option::is_none")]
    cleaned: Option<&'a Cleaned>,
}

/// How many there are of a severity.
pub(crate) fn count(findings: &[Finding], severity: Severity) -> usize {
    findings.iter().filter(|finding| finding.severity == severity).count()
}

/// As JSON, with a line's end.
pub(crate) fn json(findings: &[Finding], cleaned: Option<&Cleaned>) -> serde_json::Result<String> {
    let document = Document {
        schema: "hopwatch.doctor/1",
        hopwatch: env!("CARGO_PKG_VERSION"),
        problems: count(findings, Severity::Problem),
        warnings: count(findings, Severity::Warning),
        findings,
        cleaned,
    };
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}

/// As text, area by area, with a summary at the end.
pub(crate) fn text(findings: &[Finding], colour: bool) -> String {
    let mut out = String::new();
    let mut area = "";
    for finding in findings {
        if finding.area != area {
            area = finding.area;
            let space = if out.is_empty() { "" } else { "\n" };
            let _infallible = writeln!(out, "{space}{}", painted(area, "1", colour));
        }
        of_finding(&mut out, finding, colour);
    }
    out.push('\n');
    out.push_str(&summary(findings));
    out
}

fn of_finding(out: &mut String, finding: &Finding, colour: bool) {
    let Finding { severity, what, why, todo, .. } = finding;
    let mark = format!("{:<7}", severity.name());
    let mut lines = wrapped(what, WIDTH - INDENT).into_iter();
    let first = lines.next().unwrap_or_default();
    let _infallible = writeln!(out, "  {}  {first}", painted(&mark, code(*severity), colour));
    for line in lines {
        let _infallible = writeln!(out, "{:INDENT$}{line}", "");
    }
    for (word, said) in [("why", why), ("do", todo)] {
        let width = WIDTH - INDENT - 5;
        for (at, line) in wrapped(said, width).into_iter().enumerate() {
            let word = if at == 0 { word } else { "" };
            let _infallible = writeln!(out, "{:INDENT$}{word:<5}{line}", "");
        }
    }
}

fn summary(findings: &[Finding]) -> String {
    let of = |severity, one: &str, many: &str| match count(findings, severity) {
        0 => None,
        1 => Some(format!("1 {one}")),
        n => Some(format!("{n} {many}")),
    };
    let mut told: Vec<String> = [
        of(Severity::Problem, "problem", "problems"),
        of(Severity::Warning, "warning", "warnings"),
        of(
            Severity::Unknown,
            "thing that could not be looked at",
            "things that could not be looked at",
        ),
    ]
    .into_iter()
    .flatten()
    .collect();
    if count(findings, Severity::Problem) == 0 {
        told.insert(0, "no problem".to_owned());
    }
    format!("{}\n", told.join(", "))
}

const fn code(severity: Severity) -> &'static str {
    match severity {
        Severity::Ok => "32",
        Severity::Note => "36",
        Severity::Warning => "33",
        Severity::Problem => "31;1",
        Severity::Unknown => "35",
    }
}

fn painted(text: &str, code: &str, colour: bool) -> String {
    if colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
}

/// In lines of at most `width` characters, broken between words; a longer word has one of its own.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Area;

    fn some() -> Vec<Finding> {
        let (ros, topic) = (Area("ROS"), Area("topic"));
        vec![
            ros.ok("ros_found", "ROS 2 jazzy, sourced from /opt/ros/jazzy"),
            topic
                .problem("incompatible_qos", "/t: publisher /a offers BEST_EFFORT. ".repeat(4))
                .why("nothing arrives")
                .todo("subscribe with best effort, or publish with RELIABLE. ".repeat(3)),
            topic.unknown("x", "whether it is y", "nobody says"),
        ]
    }

    #[test]
    fn the_text_fits_and_is_told_by_areas() {
        let text = text(&some(), false);
        insta::assert_snapshot!(text);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
    }

    #[test]
    fn colour_is_there_when_it_is_asked_for() {
        assert!(!text(&some(), false).contains('\u{1b}'));
        assert!(text(&some(), true).contains("\u{1b}[31;1mproblem\u{1b}[0m"));
        let fine = text(&some()[..1], false);
        assert!(fine.ends_with("\nno problem\n"), "{fine}");
    }

    #[test]
    fn the_document_counts() {
        let cleaned = Cleaned { removed: vec!["a".into()], bytes: 1, kept: Vec::new() };
        let of: serde_json::Value =
            serde_json::from_str(&json(&some(), Some(&cleaned)).unwrap()).unwrap();
        assert_eq!(of["schema"], "hopwatch.doctor/1");
        assert_eq!((of["problems"].as_u64(), of["warnings"].as_u64()), (Some(1), Some(0)));
        assert_eq!(of["findings"][1]["severity"], "problem");
        assert_eq!(of["cleaned"]["removed"][0], "a");
        assert!(!json(&some(), None).unwrap().contains("cleaned"));
    }
}
