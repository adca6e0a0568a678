//! The report as one page that stands alone: no script, nothing from elsewhere, charts as SVG.
//!
//! Pure: the same report gives the same page, byte for byte. The page is well-formed XML as well
//! as HTML. Texts from outside (topics, robots, events) come in as text, never as markup. What a
//! chart shows stands in a table beside it, too.

mod arms;
mod chart;
mod comparison;
mod ecdf;
mod flow;
mod forest;
mod lane;
mod legs;
mod markup;
mod over_time;
mod page;
mod run;
#[cfg(test)]
mod samples;
mod scale;
mod shadow;
mod study;
mod tables;
mod words;

pub use comparison::comparison_html;
pub use run::report_html;
pub use study::study_html;
