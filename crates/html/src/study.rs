//! A study of `hopwatch lab` as a page.

use crate::chart::{Chart, WIDTH, across, label, line, path};
use crate::markup::{Markup, Px};
use crate::page::page;
use crate::scale::{Scale, number, time_ticks};
use crate::tables::{row, table};
use hopwatch_lab::{Block, Document, Strip, Strips};
use std::fmt::Write;

/// Values of a strip that are drawn at most; the extremes always are.
const DRAWN: usize = 1500;
/// Room to the left for names.
const LEFT: f64 = 210.0;
/// Height of a strip.
const HEIGHT: f64 = 30.0;
/// Ticks need this much room.
const APART: f64 = 70.0;

/// A study's document as one page that stands alone.
pub fn study_html(document: &Document) -> String {
    page(&document.title, |m| {
        m.within("main", &[], |m| {
            m.element("h1", &[], &document.title);
            for sentence in &document.lead {
                m.element("p", &[], sentence);
            }
            for section in &document.sections {
                m.within("section", &[], |m| {
                    m.element("h2", &[], &section.heading);
                    for block in &section.blocks {
                        put(m, block);
                    }
                });
            }
        });
    })
}

fn put(m: &mut Markup, block: &Block) {
    match block {
        Block::Text(text) => m.element("p", &[], text),
        Block::Claim(mark, text) => m.within("p", &[], |m| {
            m.element("b", &[], mark.word());
            m.text(": ");
            m.text(text);
        }),
        Block::Table { caption, heads, rows } => {
            let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
            table(m, caption, &heads, |m| {
                for cells in rows {
                    if let [name, cells @ ..] = cells.as_slice() {
                        row(m, name, cells);
                    }
                }
            });
        }
        Block::Code(text) => m.within("pre", &[], |m| {
            for line in text.lines() {
                m.text(line);
                m.own("\n");
            }
        }),
        Block::Strips(strips) => plot(m, strips),
    }
}

fn plot(m: &mut Markup, strips: &Strips) {
    let (left, right) = (LEFT, WIDTH - 20.0);
    let values = || strips.strips.iter().flat_map(|strip| strip.values.iter().copied());
    let target = strips.target.as_ref().map(|(value, _)| *value);
    let ends = values().chain(target).filter(|value| value.is_finite()).fold(
        None,
        |ends: Option<(f64, f64)>, value| {
            Some(ends.map_or((value, value), |(lo, hi)| (lo.min(value), hi.max(value))))
        },
    );
    let Some((lo, hi)) = ends else { return };
    let scale = if strips.log {
        Scale::log((lo, hi), (left, right))
    } else {
        let pad = 0.03 * (hi - lo).max(1.0);
        Scale::linear((lo - pad, hi + pad), (left, right))
    };
    let (top, rows) = (20.0, strips.strips.iter().fold(0.0, |sum, _| sum + HEIGHT));
    let bottom = top + rows;
    let chart =
        Chart { id: &strips.id, title: &strips.title, shows: &strips.shows, height: bottom + 42.0 };
    let thinned = strips.strips.iter().any(|strip| strip.values.len() > DRAWN);
    let caption = if thinned {
        format!(
            "Each mark is one value; of more than {DRAWN} in a row, that many are drawn, the least \
             and the greatest among them."
        )
    } else {
        "Each mark is one value.".to_owned()
    };
    chart.put(m, &caption, |m| {
        let ticks = if strips.durations {
            time_ticks(&scale, APART)
        } else {
            scale.ticks(APART).into_iter().map(|tick| (tick, number(tick))).collect()
        };
        across(m, &scale, (top, bottom), &ticks, &strips.axis);
        if let Some((value, said)) = &strips.target {
            let x = scale.at(*value);
            line(m, (x, top - 4.0), (x, bottom), "guide");
            label(m, (x, top - 7.0), "middle", "tick", said);
        }
        let mut y = top;
        for strip in &strips.strips {
            label(m, (left - 10.0, y + HEIGHT / 2.0 + 4.0), "end", "tick", &strip.name);
            path(m, &marks(strip, &scale, y), "strip-marks");
            y += HEIGHT;
        }
    });
}

/// A short upright mark for each value, at a height that follows its place in the series.
fn marks(strip: &Strip, scale: &Scale, top: f64) -> String {
    let mut d = String::new();
    let n = strip.values.len();
    let extreme =
        |value: f64, better: fn(f64, f64) -> f64| strip.values.iter().copied().fold(value, better);
    let (least, greatest) =
        (extreme(f64::INFINITY, f64::min), extreme(f64::NEG_INFINITY, f64::max));
    for (i, value) in strip.values.iter().enumerate() {
        // Evenly thinned: the k-th of DRAWN is the first whose turn comes.
        let drawn = n <= DRAWN || i == 0 || i * DRAWN / n != (i - 1) * DRAWN / n;
        if !value.is_finite() || !(drawn || *value <= least || *value >= greatest) {
            continue;
        }
        // Later ones lower, so that a course is seen; values repeat in rows of 24.
        let step = u32::try_from(i % 24).map_or(0.0, f64::from);
        let y = top + 3.0 + step * (HEIGHT - 9.0) / 24.0;
        let _infallible = write!(d, "M{} {}v3", Px(scale.at(*value)), Px(y));
    }
    d
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::HOSTILE;
    use hopwatch_lab::{Mark, Section};

    #[test]
    fn a_study_is_a_page_whatever_is_in_it() {
        let strip = |name: &str, values: Vec<f64>| Strip { name: name.into(), values };
        let strips = Strips {
            id: "intervals".into(),
            title: HOSTILE.into(),
            shows: HOSTILE.into(),
            axis: "interval".into(),
            durations: true,
            log: true,
            target: Some((1e7, "10 ms".into())),
            strips: vec![
                strip(HOSTILE, (0..4000_u32).map(|i| 1e7 + f64::from(i)).collect()),
                strip("none", vec![]),
                strip("odd", vec![f64::NAN, f64::INFINITY, 0.0]),
            ],
        };
        let document = Document {
            title: HOSTILE.into(),
            lead: vec![HOSTILE.into()],
            sections: vec![Section {
                heading: HOSTILE.into(),
                blocks: vec![
                    Block::Text(HOSTILE.into()),
                    Block::Code(HOSTILE.into()),
                    Block::Claim(Mark::Shown, HOSTILE.into()),
                    Block::Table {
                        caption: HOSTILE.into(),
                        heads: vec!["a".into(), "b".into()],
                        rows: vec![vec![HOSTILE.into(), "1".into()], vec![]],
                    },
                    Block::Strips(strips),
                ],
            }],
        };
        let html = study_html(&document);
        let xml = html.replacen("<!DOCTYPE html>\n", "", 1);
        assert!(roxmltree::Document::parse(&xml).is_ok(), "{html}");
        assert!(!html.contains("<script"), "{html}");
        // Thinned, and the extremes are in.
        let drawn = html.matches("v3").count();
        assert!((1500..=1504).contains(&drawn), "{drawn}");
    }
}
