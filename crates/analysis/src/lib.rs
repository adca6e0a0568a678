//! From traces to figures: decomposition into legs, the ledger, stability, the report.
//!
//! Pure: the same records give the same report, byte for byte, whatever order they came in.

mod artefacts;
mod budget;
mod clock_report;
mod clocks;
mod compare;
mod comparison_text;
mod composition;
mod contrast;
mod course;
mod csv_text;
mod decompose;
mod delivery;
mod domain;
mod effect;
mod experiment;
mod glass;
mod lane;
mod ledger;
mod markdown;
mod network;
mod open_loop;
mod parts;
mod qos_advice;
mod rates;
mod remarks;
mod report;
mod s1;
mod series;
mod shadow;
mod short_cut;
mod stability;
mod table;
mod trial;
mod trouble;
mod units;
mod width;

pub use artefacts::{Artefact, ArtefactKind, DELAYED_ACK, LaneArtefacts, NAGLE_FIX, State};
pub use budget::{Budget, BudgetReport, Check, Quantity};
pub use clock_report::{ClockReport, clock_reports};
pub use clocks::{Clocks, Placed, RobotHost};
pub use compare::{
    ArmArtefact, ArmFigures, COMPARISON_SCHEMA, Comparison, ComparisonVerdict, Control,
    FailedTrial, compare, compare_with,
};
pub use comparison_text::{comparison_markdown, comparison_table};
pub use composition::Near;
pub use contrast::{Contrast, Decision, Tested};
pub use course::{Course, Gap, Point, courses};
pub use csv_text::{glass_csv, traces_csv};
pub use decompose::{Decomposition, Defect, LegTime, decompose};
pub use delivery::{DeliveryGap, Latency, OverPublished, SpanOverPublished, Within};
pub use effect::{Amount, Effect, Metric, WelchFigures};
pub use experiment::{Arm, DEFAULT_DELIVERY_MARGIN, ExperimentPlan, Factor};
pub use glass::{Glass, GlassTracker};
pub use lane::{
    FAILURES, FailureShown, LaneData, LaneInfo, LaneReport, LegFigures, Row, SpanFigures, Wanted,
    figures,
};
pub use ledger::{Account, LedgerBuilder};
pub use markdown::markdown;
pub use network::{LossChange, Network, NetworkLeg};
pub use open_loop::OpenLoop;
pub use qos_advice::{Late, QosComparison, QosFigures};
pub use rates::Rates;
pub use remarks::{flow, moments, remarks};
pub use report::{Dataset, Event, Report, RunInfo, SCHEMA, Verdict, report};
pub use s1::{S1Row, S1Table};
pub use shadow::{Change, Shadow, ShadowLink};
pub use short_cut::{DEFAULT_MARGIN_NS, verdict_of_run, verdict_of_table};
pub use stability::{Stability, stability};
pub use table::{ledger_lines, page_lines, table};
pub use trial::{Dropped, Times, TrialCounts, TrialError, TrialFigures};
pub use trouble::Finding;
pub use units::{duration, maybe, plain};
pub use width::Width;
