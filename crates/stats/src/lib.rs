//! Summaries of samples and quantiles with the intervals that the samples allow.
//!
//! Quantiles are the inverse of the empirical distribution (nearest rank): the smallest value
//! `x` of the sample with `F(x) ≥ p`, so every quantile printed was really measured.
//!
//! And comparisons of conditions, each measured in several runs: exact tests, shifts with
//! distribution-free bounds, effect sizes, and how many runs it takes.

mod autocorrelation;
mod bimodality;
mod bootstrap;
mod breakdown;
mod cliff;
mod histogram;
mod permutation;
mod proportion;
mod quantile;
mod ranks;
mod runs_needed;
mod shares;
mod shift;
mod summary;
mod welch;

#[cfg(test)]
mod coverage_tests;

pub use autocorrelation::{
    Autocorrelation, MIN_AUTOCORRELATION_VALUES, effective_size, quantile_interval_effective,
};
pub use bimodality::{Evidence, Mode, Modes};
pub use bootstrap::{RunSample, nested_bootstrap};
pub use breakdown::{Breakdown, breakdown};
pub use cliff::CliffsDelta;
pub use histogram::{HIGHEST_NS, Histogram, HistogramError, HistogramQuantile};
pub use permutation::{Rearranged, permutation_test, sign_flip_test, smallest_p};
pub use proportion::{binomial_tail, proportion_interval, proportion_interval_of_runs};
pub use quantile::{
    Interval, interval_coverage, interval_ranks, lower_bound_rank, nearest_rank, quantile,
    quantile_interval, quantile_lower_bound, quantile_upper_bound, shortest_interval_ranks,
    upper_bound_rank,
};
pub use runs_needed::{PLANNED_POWER, fewest_runs, runs_needed};
pub use shares::shares;
pub use shift::{Shift, median};
pub use summary::Summary;
pub use welch::{Moments, Welch};
