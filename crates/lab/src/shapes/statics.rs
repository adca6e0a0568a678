//! What a definition and lengths tell, before anything is measured.

use super::count::Counts;
use super::plan::{Message, Plan, PlanError};
use super::shape::{Shape, ShapeError};
use super::size::{Formula, Size, formula};
use super::split::{Split, split};
use hopwatch_rosmsg::{Schema, SchemaError, TypeName};
use serde::Serialize;

/// What is known of a message without measuring it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Static {
    /// Its type.
    #[serde(rename = "type")]
    pub of: String,
    /// The lengths it has, and whether they were given or assumed.
    pub lengths: Vec<LengthFigure>,
    /// What it holds.
    #[serde(flatten)]
    pub counts: Counts,
    /// Non-primitive elements a second.
    pub elements_per_s: f64,
    /// Its bytes.
    pub size: Size,
    /// How they follow from the longest length.
    pub formula: Option<Formula>,
    /// The split that is proposed for it.
    pub split: Option<Proposal>,
}

/// A length.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LengthFigure {
    /// Whose.
    pub path: String,
    /// How long.
    pub length: u64,
    /// Nothing was said of it.
    pub assumed: bool,
}

/// A split, looked at like the message itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Proposal {
    /// Its type's name, beside the other one's.
    pub name: String,
    /// Its `.msg` file.
    pub definition: String,
    /// What it holds.
    #[serde(flatten)]
    pub counts: Counts,
    /// Its bytes.
    pub size: Size,
    /// How they follow from the longest length.
    pub formula: Option<Formula>,
}

impl Static {
    /// Of a message of a plan.
    pub(super) fn of(plan: &Plan, message: &Message) -> Result<Self, PlanError> {
        let (schema, shape) = plan.shape(message)?;
        let counts = shape.counts();
        let split =
            split(&schema, &shape).map(|split| proposal(plan, &shape, split)).transpose()?;
        Ok(Self {
            of: message.of.clone(),
            lengths: shape
                .lengths
                .iter()
                .map(|length| LengthFigure {
                    path: length.path.clone(),
                    length: length.length,
                    assumed: length.assumed,
                })
                .collect(),
            elements_per_s: per_second(counts.elements, plan.rate_hz),
            counts,
            size: size(&shape)?,
            formula: formula(&schema, &shape),
            split,
        })
    }
}

fn size(shape: &Shape) -> Result<Size, ShapeError> {
    shape
        .size()
        .ok_or_else(|| ShapeError::TooLarge { of: shape.name.clone(), lengths: String::new() })
}

fn proposal(plan: &Plan, shape: &Shape, split: Split) -> Result<Proposal, PlanError> {
    let name = TypeName::new(shape.name.package(), &split.name)?;
    let load = |of: &TypeName| -> Result<String, String> {
        if *of == name {
            return Ok(split.definition.clone());
        }
        let text = plan.definitions.get(&of.to_string()).cloned();
        text.ok_or_else(|| format!("{of} is not among the plan's definitions"))
    };
    let schema: Result<Schema, SchemaError> = Schema::load(&name, load);
    let schema = schema?;
    let split_shape = Shape::new(&schema, &split.lengths)?;
    Ok(Proposal {
        counts: split_shape.counts(),
        size: size(&split_shape)?,
        formula: formula(&schema, &split_shape),
        name: split.name,
        definition: split.definition,
    })
}

/// Counts are far below 2^53.
#[expect(clippy::cast_precision_loss, reason = "a rate is a float, and counts fit 32 bits or so")]
pub(super) fn per_second(count: u64, rate_hz: f64) -> f64 {
    count as f64 * rate_hz
}
