//! What a run of the pipeline reported, for a study to say by how much it would move it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A run, as far as studies need it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OfRun {
    /// Its folder, as it was named.
    pub folder: String,
    /// Its lanes.
    pub lanes: Vec<LaneOfRun>,
}

/// A lane of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaneOfRun {
    /// Its name.
    pub name: String,
    /// Its topic.
    pub topic: String,
    /// Messages published a second.
    pub rate_hz: Option<f64>,
    /// Median of the total, which is the pipeline's: taken → web_acked.
    pub total_p50_ns: Option<i64>,
    /// Its P99.
    pub total_p99_ns: Option<i64>,
    /// Median from publication to the end.
    pub published_p50_ns: Option<i64>,
    /// Medians of the legs.
    pub legs_p50_ns: BTreeMap<String, i64>,
}
