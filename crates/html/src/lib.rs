//! The report as one page that stands alone: no script, nothing from elsewhere, charts as SVG.
//!
//! Pure: the same report gives the same page, byte for byte. The page is well-formed XML as well
//! as HTML. Texts from outside (topics, robots, events) come in as text, never as markup. What a
//! chart shows stands in a table beside it, too.

mod chart;
mod ecdf;
mod flow;
mod lane;
mod legs;
mod markup;
mod over_time;
mod page;
mod run;
mod scale;
mod tables;
mod words;

pub use run::report_html;
