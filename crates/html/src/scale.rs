//! Axes: from values to pixels, and the ticks between.

/// How an axis runs between its ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Bend {
    /// Evenly.
    Linear,
    /// By ratios.
    Log,
    /// By ratios on both sides of 0, evenly within about this of it: an inverse hyperbolic sine.
    Both(f64),
}

/// One axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    lo: f64,
    hi: f64,
    bend: Bend,
    /// Pixels of `lo` and `hi`.
    from: f64,
    to: f64,
}

impl Scale {
    /// A linear axis with exactly these ends.
    pub(crate) fn linear((lo, hi): (f64, f64), (from, to): (f64, f64)) -> Self {
        let hi = if hi > lo { hi } else { lo + 1.0 };
        Self { lo, hi, bend: Bend::Linear, from, to }
    }

    /// A logarithmic axis for times that are spread, from a little below `lo` to a little above
    /// `hi`, in ns. It has no place for 0 and less: they stand at its lower end, which is not
    /// below 1 ns.
    pub(crate) fn log((lo, hi): (f64, f64), pixels: (f64, f64)) -> Self {
        let lo = lo.max(1.0);
        let hi = hi.max(lo);
        let pad = (hi / lo).powf(0.04).max(1.05);
        Self { lo: lo / pad, hi: hi * pad, bend: Bend::Log, from: pixels.0, to: pixels.1 }
    }

    /// An axis of differences around 0, in ns, on which a margin is seen: beyond a few margins it
    /// runs by ratios.
    pub(crate) fn of_differences((lo, hi): (f64, f64), margin: f64, pixels: (f64, f64)) -> Self {
        const SEEN: f64 = 6.0;
        let margin = margin.max(1.0);
        let (lo, hi) = (lo.min(-1.3 * margin), hi.max(1.3 * margin));
        let far = hi.max(-lo) > SEEN * margin;
        // The margin keeps its room on the side that has nothing, too.
        let (lo, hi) = if far { (lo.min(-2.5 * margin), hi.max(2.5 * margin)) } else { (lo, hi) };
        let (below, above) = if far {
            (0.3 * lo.abs(), 0.3 * hi.abs())
        } else {
            (0.04 * (hi - lo), 0.04 * (hi - lo))
        };
        let linear = Self::linear((lo - below, hi + above), pixels);
        if far { Self { bend: Bend::Both(margin / 2.0), ..linear } } else { linear }
    }

    /// An axis for points that needs not begin at 0: logarithmic when the values are far apart.
    pub(crate) fn of_points((lo, hi): (f64, f64), pixels: (f64, f64)) -> Self {
        const FAR: f64 = 8.0;
        if lo > 0.0 && hi / lo >= FAR {
            return Self::log((lo, hi), pixels);
        }
        let pad = ((hi - lo) * 0.08).max(hi.abs() * 0.01).max(1.0);
        let (low, high) = (lo - pad, hi + pad);
        Self::linear((if lo >= 0.0 { low.max(0.0) } else { low }, high), pixels)
    }

    /// The pixels of its two ends.
    pub(crate) fn ends(&self) -> (f64, f64) {
        (self.from, self.to)
    }

    /// Whether it is logarithmic.
    pub(crate) fn is_log(&self) -> bool {
        self.bend == Bend::Log
    }

    /// Whether it is linear.
    pub(crate) fn is_linear(&self) -> bool {
        self.bend == Bend::Linear
    }

    /// Whether 0 is on it.
    pub(crate) fn has_zero(&self) -> bool {
        self.bend != Bend::Log && self.lo <= 0.0 && self.hi >= 0.0
    }

    /// Where a value stands; one beyond an end stands at the end.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let value = value.clamp(self.lo, self.hi);
        let bent = |value: f64| match self.bend {
            Bend::Linear => value,
            Bend::Log => value.ln(),
            Bend::Both(even) => (value / even).asinh(),
        };
        let part = (bent(value) - bent(self.lo)) / (bent(self.hi) - bent(self.lo));
        self.from + part * (self.to - self.from)
    }

    /// Whether a value is on it.
    pub(crate) fn holds(&self, value: f64) -> bool {
        (self.lo..=self.hi).contains(&value)
    }

    /// Round values along it, at least `apart` pixels from each other, in order.
    pub(crate) fn ticks(&self, apart: f64) -> Vec<f64> {
        if let Bend::Both(even) = self.bend {
            return self.around_zero(even, apart);
        }
        if self.bend == Bend::Log {
            const SETS: [&[f64]; 4] =
                [&[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0], &[1.0, 2.0, 5.0], &[1.0, 3.0], &[1.0]];
            for set in SETS {
                let ticks = self.of_decades(set);
                if ticks.len() >= 3 && self.least_distance(&ticks) >= apart {
                    return ticks;
                }
            }
        }
        let mut most = ((self.to - self.from).abs() / apart).floor().max(1.0);
        while most >= 1.0 {
            let ticks = self.round_steps(most);
            if self.least_distance(&ticks) >= apart {
                return ticks;
            }
            most -= 1.0;
        }
        // Many decades: not each has one.
        let decades = self.of_decades(&[1.0]);
        let every = (1..decades.len().max(1))
            .find(|every| {
                let some: Vec<f64> = decades.iter().copied().step_by(*every).collect();
                self.least_distance(&some) >= apart
            })
            .unwrap_or(1);
        decades.into_iter().step_by(every).collect()
    }

    /// 0, and outwards from it what has room.
    fn around_zero(&self, even: f64, apart: f64) -> Vec<f64> {
        let room = |ticks: &[f64], tick: f64| {
            ticks.iter().all(|other| (self.at(*other) - self.at(tick)).abs() >= apart)
        };
        let mut ticks = vec![0.0];
        // Whole decades come before what lies between them.
        for digits in [&[1.0][..], &[3.0][..]] {
            let mut decade = 10f64.powf(even.log10().floor());
            while decade <= self.hi.max(-self.lo) {
                for tick in digits.iter().flat_map(|digit| [digit * decade, -digit * decade]) {
                    if self.holds(tick) && room(&ticks, tick) {
                        ticks.push(tick);
                    }
                }
                decade *= 10.0;
            }
        }
        ticks.sort_by(f64::total_cmp);
        ticks
    }

    fn of_decades(&self, set: &[f64]) -> Vec<f64> {
        let mut decade = 10f64.powf(self.lo.log10().floor());
        let mut ticks = Vec::new();
        while decade <= self.hi {
            ticks.extend(set.iter().map(|digit| digit * decade).filter(|tick| self.holds(*tick)));
            decade *= 10.0;
        }
        ticks
    }

    /// At most `most` steps of 1, 2 or 5 times a power of ten.
    fn round_steps(&self, most: f64) -> Vec<f64> {
        let least = (self.hi - self.lo) / most;
        let decade = 10f64.powf(least.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .map(|digit| digit * decade)
            .find(|step| *step >= least * 0.999)
            .unwrap_or(10.0 * decade);
        let mut at = (self.lo / step - 1e-9).ceil();
        let mut ticks = Vec::new();
        while at * step <= self.hi + step * 1e-9 {
            ticks.push(at * step + 0.0);
            at += 1.0;
        }
        ticks
    }

    fn least_distance(&self, ticks: &[f64]) -> f64 {
        ticks
            .windows(2)
            .map(|pair| (self.at(pair[1]) - self.at(pair[0])).abs())
            .fold(f64::INFINITY, f64::min)
    }
}

/// Ticks of a time axis in ns with their texts: on a linear one all in one unit.
pub(crate) fn time_ticks(scale: &Scale, apart: f64) -> Vec<(f64, String)> {
    let ticks = scale.ticks(apart);
    let largest = ticks.iter().fold(0f64, |most, tick| most.max(tick.abs()));
    let text = |tick: f64| time_label(tick, if scale.is_linear() { largest } else { tick });
    ticks.into_iter().map(|tick| (tick, text(tick))).collect()
}

/// A round time in the unit that fits `size`.
fn time_label(ns: f64, size: f64) -> String {
    if size == 0.0 {
        return "0".to_owned();
    }
    let (unit, name) = match size.abs() {
        size if size >= 0.9995e9 => (1e9, "s"),
        size if size >= 0.9995e6 => (1e6, "ms"),
        size if size >= 0.9995e3 => (1e3, "µs"),
        _ => (1.0, "ns"),
    };
    format!("{}\u{a0}{name}", number(ns / unit))
}

/// A round number without what rounding left behind it.
pub(crate) fn number(value: f64) -> String {
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: &Scale) -> Vec<String> {
        time_ticks(scale, 60.0).into_iter().map(|(_, text)| text.replace('\u{a0}', " ")).collect()
    }

    #[test]
    fn ticks_are_round() {
        let px = (0.0, 600.0);
        let linear = labels(&Scale::linear((0.0, 20e9), px));
        assert_eq!(
            linear.join(", "),
            "0 s, 2 s, 4 s, 6 s, 8 s, 10 s, 12 s, 14 s, 16 s, 18 s, 20 s"
        );
        let decades = labels(&Scale::log((1e5, 1e9), px));
        assert_eq!(
            decades.join(", "),
            "100 µs, 300 µs, 1 ms, 3 ms, 10 ms, 30 ms, 100 ms, 300 ms, 1 s"
        );
        let narrow = labels(&Scale::log((10.4e6, 14.8e6), px));
        assert_eq!(narrow.join(", "), "10 ms, 11 ms, 12 ms, 13 ms, 14 ms, 15 ms");
    }

    #[test]
    fn ticks_do_not_touch_and_differ() {
        for (lo, hi) in [(1.0, 1e18), (1e6, 1e6), (10.4e6, 14.8e6), (0.3, 7.0), (1e3, 4e5)] {
            let scale = Scale::log((lo, hi), (0.0, 600.0));
            let ticks = scale.ticks(60.0);
            assert!(!ticks.is_empty(), "{lo} {hi}");
            assert!(scale.least_distance(&ticks) >= 60.0, "{lo} {hi}: {ticks:?}");
            let labels = labels(&scale);
            assert!(labels.windows(2).all(|pair| pair[0] != pair[1]), "{labels:?}");
        }
    }

    #[test]
    fn differences_are_seen_beside_the_margin() {
        let px = (0.0, 600.0);
        let near = Scale::of_differences((-2e5, 4e5), 1e7, px);
        assert!(near.is_linear());
        assert_eq!(labels(&near).join(", "), "-10 ms, -5 ms, 0 ms, 5 ms, 10 ms");
        let far = Scale::of_differences((-2e5, 1e9), 1e7, px);
        assert_eq!(labels(&far).join(", "), "-30 ms, -10 ms, 0, 10 ms, 30 ms, 100 ms, 300 ms, 1 s");
        assert!(far.at(1e7) - far.at(0.0) > 60.0);
    }

    #[test]
    fn no_value_stands_outside_or_nowhere() {
        for scale in [
            Scale::linear((0.0, 0.0), (10.0, 20.0)),
            Scale::log((0.0, 0.0), (10.0, 20.0)),
            Scale::log((-5.0, 1e9), (10.0, 20.0)),
            Scale::of_points((0.0, 0.0), (10.0, 20.0)),
            Scale::of_points((-7.0, 1e18), (10.0, 20.0)),
            Scale::of_differences((-7.0, 1e18), 1e7, (10.0, 20.0)),
            Scale::of_differences((0.0, 0.0), 0.0, (10.0, 20.0)),
        ] {
            for value in [-1e18, 0.0, 1.0, 1e18] {
                assert!((10.0..=20.0).contains(&scale.at(value)), "{scale:?} {value}");
            }
        }
    }
}
