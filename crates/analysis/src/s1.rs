//! The table that the published measurement of this pipeline printed (SEEDS S1), so that anyone
//! can lay theirs beside ours: round trips as the gateway's clock sees them.

use hopwatch_model::{Hop, Ns, Stamps};
use hopwatch_stats::Summary;
use serde::Serialize;

/// One row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct S1Row {
    /// Its figures.
    #[serde(flatten)]
    pub summary: Summary,
    /// Its share of the mean total, in percent; `null` when there is nothing.
    pub share_percent: Option<f64>,
}

/// AI round trip, web round trip, the rest, and the total.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct S1Table {
    /// The call to the AI service as a whole: connection, transport and AI.
    pub ai: S1Row,
    /// The call to the web service as a whole.
    pub web: S1Row,
    /// total − ai − web.
    pub overhead: S1Row,
    /// taken → web_acked.
    pub total: S1Row,
}

impl S1Table {
    /// From robots, stamps and totals of messages that went the whole way, in the order of the
    /// takes.
    pub fn of<'a>(whole: impl Iterator<Item = (&'a str, &'a Stamps, Ns)>) -> Self {
        let (mut ai, mut web, mut rest, mut all) = (vec![], vec![], vec![], vec![]);
        for (robot, stamps, total) in whole {
            let trip = |starts: [Hop; 3], ended| {
                let start = starts.into_iter().find_map(|hop| stamps.get(hop))?;
                stamps.get(ended)?.since(start).ok()
            };
            let ai_trip = trip([Hop::AiConnecting, Hop::AiFirstSent, Hop::AiSent], Hop::AiAnswered);
            let web_trip =
                trip([Hop::WebConnecting, Hop::WebFirstSent, Hop::WebSent], Hop::WebAcked);
            if let Some((a, w)) = ai_trip.zip(web_trip) {
                ai.push((robot, a));
                web.push((robot, w));
                rest.push((robot, total - a - w));
                all.push((robot, total));
            }
        }
        let total = Summary::of_series(&all);
        let row = |series: Vec<(&str, Ns)>| {
            let summary = Summary::of_series(&series);
            let share_percent = summary.mean_ns.zip(total.mean_ns).map(|(a, b)| 100.0 * a / b);
            S1Row { summary, share_percent }
        };
        Self {
            ai: row(ai),
            web: row(web),
            overhead: row(rest),
            total: S1Row { share_percent: total.mean_ns.map(|_| 100.0), summary: total.clone() },
        }
    }

    /// The rows with their names, in the table's order.
    pub fn rows(&self) -> [(&'static str, &S1Row); 4] {
        [
            ("AI", &self.ai),
            ("web transport", &self.web),
            ("overhead", &self.overhead),
            ("total", &self.total),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lane::tests::trace_of;

    #[test]
    fn rows_add_up_message_by_message() {
        let trace = trace_of(&[
            (Hop::AiConnecting, 10),
            (Hop::AiSent, 20),
            (Hop::AiAnswered, 1_020),
            (Hop::WebFirstSent, 1_030),
            (Hop::WebSent, 1_050),
            (Hop::WebAcked, 1_060),
        ]);
        let table = S1Table::of([("robot", &trace.stamps, 1_060)].into_iter());
        let p50 = table.rows().map(|(_, row)| row.summary.p50_ns.unwrap());
        assert_eq!(p50, [1_010, 30, 20, 1_060]);
        assert_eq!(table.total.share_percent, Some(100.0));
    }
}
