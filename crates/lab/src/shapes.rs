//! The study `shapes`: what a message costs by its shape, as arrays of structures or as structures of
//! arrays.
//!
//! * [`Shape`]: a type with lengths; its counts, its size and the formula of it ([`formula`]), and
//!   the [`split`] that is proposed for it. Static: of the definition alone.
//! * [`values`]: what the messages hold, in every language the same, and their bytes.
//! * [`Plan`] and [`Run`]: what is measured, and what a run of probes said.

mod count;
mod figures;
mod plan;
mod shape;
mod size;
mod split;
mod statics;
mod text;
mod text_measured;
pub mod values;

#[cfg(test)]
mod static_tests;
#[cfg(test)]
mod tests;

pub use count::{Costly, Counts};
pub use figures::{Contrast, Cost, Figures, Measured};
pub use plan::{
    Bench, Measuring, Message, Paced, Plan, PlanError, Run, STEPS, Step, Steps, Taken, Way,
};
pub use shape::{
    ASSUMED_CHARACTERS, ASSUMED_ELEMENTS, Given, Length, Of, Part, Shape, ShapeError, Text, Times,
};
pub use size::{Formula, Size, formula};
pub use split::{Split, split};
pub use statics::Static;

use crate::study::{Raw, Study, StudyReport};

/// The study.
#[derive(Debug)]
pub struct Shapes;

impl Study for Shapes {
    type Plan = Plan;
    type Run = Run;
    const NAME: &'static str = "shapes";

    fn report(raw: &Raw<Plan, Run>) -> StudyReport {
        match Figures::of(raw) {
            Ok(figures) => StudyReport {
                document: text::document(raw, &figures),
                decided: figures.decided,
                figures: serde_json::to_value(&figures).unwrap_or_default(),
            },
            Err(error) => StudyReport {
                figures: serde_json::Value::Null,
                document: crate::Document {
                    title: "Shapes".to_owned(),
                    lead: vec![format!("study.json can't be judged: {error}")],
                    sections: Vec::new(),
                },
                decided: false,
            },
        }
    }
}
