//! From traces to figures: decomposition into legs, the ledger, stability, the report.
//!
//! Pure: the same records give the same report, byte for byte, whatever order they came in.

mod budget;
mod clock_report;
mod clocks;
mod composition;
mod course;
mod csv_text;
mod decompose;
mod delivery;
mod domain;
mod glass;
mod lane;
mod ledger;
mod markdown;
mod open_loop;
mod rates;
mod remarks;
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
pub use composition::Near;
pub use course::{Course, Gap, Point, courses};
pub use csv_text::{glass_csv, traces_csv};
pub use decompose::{Decomposition, Defect, LegTime, decompose};
pub use delivery::{DeliveryGap, Latency, OverPublished, SpanOverPublished, Within};
pub use glass::{Glass, GlassTracker};
pub use lane::{LaneData, LaneInfo, LaneReport, LegFigures, Row, SpanFigures, Wanted, figures};
pub use ledger::{Account, LedgerBuilder};
pub use markdown::markdown;
pub use open_loop::OpenLoop;
pub use rates::Rates;
pub use remarks::{flow, moments, remarks};
pub use report::{Dataset, Event, Report, RunInfo, SCHEMA, Verdict, report};
pub use s1::{S1Row, S1Table};
pub use stability::{Stability, stability};
pub use table::{ledger_lines, page_lines, table};
pub use trouble::Finding;
pub use units::{duration, maybe, plain};
pub use width::Width;
