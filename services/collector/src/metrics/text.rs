//! The text format of Prometheus, version 0.0.4 (exposition formats, "Text-based format").

use std::fmt::Write;

/// What kind a metric is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// It only grows, until its process starts anew.
    Counter,
    /// It goes up and down.
    Gauge,
    /// Counts up to each bound.
    Histogram,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// Names and values of labels.
type Labels<'a> = [(&'a str, &'a str)];

/// A page of metrics, family by family.
#[derive(Default)]
pub(super) struct Page {
    text: String,
    family: &'static str,
}

impl Page {
    /// What follows is of this metric.
    pub(super) fn family(&mut self, name: &'static str, kind: Kind, help: &str) {
        self.family = name;
        self.line(format_args!("# HELP {name} {help}"));
        self.line(format_args!("# TYPE {name} {}", kind.name()));
    }

    /// A value.
    pub(super) fn number(&mut self, labels: &Labels<'_>, value: u64) {
        let (name, labels) = (self.family, in_braces(labels, None));
        self.line(format_args!("{name}{labels} {value}"));
    }

    /// A histogram: `counts` of each bucket, the last of which has no bound.
    pub(super) fn histogram(
        &mut self,
        labels: &Labels<'_>,
        bounds: impl Iterator<Item = f64>,
        counts: &[u64],
        sum: f64,
    ) {
        let name = self.family;
        let bounds = bounds.map(|bound| format!("{bound}")).chain([String::from("+Inf")]);
        let mut up_to = 0;
        for (bound, count) in bounds.zip(counts) {
            up_to += count;
            let labels = in_braces(labels, Some(&bound));
            self.line(format_args!("{name}_bucket{labels} {up_to}"));
        }
        let labels = in_braces(labels, None);
        self.line(format_args!("{name}_sum{labels} {sum}"));
        self.line(format_args!("{name}_count{labels} {up_to}"));
    }

    /// All of it.
    pub(super) fn text(self) -> String {
        self.text
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing into a string can't fail.
        let _infallible = writeln!(self.text, "{line}");
    }
}

/// Labels as they stand behind a name. Lanes are named by users: what would end a value is escaped.
fn in_braces(labels: &Labels<'_>, bound: Option<&str>) -> String {
    let bound = bound.map(|bound| ("le", bound));
    let escaped = |text: &str| text.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
    let all: Vec<String> = labels
        .iter()
        .copied()
        .chain(bound)
        .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
        .collect();
    if all.is_empty() { String::new() } else { format!("{{{}}}", all.join(",")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_written_as_the_format_has_it() {
        let mut page = Page::default();
        page.family("a_total", Kind::Counter, "How many.");
        page.number(&[], 3);
        page.number(&[("lane", "a\"b\\c\nd")], 4);
        page.family("b_seconds", Kind::Histogram, "How long.");
        page.histogram(&[("lane", "x")], [0.5, 1.0].into_iter(), &[1, 0, 2], 7.25);
        let expected = r#"# HELP a_total How many.
# TYPE a_total counter
a_total 3
a_total{lane="a\"b\\c\nd"} 4
# HELP b_seconds How long.
# TYPE b_seconds histogram
b_seconds_bucket{lane="x",le="0.5"} 1
b_seconds_bucket{lane="x",le="1"} 1
b_seconds_bucket{lane="x",le="+Inf"} 3
b_seconds_sum{lane="x"} 7.25
b_seconds_count{lane="x"} 3
"#;
        assert_eq!(page.text(), expected);
    }
}
