//! What all charts share: the frame with its title and text, axes, labels.

use crate::markup::{Attributes, Markup, Px};
use crate::scale::Scale;

/// Every chart is this wide in its own pixels; the page scales it.
pub(crate) const WIDTH: f64 = 880.0;
/// Ticks with a time below them need this much room.
pub(crate) const APART: f64 = 62.0;

/// A chart: its id on the page, what it is, and in words what it shows.
pub(crate) struct Chart<'a> {
    pub(crate) id: &'a str,
    pub(crate) title: &'a str,
    pub(crate) shows: &'a str,
    pub(crate) height: f64,
}

impl Chart<'_> {
    /// The chart as an image that a reader can be told of, and a caption below.
    pub(crate) fn put(&self, m: &mut Markup, caption: &str, draw: impl FnOnce(&mut Markup)) {
        let (title, desc) = (format!("{}-title", self.id), format!("{}-desc", self.id));
        let view = format!("0 0 {} {}", Px(WIDTH), Px(self.height));
        m.within("figure", &[("id", &self.id)], |m| {
            m.within("div", &[("class", &"wide")], |m| {
                let by = format!("{title} {desc}");
                let svg: Attributes<'_> = &[
                    ("xmlns", &"http://www.w3.org/2000/svg"),
                    ("viewBox", &view),
                    ("role", &"img"),
                    ("aria-labelledby", &by),
                ];
                m.within("svg", svg, |m| {
                    m.element("title", &[("id", &title)], self.title);
                    m.element("desc", &[("id", &desc)], self.shows);
                    draw(m);
                });
            });
            if !caption.is_empty() {
                m.element("figcaption", &[], caption);
            }
        });
    }
}

/// A text at a point: its `anchor` is "start", "middle" or "end".
pub(crate) fn label(
    m: &mut Markup,
    (x, y): (f64, f64),
    anchor: &'static str,
    class: &'static str,
    text: &str,
) {
    let at: Attributes<'_> =
        &[("x", &Px(x)), ("y", &Px(y)), ("text-anchor", &anchor), ("class", &class)];
    m.element("text", at, text);
}

/// A straight line.
pub(crate) fn line(m: &mut Markup, from: (f64, f64), to: (f64, f64), class: &str) {
    m.void(
        "line",
        &[
            ("x1", &Px(from.0)),
            ("y1", &Px(from.1)),
            ("x2", &Px(to.0)),
            ("y2", &Px(to.1)),
            ("class", &class),
        ],
    );
}

/// A rectangle; one without a width is none.
pub(crate) fn rectangle(m: &mut Markup, at: (f64, f64), size: (f64, f64), class: &str) {
    if size.0 > 0.0 && size.1 > 0.0 {
        m.void(
            "rect",
            &[
                ("x", &Px(at.0)),
                ("y", &Px(at.1)),
                ("width", &Px(size.0)),
                ("height", &Px(size.1)),
                ("class", &class),
            ],
        );
    }
}

/// A shape along a path.
pub(crate) fn path(m: &mut Markup, d: &str, class: &str) {
    if !d.is_empty() {
        m.void("path", &[("d", &d), ("class", &class)]);
    }
}

/// Vertical lines at the ticks of a horizontal axis, their texts below, and the axis' name.
pub(crate) fn across(
    m: &mut Markup,
    scale: &Scale,
    (top, bottom): (f64, f64),
    labels: &[(f64, String)],
    name: &str,
) {
    for (tick, text) in labels {
        let x = scale.at(*tick);
        line(m, (x, top), (x, bottom), "grid");
        label(m, (x, bottom + 15.0), "middle", "tick", text);
    }
    if !name.is_empty() {
        let (from, to) = scale.ends();
        label(m, (f64::midpoint(from, to), bottom + 32.0), "middle", "name", name);
    }
}

/// Horizontal lines at the ticks of a vertical axis, and their texts to the left.
pub(crate) fn along(
    m: &mut Markup,
    scale: &Scale,
    (left, right): (f64, f64),
    labels: &[(f64, String)],
) {
    for (tick, text) in labels {
        let y = scale.at(*tick);
        line(m, (left, y), (right, y), "grid");
        label(m, (left - 6.0, y + 4.0), "end", "tick", text);
    }
}
