//! What the study has to say.

use super::figures::Figures;
use super::plan::{Plan, Run};
use super::statics::{Proposal, Static};
use super::text_measured as measured;
use crate::study::Raw;
use crate::words::{grouped, number, words};
use crate::{Block, Document, Mark, Section};

/// The document of the study.
pub(super) fn document(raw: &Raw<Plan, Run>, figures: &Figures) -> Document {
    let mut sections = vec![messages(raw, figures)];
    sections.extend(figures.messages.iter().filter_map(|one| costs(one, raw.plan.rate_hz)));
    if raw.plan.measuring.is_some() {
        sections.extend(measured::sections(raw, figures));
    }
    sections.push(measured::pipeline(raw, figures));
    let mut lead = vec![static_lead(figures, raw.plan.rate_hz)];
    lead.extend(measured::lead(raw, figures));
    Document { title: "Shapes: what a message costs by its shape".to_owned(), lead, sections }
}

fn static_lead(figures: &Figures, rate_hz: f64) -> String {
    let costly: Vec<String> = figures
        .messages
        .iter()
        .filter(|one| one.counts.elements > 0)
        .map(|one| {
            format!(
                "{} has {} non-primitive elements, {} a second at {} Hz",
                short(&one.of),
                grouped(one.counts.elements),
                number(one.elements_per_s),
                number(rate_hz)
            )
        })
        .collect();
    if costly.is_empty() {
        "No message here has arrays of structures: a split would change nothing.".to_owned()
    } else {
        format!("{}.", costly.join("; "))
    }
}

fn messages(raw: &Raw<Plan, Run>, figures: &Figures) -> Section {
    let rows = figures.messages.iter().map(|one| {
        let mut row = vec![short(&one.of).to_owned()];
        row.extend([
            grouped(one.counts.elements),
            number(one.elements_per_s),
            grouped(one.counts.texts),
            grouped(one.counts.declared_bytes),
            grouped(one.size.serialized),
            one.formula.as_ref().map_or("–".to_owned(), |formula| formula.text.clone()),
        ]);
        row
    });
    let mut blocks = vec![Block::Table {
        caption: format!("a message, and a second at {} Hz", number(raw.plan.rate_hz)),
        heads: words(&[
            "type",
            "non-primitive elements",
            "of them a second",
            "texts",
            "declared bytes",
            "serialized bytes",
            "formula",
        ]),
        rows: rows.collect(),
    }];
    for one in &figures.messages {
        blocks.push(Block::Text(lengths(one)));
        if one.size.needed != one.size.serialized {
            blocks.push(Block::Text(format!(
                "{}: rmw_serialize says {} bytes, of which the fields need {}.",
                short(&one.of),
                one.size.serialized,
                one.size.needed
            )));
        }
    }
    blocks.push(Block::Text(
        "Non-primitive elements: over all arrays of structures, length × structures in one element, \
         the element itself counted; builtin_interfaces/Time is a structure, whatever its name says. \
         Serialized: XCDR version 1 as rmw_serialize says, with its header of 4 bytes. N: the \
         length of the longest sequences."
            .to_owned(),
    ));
    Section { heading: "Messages".to_owned(), blocks }
}

fn lengths(one: &Static) -> String {
    if one.lengths.is_empty() {
        return format!("{}: nothing in it has a length.", short(&one.of));
    }
    let all = one.lengths.iter().map(|length| {
        let assumed = if length.assumed { " (assumed)" } else { "" };
        format!("{} = {}{assumed}", length.path, length.length)
    });
    let mut text = format!("{}: {}.", short(&one.of), all.collect::<Vec<_>>().join(", "));
    if one.lengths.iter().any(|length| length.assumed) {
        text += " Say what you have with --length PATH=N.";
    }
    text
}

fn costs(one: &Static, rate_hz: f64) -> Option<Section> {
    let split = one.split.as_ref()?;
    let rows = one.counts.arrays.iter().map(|array| {
        vec![
            array.path.clone(),
            array.of.clone(),
            grouped(array.length),
            array.structures.to_string(),
            grouped(array.elements),
            number(super::statics::per_second(array.elements, rate_hz)),
        ]
    });
    let mut blocks = vec![Block::Table {
        caption: "the fields that cost".to_owned(),
        heads: words(&["field", "of", "length", "structures each", "elements", "a second"]),
        rows: rows.collect(),
    }];
    blocks.extend(proposal(one, split));
    Some(Section { heading: format!("Split of {}", short(&one.of)), blocks })
}

fn proposal(one: &Static, split: &Proposal) -> Vec<Block> {
    let mut all = vec![
        Block::Text(format!(
            "{}.msg, with {} non-primitive elements, {} declared bytes and {} bytes serialized \
             ({}), in place of {}, {} and {}:",
            split.name,
            grouped(split.counts.elements),
            grouped(split.counts.declared_bytes),
            grouped(split.size.serialized),
            split.formula.as_ref().map_or("no formula", |formula| &formula.text),
            grouped(one.counts.elements),
            grouped(one.counts.declared_bytes),
            grouped(one.size.serialized),
        )),
        Block::Code(split.definition.clone()),
    ];
    if split.counts.texts > 0 {
        let text = "Texts stay objects of their own in arrays, too: numbers in their place would be \
                    cheaper.";
        all.push(Block::Claim(Mark::Beware, text.to_owned()));
    }
    all
}

/// A type without its package.
pub(super) fn short(of: &str) -> &str {
    of.rsplit('/').next().unwrap_or(of)
}
