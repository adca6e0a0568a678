//! From traces to figures: decomposition into legs, the ledger, stability, the report.
//!
//! Pure: the same records give the same report, byte for byte, whatever order they came in.

mod budget;
mod clock_report;
mod clocks;
mod csv_text;
mod decompose;
mod domain;
mod glass;
mod lane;
mod ledger;
mod markdown;
mod report;
mod s1;
mod series;
mod stability;
mod table;
mod trouble;
mod units;
mod width;

pub use budget::{Budget, BudgetReport, Check};
pub use clock_report::ClockReport;
pub use clocks::{Clocks, Placed, RobotHost};
pub use csv_text::{glass_csv, traces_csv};
pub use decompose::{Decomposition, Defect, LegTime, decompose};
pub use glass::{Glass, GlassTracker};
pub use lane::{LaneData, LaneInfo, LaneReport, LegFigures, Row, SpanFigures, figures};
pub use ledger::{Account, LedgerBuilder};
pub use markdown::markdown;
pub use report::{Dataset, Event, Report, RunInfo, SCHEMA, Verdict, report};
pub use s1::{S1Row, S1Table};
pub use stability::{Stability, stability};
pub use table::table;
pub use trouble::Finding;
pub use width::Width;
