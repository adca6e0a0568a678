//! The study `handover`.

use crate::study::{Raw, Study, StudyReport};
use serde::{Deserialize, Serialize};

/// The study.
#[derive(Debug)]
pub struct Handover;

/// What is to be done.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {}

/// What a run gave.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {}

impl Study for Handover {
    type Plan = Plan;
    type Run = Run;
    const NAME: &'static str = "handover";

    fn report(raw: &Raw<Plan, Run>) -> StudyReport {
        StudyReport {
            figures: serde_json::Value::Null,
            document: crate::Document::default(),
            decided: raw.complete,
        }
    }
}
