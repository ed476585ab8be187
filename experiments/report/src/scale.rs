//! Scales: from values to pixels, with round numbers as labels.

/// A straight scale.
#[derive(Debug, Clone, Copy)]
pub(super) struct Linear {
    /// Values at the two ends.
    pub(super) domain: (f64, f64),
    /// Pixels at the two ends.
    pub(super) range: (f64, f64),
}

impl Linear {
    /// The pixel of a value. Values beyond the ends get pixels beyond the ends.
    pub(super) fn at(self, value: f64) -> f64 {
        let (low, high) = self.domain;
        let share = if high > low { (value - low) / (high - low) } else { 0.0 };
        self.range.0 + share * (self.range.1 - self.range.0)
    }
}

impl Linear {
    /// Round values from 0 on, with their labels, for a scale that begins at 0.
    pub(super) fn ticks(self) -> Vec<(f64, String)> {
        /// As many ticks as fit into a small plot.
        const MOST: f64 = 6.0;
        let most = self.domain.1;
        if most <= 0.0 {
            return vec![(0.0, "0".to_owned())];
        }
        let decade = 10f64.powf((most / MOST).log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * decade);
        let step = steps.into_iter().find(|step| most / step <= MOST).unwrap_or(most);
        let decimals = (-step.log10().floor()).max(0.0) as usize;
        let tick = |nth| {
            let value = f64::from(nth) * step;
            (value, format!("{value:.decimals$}"))
        };
        (0..=(most / step) as u32).map(tick).collect()
    }
}

/// A logarithmic scale over positive values.
#[derive(Debug, Clone, Copy)]
pub(super) struct Log {
    domain: (f64, f64),
    exponents: Linear,
}

impl Log {
    /// A scale from `low` to `high`, both above 0.
    pub(super) fn new(low: f64, high: f64, range: (f64, f64)) -> Self {
        let exponents = Linear { domain: (low.log10(), high.log10()), range };
        Self { domain: (low, high), exponents }
    }

    /// The pixel of a value. Values beyond the ends, also zero, land on the ends.
    pub(super) fn at(self, value: f64) -> f64 {
        self.exponents.at(value.clamp(self.domain.0, self.domain.1).log10())
    }

    /// Whether a value lies on the scale.
    pub(super) fn holds(self, value: f64) -> bool {
        (self.domain.0..=self.domain.1).contains(&value)
    }

    /// The values 1, 2 and 5 times a power of ten on the scale; only the powers of ten if not all
    /// labels fit.
    pub(super) fn ticks(self) -> Vec<f64> {
        /// Pixels a label takes, on average.
        const LABEL: f64 = 36.0;
        let (low, high) = self.domain;
        let decades = low.log10().floor() as i32..=high.log10().ceil() as i32;
        let ticks = |steps: &[f64]| -> Vec<f64> {
            let all = decades.clone().flat_map(|d| steps.iter().map(move |s| s * 10f64.powi(d)));
            all.filter(|&tick| self.holds(tick)).collect()
        };
        let fine = ticks(&[1.0, 2.0, 5.0]);
        let (left, right) = self.exponents.range;
        if fine.len() as f64 * LABEL <= right - left { fine } else { ticks(&[1.0]) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_meet_their_ends() {
        let linear = Linear { domain: (0.0, 4.0), range: (100.0, 0.0) };
        assert_eq!((linear.at(0.0), linear.at(1.0), linear.at(4.0)), (100.0, 75.0, 0.0));
        let log = Log::new(1.0, 100.0, (0.0, 10.0));
        assert_eq!((log.at(1.0), log.at(10.0), log.at(1e9), log.at(0.0)), (0.0, 5.0, 10.0, 0.0));
        let flat = Linear { domain: (3.0, 3.0), range: (0.0, 9.0) };
        assert_eq!(flat.at(3.0), 0.0, "a scale without extent divides by nothing");
    }

    #[test]
    fn straight_ticks_begin_at_zero() {
        let labels = |most| -> Vec<String> {
            let scale = Linear { domain: (0.0, most), range: (0.0, 1.0) };
            scale.ticks().into_iter().map(|(_, label)| label).collect()
        };
        assert_eq!(labels(1.1), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(29.0), ["0", "5", "10", "15", "20", "25"]);
        assert_eq!(labels(6.58), ["0", "2", "4", "6"]);
        assert_eq!(labels(0.0), ["0"]);
    }

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(Log::new(0.5, 4.0, (0.0, 280.0)).ticks(), [0.5, 1.0, 2.0]);
        assert_eq!(Log::new(1.0, 1e3, (0.0, 280.0)).ticks(), [1.0, 10.0, 100.0, 1e3]);
    }
}
