//! Welch's comparison of two means: for whoever expects it. Verdicts rest on the exact tests.

use crate::ranks::float;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Count, mean and standard deviation (n − 1) of one side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// How many values.
    pub n: usize,
    /// Their mean.
    pub mean: f64,
    /// Their sample standard deviation.
    pub sd: f64,
}

impl Moments {
    /// Of values; `None` for fewer than two, and when one isn't finite.
    pub fn of(values: &[f64]) -> Option<Self> {
        let n = values.len();
        if n < 2 || values.iter().any(|x| !x.is_finite()) {
            return None;
        }
        let mean = values.iter().sum::<f64>() / float(n);
        let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
        Some(Self { n, mean, sd: (squares / float(n - 1)).sqrt() })
    }

    fn variance_of_mean(&self) -> f64 {
        self.sd * self.sd / float(self.n)
    }
}

/// Student's t for two means of unlike spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Welch {
    /// mean a − mean b.
    pub difference: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// difference ÷ standard error.
    pub t: f64,
    /// Degrees of freedom (F. E. Satterthwaite, 1946).
    pub df: f64,
    /// Two-sided.
    pub p: f64,
    /// 95 % interval of the difference.
    pub ci: (f64, f64),
}

impl Welch {
    /// By B. L. Welch, Biometrika 34 (1947). Assumes that both means are about normal: few values
    /// with outliers aren't, and of two modes a mean tells nothing. `None` for fewer than two
    /// values on a side, or when neither side varies.
    pub fn of(a: &Moments, b: &Moments) -> Option<Self> {
        let (va, vb) = (a.variance_of_mean(), b.variance_of_mean());
        let variance = va + vb;
        if a.n < 2 || b.n < 2 || !variance.is_finite() || variance <= 0.0 {
            return None;
        }
        let df = variance * variance / (va * va / float(a.n - 1) + vb * vb / float(b.n - 1));
        let student = StudentsT::new(0.0, 1.0, df).ok()?;
        let (difference, standard_error) = (a.mean - b.mean, variance.sqrt());
        let t = difference / standard_error;
        let half = student.inverse_cdf(0.975) * standard_error;
        Some(Self {
            difference,
            standard_error,
            t,
            df,
            p: (2.0 * student.cdf(-t.abs())).min(1.0),
            ci: (difference - half, difference + half),
        })
    }

    /// The p of "the difference is not within ±`margin`", the larger one of two one-sided tests
    /// (D. J. Schuirmann, J. Pharmacokin. Biopharm. 15, 1987): below 0.05, it is shown to be
    /// within. `None` for a margin that isn't positive.
    pub fn equivalence_p(&self, margin: f64) -> Option<f64> {
        let student = StudentsT::new(0.0, 1.0, self.df).ok().filter(|_| margin > 0.0)?;
        let above = student.cdf(-(self.difference + margin) / self.standard_error);
        let below = student.cdf((self.difference - margin) / self.standard_error);
        Some(above.max(below))
    }

    /// What it says of whether there is a difference. Never that there is none.
    pub fn said(&self) -> &'static str {
        if self.p <= 0.05 { "a difference" } else { "no difference shown" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SEEDS S3: two single runs said "32 threads make Python 23 % faster". Five runs of each say
    /// otherwise. The inputs are rounded to 0.01 Hz, so t is known to ± 0.01.
    #[test]
    fn thirty_two_threads_are_not_faster() {
        let four = Moments { n: 5, mean: 7.62, sd: 1.19 };
        let many = Moments { n: 5, mean: 7.95, sd: 2.52 };
        let welch = Welch::of(&many, &four).unwrap();
        assert!((welch.difference - 0.33).abs() < 1e-9);
        assert!((welch.t - 0.27).abs() < 0.01, "{welch:?}");
        assert!((welch.df - 5.7).abs() < 0.05, "{welch:?}");
        assert_eq!(welch.said(), "no difference shown");
        // Nor is it shown that they are alike: the interval reaches from −2.8 to 3.4 Hz.
        assert!(welch.ci.0 < -2.7 && welch.ci.1 > 3.4, "{welch:?}");
        assert!(welch.equivalence_p(1.0).unwrap() > 0.2, "{welch:?}");
    }

    /// Variances of the means 1/2 and 7/3: t = −4 / √(17/6), df = (17/6)² / (1/16 + 49/45).
    #[test]
    fn worked_out_by_hand() {
        let a = Moments::of(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        let b = Moments::of(&[2.0, 4.0, 6.0, 8.0, 10.0, 12.0]).unwrap();
        let welch = Welch::of(&a, &b).unwrap();
        assert!((welch.t + 2.376_354).abs() < 1e-6, "{welch:?}");
        assert!((welch.df - 6.972_256).abs() < 1e-6, "{welch:?}");
        assert!((welch.p - 0.0493).abs() < 5e-4, "{welch:?}");
        assert_eq!(welch.said(), "a difference");
    }

    #[test]
    fn alike_by_two_one_sided_tests() {
        let a = Moments { n: 10, mean: 10.0, sd: 0.1 };
        let b = Moments { n: 10, mean: 10.05, sd: 0.1 };
        let welch = Welch::of(&a, &b).unwrap();
        assert!(welch.equivalence_p(1.0).unwrap() < 1e-6);
        assert!(welch.equivalence_p(0.06).unwrap() > 0.05);
        assert_eq!(welch.equivalence_p(0.0), None);
    }

    #[test]
    fn too_little_to_tell() {
        assert_eq!(Moments::of(&[1.0]), None);
        assert_eq!(Moments::of(&[1.0, f64::INFINITY]), None);
        let same = Moments::of(&[2.0, 2.0]).unwrap();
        assert_eq!(Welch::of(&same, &same), None);
    }
}
