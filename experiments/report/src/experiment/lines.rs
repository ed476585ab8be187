//! The lines of a metric: an arm's median at each point, and its ratio to the first point's median.

use indexmap::IndexSet;

use steer_result::Mode;
use steer_result::metrics::Metric;
use steer_stats::{Median, Ratio, median};

/// One arm's values.
pub(super) struct Line<'a> {
    pub(super) arm: &'a str,
    /// The points that have the metric.
    pub(super) values: Vec<Value<'a>>,
}

/// One arm at one point.
pub(super) struct Value<'a> {
    /// The point.
    pub(super) label: &'a str,
    /// In the stored unit.
    pub(super) median: Median,
    /// Ratio to the first point's median, which is 1 for that point itself. Absent if that median
    /// is zero or unknown.
    pub(super) ratio: Option<f64>,
    /// The ends of the ratio's 95 % interval; absent with fewer than four rounds.
    pub(super) reach: Option<(f64, f64)>,
}

/// The lines of a steering mode, one per arm.
pub(super) fn lines<'a>(points: &[(&'a str, &'a Mode)], metric: &Metric) -> Vec<Line<'a>> {
    let arms: IndexSet<&str> =
        points.iter().flat_map(|(_, mode)| mode.arms.keys().map(String::as_str)).collect();
    arms.into_iter().map(|arm| Line { arm, values: values(points, arm, metric) }).collect()
}

fn values<'a>(points: &[(&'a str, &'a Mode)], arm: &str, metric: &Metric) -> Vec<Value<'a>> {
    let samples = points.iter().filter_map(|(label, mode)| {
        let samples = &mode.arms.get(arm)?.get(metric.name)?.samples;
        let known: Vec<f64> = samples.iter().copied().collect::<Option<_>>()?;
        Some((*label, Median::of(samples)?, known))
    });
    let samples: Vec<_> = samples.collect();
    // All arms relate to the same point. If an arm lacks it, a later point must not replace it: the
    // plot names only one.
    let base = points.first().map(|(label, _)| *label);
    let first = samples.iter().find(|(label, ..)| Some(*label) == base);
    let first = first.map(|(_, _, known)| known.clone()).unwrap_or_default();
    let value = |(label, middle, known): (&'a str, Median, Vec<f64>)| {
        let ratio = median(&first).map(|first| middle.median / first).filter(|r| r.is_finite());
        // The first point's ratio to itself is 1, not a comparison of two runs.
        let compared = Some(label) != base;
        let reach = compared.then(|| Ratio::unpaired(&known, &first)).flatten();
        let reach = reach.map(|ratio| (ratio.lo, ratio.hi));
        Value { label, median: middle, ratio, reach }
    };
    samples.into_iter().map(value).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use steer_result::metrics::find;

    fn mode(samples: &[f64]) -> Mode {
        let summary = json!({"median": median(samples), "samples": samples});
        let arms = json!({"default": {"rpc_rate": summary}});
        serde_json::from_value(json!({"arms": arms, "ratios": {}})).unwrap()
    }

    #[test]
    fn a_line_relates_to_its_first_point() {
        let modes = [mode(&[2.0; 4]), mode(&[1.0, 1.0, 1.5, 1.5]), mode(&[4.0])];
        let points: Vec<_> = ["1", "2", "4"].into_iter().zip(&modes).collect();
        let lines = lines(&points, find("rpc_rate").unwrap());
        let found: Vec<_> =
            lines[0].values.iter().map(|value| (value.label, value.ratio, value.reach)).collect();
        let expected =
            [("1", Some(1.0), None), ("2", Some(0.625), Some((0.5, 0.75))), ("4", Some(2.0), None)];
        assert_eq!(found, expected);
    }

    #[test]
    fn nothing_relates_to_zero_and_what_is_not_there_is_left_out() {
        let modes = [mode(&[0.0; 4]), mode(&[1.0; 4])];
        let points: Vec<_> = ["1", "2"].into_iter().zip(&modes).collect();
        let found = lines(&points, find("rpc_rate").unwrap());
        assert!(found[0].values.iter().all(|value| value.ratio.is_none()));
        assert!(lines(&points, find("rpc_p99").unwrap())[0].values.is_empty());
    }

    #[test]
    fn nothing_relates_to_a_later_point_where_the_first_lacks_the_metric() {
        let lacking = json!({"arms": {"default": {}}, "ratios": {}});
        let modes = [serde_json::from_value(lacking).unwrap(), mode(&[1.0; 4]), mode(&[2.0; 4])];
        let points: Vec<_> = ["1", "2", "4"].into_iter().zip(&modes).collect();
        let found = lines(&points, find("rpc_rate").unwrap());
        assert_eq!(found[0].values.len(), 2);
        let related = |value: &Value<'_>| value.ratio.is_some() || value.reach.is_some();
        assert!(!found[0].values.iter().any(related));
    }
}
