//! A document as Markdown with aligned tables: the file report.md, and what a terminal shows.

use crate::document::{Block, Document, Strips};
use hopwatch_analysis::{duration, plain};
use std::fmt::Write;

impl Document {
    /// The document as Markdown. A plot becomes a table of its extremes and quartiles.
    pub fn markdown(&self) -> String {
        let mut out = format!("# {}\n", line(&self.title));
        for sentence in &self.lead {
            let _infallible = write!(out, "\n{}\n", line(sentence));
        }
        for section in &self.sections {
            let _infallible = write!(out, "\n## {}\n", line(&section.heading));
            for block in &section.blocks {
                out.push('\n');
                match block {
                    Block::Text(text) => out.push_str(&line(text)),
                    Block::Claim(mark, text) => {
                        let _infallible = write!(out, "**{}**: {}", mark.word(), line(text));
                    }
                    Block::Table { caption, heads, rows } => table(&mut out, caption, heads, rows),
                    Block::Code(text) => code(&mut out, text),
                    Block::Strips(strips) => quartiles(&mut out, strips),
                }
                if !out.ends_with('\n') {
                    out.push('\n');
                }
            }
        }
        out
    }
}

/// Each line as it is, but for what a terminal would obey; indented, so that nothing ends it.
fn code(out: &mut String, text: &str) {
    for text in text.lines() {
        let _infallible = writeln!(out, "    {}", plain(text).trim_end());
    }
}

fn line(text: &str) -> String {
    plain(text).trim().to_owned()
}

fn cell(text: &str) -> String {
    line(text).replace('|', "\\|")
}

fn table(out: &mut String, caption: &str, heads: &[String], rows: &[Vec<String>]) {
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|text| cell(text)).collect()).collect();
    let heads: Vec<String> = heads.iter().map(|text| cell(text)).collect();
    let width = |column: usize| {
        let of = |row: &Vec<String>| row.get(column).map_or(0, |text| text.chars().count());
        rows.iter().chain(std::iter::once(&heads)).map(of).max().unwrap_or(0).max(3)
    };
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    if !caption.is_empty() {
        let _infallible = write!(out, "{}\n\n", line(caption));
    }
    let mut put = |cells: &[String]| {
        for (column, width) in widths.iter().enumerate() {
            let text = cells.get(column).map_or("", String::as_str);
            // Names to the left, figures to the right.
            let _infallible = if column == 0 {
                write!(out, "| {text:<width$} ")
            } else {
                write!(out, "| {text:>width$} ")
            };
        }
        out.push_str("|\n");
    };
    put(&heads);
    let rules: Vec<String> =
        widths
            .iter()
            .enumerate()
            .map(|(column, width)| {
                if column == 0 { "-".repeat(*width) } else { format!("{}:", "-".repeat(width - 1)) }
            })
            .collect();
    put(&rules);
    for row in &rows {
        put(row);
    }
}

fn quartiles(out: &mut String, strips: &Strips) {
    let said = |value: f64| {
        if strips.durations { duration(value) } else { format!("{value:.3}") }
    };
    let rows: Vec<Vec<String>> = strips
        .strips
        .iter()
        .map(|strip| {
            let mut sorted = strip.values.clone();
            sorted.sort_by(f64::total_cmp);
            // Between the two values beside it (R. J. Hyndman, Y. Fan, 1996, their seventh way).
            let at = |quarter: u32| {
                let last = u32::try_from(sorted.len()).ok()?.checked_sub(1)?;
                let (whole, part) = (last * quarter / 4, last * quarter % 4);
                let low = *sorted.get(usize::try_from(whole).ok()?)?;
                let high = *sorted.get(usize::try_from(whole + part.min(1)).ok()?)?;
                Some(low + (high - low) * f64::from(part) / 4.0)
            };
            let mut row = vec![strip.name.clone(), strip.values.len().to_string()];
            row.extend((0..=4).map(|quarter| at(quarter).map_or("–".to_owned(), said)));
            row
        })
        .collect();
    let heads = ["", "values", "least", "lower quarter", "middle", "upper quarter", "greatest"]
        .map(str::to_owned);
    table(out, &format!("{} ({})", strips.title, strips.axis), &heads, &rows);
}

#[cfg(test)]
mod tests {
    use crate::document::{Block, Document, Mark, Section, Strip, Strips};

    #[test]
    fn a_document_as_text() {
        let text = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let document = Document {
            title: "Shapes".into(),
            lead: text(&["Split\nthem."]),
            sections: vec![Section {
                heading: "Sizes".into(),
                blocks: vec![
                    Block::Text("Of each.".into()),
                    Block::Table {
                        caption: "bytes".into(),
                        heads: text(&["type", "N = 0"]),
                        rows: vec![text(&["Foo|[]", "8"]), text(&["short"])],
                    },
                    Block::Code("uint8 a  # one\nuint8 b\n".into()),
                    Block::Claim(Mark::NotShown, "32 is better than 4".into()),
                    Block::Strips(Strips {
                        id: "s".into(),
                        title: "Intervals".into(),
                        shows: String::new(),
                        axis: "interval".into(),
                        durations: true,
                        log: true,
                        target: None,
                        strips: vec![
                            Strip { name: "a".into(), values: vec![3e6, 1e6, 2e6, 4e6, 5e6] },
                            Strip { name: "none".into(), values: vec![] },
                        ],
                    }),
                ],
            }],
        };
        insta::assert_snapshot!(document.markdown());
    }
}
