//! Summaries of samples and quantiles with the intervals that the samples allow.
//!
//! Quantiles are the inverse of the empirical distribution (nearest rank): the smallest value
//! `x` of the sample with `F(x) ≥ p`, so every quantile printed was really measured.

mod quantile;
mod summary;

pub use quantile::{Interval, interval_ranks, nearest_rank, quantile, quantile_interval};
pub use summary::Summary;
