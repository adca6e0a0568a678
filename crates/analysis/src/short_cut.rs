//! What can be said without a comparison: another transport can give back no more than there is
//! (METHOD 17).
//!
//! Three ways to KEEP, the strictest first:
//! 1. The whole communication's P99 is below the margin, for sure (its one-sided 95 % upper
//!    bound): nothing at all can gain more.
//! 2. The transport's P99 is: what lies between the programs, connections included. Another
//!    transport leaves the overhead inside them as it is. That holds while messages don't queue.
//! 3. The requirements are met with the link, and in every one of at least 30 messages (as many as
//!    they are worth, if they depend on each other) what is known to be the link's was below the
//!    margin. Too few messages for a P99 bound; so it is said for what part of all messages it is
//!    shown. A run has to know the AI service's own time for it, and its messages must not queue; a
//!    table that was published (S1) says neither, and that is said.

use crate::budget::Budget;
use crate::lane::{LaneReport, Row};
use crate::report::Verdict;
use crate::s1::S1Table;
use crate::trial::{Times, TrialFigures};
use crate::units::{duration, maybe};
use hopwatch_model::{Leg, Ns};
use hopwatch_stats::{Summary, upper_bound_rank};
use std::fmt::Write;

/// The default margin: 10 ms, a tenth of S1's 100 ms for communication (METHOD 17).
pub const DEFAULT_MARGIN_NS: Ns = 10_000_000;

/// Fewer messages show nothing of their tail: 29 have an upper bound of P90.
const FEWEST: usize = 30;

const KEEP: &str = "KEEP";
const HTTP: &str = "HTTP";

/// What a single run says on replacing HTTP: KEEP where the short cut applies to every lane, else
/// INCONCLUSIVE, since a single run compares nothing.
pub fn verdict_of_run(lanes: &[LaneReport], budget: &Budget, margin_ns: Ns) -> Verdict {
    if let Some(lane) = lanes.iter().find(|lane| lane.stability.unstable) {
        let reason = format!("lane {} was unstable: {}", lane.name, lane.stability.reason);
        return Verdict { decision: "INCONCLUSIVE", reason };
    }
    let kept: Vec<Result<String, String>> =
        lanes.iter().map(|lane| of_lane(lane, budget, margin_ns)).collect();
    let name = |i: usize| {
        if lanes.len() > 1 { format!("lane {}: ", lanes[i].name) } else { String::new() }
    };
    if let Some((i, Err(why))) = kept.iter().enumerate().find(|(_, kept)| kept.is_err()) {
        let reason = format!(
            "{}a single run compares no transports: it shows where the time goes, and nothing \
             here says what another transport would change; and without a comparison HTTP is kept \
             only where it can't matter: {why}",
            name(i)
        );
        return Verdict { decision: "INCONCLUSIVE", reason };
    }
    let said: Vec<String> = kept
        .into_iter()
        .enumerate()
        .filter_map(|(i, kept)| Some(format!("{}{}", name(i), kept.ok()?)))
        .collect();
    if said.is_empty() {
        let reason = "nothing was measured".to_owned();
        return Verdict { decision: "INCONCLUSIVE", reason };
    }
    Verdict { decision: KEEP, reason: said.join("; ") }
}

fn of_lane(lane: &LaneReport, budget: &Budget, margin_ns: Ns) -> Result<String, String> {
    let ledger = &lane.ledger;
    if !ledger.reconciles {
        return Err("the account doesn't add up".to_owned());
    }
    let failed: u64 = ledger.ai_failed.values().chain(ledger.web_failed.values()).sum();
    let lost = failed + ledger.queue_dropped + ledger.outcome_unknown + ledger.abandoned;
    if lost > 0 {
        return Err(format!("{lost} messages were lost behind the take, which takes forever"));
    }
    let link = link_name(&lane.transport);
    if link != HTTP {
        return Err(format!("its link is {link}, and nothing is said on HTTP"));
    }
    let told = !lane.legs.contains_key(&Leg::AiRoundTrip);
    let (all, transport) = (&lane.classes[&Row::Communication], &lane.classes[&Row::Transport]);
    let margin = maybe(Some(margin_ns));
    let below = |s: &Summary| s.p99_upper_ns.filter(|ns| told && *ns < margin_ns);
    if let Some(bound) = below(all) {
        return Ok(format!(
            "the whole communication's P99 is at most {} (95 %, n = {}), below the margin of \
             {margin}: no transport can give back more than that",
            maybe(Some(bound)),
            all.n
        ));
    }
    let queued = lane.legs.get(&Leg::Queue).and_then(|f| f.summary.p99_ns).unwrap_or(0);
    if let Some(bound) = below(transport).filter(|_| queued < margin_ns) {
        return Ok(format!(
            "the transport's P99 is at most {} (95 %, n = {}), below the margin of {margin}: that \
             is all that another transport could give back; the rest of the communication, P50 \
             {} in all, is overhead inside the programs",
            maybe(Some(bound)),
            transport.n,
            maybe(all.p50_ns)
        ));
    }
    if !told {
        return Err(
            "what of the AI call is transport isn't known, since that service doesn't tell \
                    its own time: let it send Server-Timing"
                .to_owned(),
        );
    }
    if queued >= margin_ns {
        return Err(format!(
            "messages queue (P99 {}): a link that answers sooner shortens the queue, too, by more \
             than its own time",
            maybe(Some(queued))
        ));
    }
    required(&Facts {
        communication: all.mean_ns,
        total: &lane.classes[&Row::Total],
        http: transport,
        http_name: "the transport",
        overhead: lane.classes[&Row::Overhead].mean_ns,
        ai_untold: None,
        budget,
        margin_ns,
    })
}

/// HTTP, or the link's own name: `udp`.
fn link_name(transport: &str) -> &str {
    let link = transport.split_whitespace().next().unwrap_or(transport);
    if link.is_empty() || link.to_ascii_lowercase().starts_with("http") { HTTP } else { link }
}

/// What a table of round trips, as S1 published, says: AI call, web call, the rest, and total.
///
/// It holds no messages, so there are only its figures. Whatever of the AI call is transport isn't
/// known; the web call is all transport and the web service's own time.
pub fn verdict_of_table(table: &S1Table, budget: &Budget, margin_ns: Ns) -> Verdict {
    let [ai, web, rest] = [&table.ai, &table.web, &table.overhead].map(|row| &row.summary);
    let kept = required(&Facts {
        communication: web.mean_ns.zip(rest.mean_ns).map(|(web, rest)| web + rest),
        total: &table.total.summary,
        http: web,
        http_name: "the web call",
        overhead: rest.mean_ns,
        ai_untold: ai.mean_ns,
        budget,
        margin_ns,
    });
    match kept {
        Ok(reason) => Verdict { decision: KEEP, reason },
        Err(reason) => Verdict { decision: "INCONCLUSIVE", reason },
    }
}

struct Facts<'a> {
    /// Its mean.
    communication: Option<f64>,
    total: &'a Summary,
    /// What is known to be HTTP's.
    http: &'a Summary,
    http_name: &'static str,
    /// Its mean.
    overhead: Option<f64>,
    /// The mean AI call, when the service doesn't tell its own time.
    ai_untold: Option<f64>,
    budget: &'a Budget,
    margin_ns: Ns,
}

/// The third way.
#[expect(clippy::cast_precision_loss, reason = "limits are far below 2⁵³ ns")]
fn required(facts: &Facts<'_>) -> Result<String, String> {
    let Facts { total, http, budget, .. } = facts;
    let margin = maybe(Some(facts.margin_ns));
    let (Some(communication), Some(mean), Some(p99), Some(most), Some(of_http)) =
        (facts.communication, total.mean_ns, total.p99_ns, http.max_ns, http.mean_ns)
    else {
        return Err("there is no message".to_owned());
    };
    // Messages that depend on each other are worth fewer (METHOD 12).
    let worth = http.n_eff.min(total.n_eff);
    let worth_said = if worth < http.n { format!(", worth {worth}") } else { String::new() };
    if worth < FEWEST {
        let n = total.n;
        return Err(format!("n = {n}{worth_said}: fewer than {FEWEST} messages show no tail"));
    }
    let limits = [
        ("mean communication", communication, budget.communication_ns),
        ("mean total", mean, budget.total_ns),
        ("P99 total", p99 as f64, budget.p99_total_ns),
    ];
    if let Some((what, ns, limit)) = limits.iter().find(|(_, ns, limit)| *ns >= *limit as f64) {
        let (ns, limit) = (duration(*ns), maybe(Some(*limit)));
        return Err(format!(
            "{what} is {ns}, the requirement {limit}: whether HTTP is why is open"
        ));
    }
    if most >= facts.margin_ns {
        return Err(format!(
            "{} took up to {} of n = {}, beyond the margin of {margin}: another transport may \
             gain that",
            facts.http_name,
            maybe(Some(most)),
            http.n
        ));
    }
    // All n below: the part p of all messages that are has pⁿ ≥ 5 %.
    let least = 100.0 * 0.05_f64.powf(1.0 / worth as f64);
    let bound = match total.p99_upper_ns {
        Some(bound) => format!("at most {}", maybe(Some(bound))),
        None if upper_bound_rank(total.n, 0.99, 0.95).is_some() => {
            format!("no upper bound at n_eff = {}", total.n_eff)
        }
        None => format!("no upper bound at n = {}", total.n),
    };
    let mut reason = format!(
        "the requirements are met with HTTP: communication {} < {}, total {} < {} (P99 {}, \
         {bound}). All that is known to be HTTP's is {}: {} on average ({:.2} % of the total), {} \
         at most, below the margin of {margin} in all {} messages{worth_said}, so in at least {least:.1} % of \
         those to come (95 %); nothing is said of its P99",
        duration(communication),
        maybe(Some(budget.communication_ns)),
        duration(mean),
        maybe(Some(budget.total_ns)),
        maybe(Some(p99)),
        facts.http_name,
        duration(of_http),
        100.0 * of_http / mean,
        maybe(Some(most)),
        http.n,
    );
    if let Some(overhead) = facts.overhead {
        let _infallible = write!(
            reason,
            ". {} of the communication are overhead inside the programs, which another transport \
             leaves as it is",
            duration(overhead)
        );
    }
    if let Some(ai) = facts.ai_untold {
        let _infallible = write!(
            reason,
            ". What of the AI call's {} is transport isn't known, since that service doesn't tell \
             its own time: let it send Server-Timing, or compare links",
            duration(ai)
        );
    }
    Ok(reason)
}

/// The one-sided 95 % upper bound of a P99 over `of` messages, of which those that didn't come
/// took forever: +∞; `None`: so few have none.
#[expect(clippy::cast_precision_loss, reason = "a time in ns is far below 2⁵³")]
fn upper_p99(times: &Times, of: u64) -> Option<f64> {
    let sample = times.over(of);
    let rank = upper_bound_rank(sample.n_eff, 0.99, 0.95)?;
    // As in quantile_interval_effective: the last of its block of like values.
    let at = (rank * sample.of).div_ceil(sample.n_eff);
    Some(sample.sorted.get(at - 1).map_or(f64::INFINITY, |ns| *ns as f64))
}

/// Of all trials of the arms that use the baseline's link, by their names: why nothing can gain as
/// much as the margin, in every one of them.
pub(crate) fn of_trials(trials: &[&TrialFigures], arms: &[&str], margin_ns: Ns) -> Option<String> {
    let worst = |of: fn(&TrialFigures) -> &Times| -> Option<f64> {
        let bounds: Option<Vec<f64>> =
            trials.iter().map(|trial| upper_p99(of(trial), trial.counts.reached)).collect();
        bounds?.into_iter().max_by(f64::total_cmp)
    };
    let calm = trials.iter().all(|trial| trial.unstable.is_none() && trial.told);
    let below = |bound: &f64| calm && *bound < crate::contrast::float(margin_ns);
    let (n, margin, arms) = (trials.len(), maybe(Some(margin_ns)), arms.join(", "));
    if let Some(bound) = worst(|trial| &trial.communication).filter(below) {
        return Some(format!(
            "the whole communication's P99 is at most {} (95 %) in each of {n} trials of \
             {arms}, below the margin of {margin}: no transport can give back more than that",
            duration(bound)
        ));
    }
    let bound = worst(|trial| &trial.transport).filter(below)?;
    let queue = trials.iter().all(|trial| trial.queue_p99_ns < margin_ns);
    queue.then(|| {
        format!(
            "the transport's P99 is at most {} (95 %) in each of {n} trials of {arms}, below the \
             margin of {margin}: that is all that another transport could give back",
            duration(bound)
        )
    })
}

#[cfg(test)]
#[path = "short_cut_tests.rs"]
mod tests;
