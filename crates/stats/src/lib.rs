//! Summaries of samples and quantiles with the intervals that the samples allow.
//!
//! Quantiles are the inverse of the empirical distribution (nearest rank): the smallest value
//! `x` of the sample with `F(x) ≥ p`, so every quantile printed was really measured.

mod autocorrelation;
mod bimodality;
mod breakdown;
mod histogram;
mod proportion;
mod quantile;
mod shares;
mod summary;

#[cfg(test)]
mod coverage_tests;

pub use autocorrelation::{
    Autocorrelation, MIN_AUTOCORRELATION_VALUES, effective_size, quantile_interval_effective,
};
pub use bimodality::{Evidence, Mode, Modes};
pub use breakdown::{Breakdown, breakdown};
pub use histogram::{HIGHEST_NS, Histogram, HistogramError, HistogramQuantile};
pub use proportion::proportion_interval;
pub use quantile::{
    Interval, interval_coverage, interval_ranks, lower_bound_rank, nearest_rank, quantile,
    quantile_interval, quantile_lower_bound, quantile_upper_bound, shortest_interval_ranks,
    upper_bound_rank,
};
pub use shares::shares;
pub use summary::Summary;
