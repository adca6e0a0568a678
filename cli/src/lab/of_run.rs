//! A run of the pipeline that a study is laid beside: its report.json.

use crate::args::Usage;
use hopwatch_lab::{LaneOfRun, OfRun};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// The schema of a run's report.
const SCHEMA: &str = hopwatch_analysis::SCHEMA;

/// Reads the report in a run's folder.
///
/// # Errors
/// When there is none, or it is of something else.
pub(crate) fn read(folder: &Path) -> Result<OfRun, Usage> {
    let path = folder.join("report.json");
    let wrong = |why: String| {
        Usage(format!("--run {}: {why}; name the folder of a `hopwatch run`", folder.display()))
    };
    let text = std::fs::read_to_string(&path)
        .map_err(|error| wrong(format!("{} can't be read: {error}", path.display())))?;
    let report: Value = serde_json::from_str(&text)
        .map_err(|error| wrong(format!("{} is no JSON: {error}", path.display())))?;
    if report["schema"] != SCHEMA {
        return Err(wrong(format!("{} is no report of a run ({SCHEMA})", path.display())));
    }
    let lanes = report["lanes"].as_array().map(Vec::as_slice).unwrap_or_default();
    Ok(OfRun { folder: folder.display().to_string(), lanes: lanes.iter().map(lane).collect() })
}

fn lane(lane: &Value) -> LaneOfRun {
    let text = |key: &str| lane[key].as_str().unwrap_or_default().to_owned();
    let legs = lane["legs"].as_object().into_iter().flatten();
    let legs: BTreeMap<String, i64> =
        legs.filter_map(|(leg, of)| Some((leg.clone(), of["p50_ns"].as_i64()?))).collect();
    let total = &lane["classes"]["total"];
    LaneOfRun {
        name: text("name"),
        topic: text("topic"),
        rate_hz: lane["rates"]["published_per_s"].as_f64(),
        total_p50_ns: total["p50_ns"].as_i64(),
        total_p99_ns: total["p99_ns"].as_i64(),
        published_p50_ns: lane["spans"]["published"]["p50_ns"].as_i64(),
        legs_p50_ns: legs,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_and_what_is_none_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let put = |text: &str| std::fs::write(folder.path().join("report.json"), text).unwrap();
        assert!(read(folder.path()).unwrap_err().0.contains("can't be read"));
        for (text, says) in [("{", "is no JSON"), ("{\"schema\":\"x\"}", "is no report of a run")] {
            put(text);
            assert!(read(folder.path()).unwrap_err().0.contains(says));
        }
        put(&format!(
            "{{\"schema\":\"{SCHEMA}\",\"lanes\":[{{\"name\":\"a\",\"topic\":\"/t\",\"rates\":\
             {{\"published_per_s\":20.0}},\"classes\":{{\"total\":{{\"p50_ns\":5,\"p99_ns\":9}}}},\
             \"legs\":{{\"write\":{{\"p50_ns\":3}},\"none\":{{\"p50_ns\":null}}}}}}]}}"
        ));
        let lane = &read(folder.path()).unwrap().lanes[0];
        assert_eq!((lane.name.as_str(), lane.rate_hz), ("a", Some(20.0)));
        assert_eq!((lane.total_p50_ns, lane.total_p99_ns), (Some(5), Some(9)));
        assert_eq!(lane.legs_p50_ns, BTreeMap::from([("write".to_owned(), 3)]));
    }
}
