//! Markup that is well-formed by construction, as HTML and as XML, with all text escaped.

use hopwatch_analysis::plain;
use std::fmt::{self, Display, Write};

/// Attributes of an element: names of ours, values from anywhere.
pub(crate) type Attributes<'a> = &'a [(&'static str, &'a dyn Display)];

/// A document on its way.
#[derive(Default)]
pub(crate) struct Markup {
    out: String,
}

impl Markup {
    /// An element with what `inside` puts into it.
    pub(crate) fn within(
        &mut self,
        tag: &'static str,
        attributes: Attributes<'_>,
        inside: impl FnOnce(&mut Self),
    ) {
        self.start(tag, attributes);
        self.out.push('>');
        inside(self);
        self.out.push_str("</");
        self.out.push_str(tag);
        self.out.push('>');
        if ends_a_line(tag) {
            self.out.push('\n');
        }
    }

    /// An element that holds a text.
    pub(crate) fn element(&mut self, tag: &'static str, attributes: Attributes<'_>, text: &str) {
        self.within(tag, attributes, |m| m.text(text));
    }

    /// An element that holds nothing: a void one of HTML, or a shape.
    pub(crate) fn void(&mut self, tag: &'static str, attributes: Attributes<'_>) {
        self.start(tag, attributes);
        self.out.push_str(" />");
        if ends_a_line(tag) {
            self.out.push('\n');
        }
    }

    /// A text, whatever is in it.
    pub(crate) fn text(&mut self, text: &str) {
        let _infallible = Escaped(&mut self.out).write_str(text);
    }

    /// A text of ours that is markup already: the style sheet and the head of the document.
    pub(crate) fn own(&mut self, markup: &'static str) {
        self.out.push_str(markup);
    }

    /// Markup that was made apart.
    pub(crate) fn append(&mut self, other: &Self) {
        self.out.push_str(&other.out);
    }

    /// The document.
    pub(crate) fn end(self) -> String {
        self.out
    }

    fn start(&mut self, tag: &'static str, attributes: Attributes<'_>) {
        self.out.push('<');
        self.out.push_str(tag);
        for (name, value) in attributes {
            self.out.push(' ');
            self.out.push_str(name);
            self.out.push_str("=\"");
            let _infallible = write!(Escaped(&mut self.out), "{value}");
            self.out.push('"');
        }
    }
}

/// A line break after these: the page can be read, and compared line by line.
fn ends_a_line(tag: &str) -> bool {
    !matches!(tag, "b" | "span" | "code" | "a" | "td" | "th" | "small" | "tspan" | "i")
}

/// Writes text into markup: what would be obeyed is escaped, what must not be there is left out.
struct Escaped<'a>(&'a mut String);

impl Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in plain(text).chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                // No characters of XML 1.0 (2.2), nor of any text.
                '\u{fffe}' | '\u{ffff}' => self.0.push('\u{fffd}'),
                c => self.0.push(c),
            }
        }
        Ok(())
    }
}

/// A coordinate in a chart: a tenth of a pixel is enough.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Px(pub(crate) f64);

impl Display for Px {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{:.1}", (self.0 * 10.0).round() / 10.0 + 0.0);
        f.write_str(text.strip_suffix(".0").unwrap_or(&text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_outside_is_obeyed() {
        let mut m = Markup::default();
        let hostile = "</p><script>alert(\"1\")</script>&amp;\u{0}\u{202e}\u{ffff}'";
        m.element("p", &[("title", &hostile)], hostile);
        let escaped = "&lt;/p&gt;&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;amp;  \
                       \u{fffd}&#39;";
        assert_eq!(m.end(), format!("<p title=\"{escaped}\">{escaped}</p>\n"));
    }

    #[test]
    fn coordinates_are_short() {
        let px: Vec<String> = [0.0, -0.01, 12.04, 12.06, 880.0, -3.25]
            .into_iter()
            .map(|at| Px(at).to_string())
            .collect();
        assert_eq!(px, ["0", "0", "12", "12.1", "880", "-3.3"]);
    }
}
