//! How evenly the long flows shared the bandwidth: the share of flows up to a rate, per arm, all
//! rounds together (the million-client paper's figure 5).

use maud::{Markup, html};

use super::curves::{Axes, curves, of_arms};
use steer_result::AbResult;
use steer_traffic::client::ClientReport;

const AXES: Axes<'_> = Axes {
    label: "Share of long flows up to a rate",
    values: "rate of a long flow (logarithmic); the steeper, the more even",
    value: rate,
    height: |share| share,
    highest: 1.0,
    shares: &[(0.0, "0 %"), (0.25, "25 %"), (0.5, "50 %"), (0.75, "75 %"), (1.0, "100 %")],
};

/// The curves of a steering mode with their heading, if there are several flows.
pub(super) fn rates(result: &AbResult, mode: &str) -> Markup {
    let arms = of_arms(result, mode, |reports| Ok(points(&reports)));
    html! {
        h3 { "Rates of the long flows" }
        @match arms {
            Ok(arms) if arms.is_empty() => p.note { "There was only one long flow, or none." },
            Ok(arms) => {
                p.note { "Share of the long flows up to a rate, all rounds together." }
                (curves(&arms, &AXES))
            }
            Err(error) => p.note { "The rates cannot be drawn: " (error) },
        }
    }
}

/// The curve steps up at the rate of each flow. It begins above 0 if some flows moved nothing.
fn points(reports: &[&ClientReport]) -> Vec<(f64, f64)> {
    let rates_of = |report: &&ClientReport| -> Vec<f64> {
        let several = report.long.as_ref().filter(|long| long.per_flow_bytes.len() > 1);
        let flows = several.into_iter().flat_map(|long| &long.per_flow_bytes);
        flows.map(|&bytes| bytes as f64 / report.duration_s).collect()
    };
    let mut rates: Vec<f64> = reports.iter().flat_map(rates_of).collect();
    rates.sort_by(f64::total_cmp);
    let share = |flows: usize| flows as f64 / rates.len() as f64;
    let step = |(nth, &rate): (usize, &f64)| [(rate, share(nth)), (rate, share(nth + 1))];
    rates.iter().enumerate().filter(|(_, rate)| **rate > 0.0).flat_map(step).collect()
}

/// Bytes per second in the unit that suits them.
fn rate(bytes_per_s: f64) -> String {
    let (value, unit) = match bytes_per_s {
        rate if rate < 1e3 => (rate, "B/s"),
        rate if rate < 1e6 => (rate / 1e3, "kB/s"),
        rate if rate < 1e9 => (rate / 1e6, "MB/s"),
        rate => (rate / 1e9, "GB/s"),
    };
    format!("{value:.0} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn report(bytes: &[u64]) -> ClientReport {
        let long = json!({
            "flows": bytes.len(), "bytes": 0, "bytes_per_s": 0.0, "per_flow_bytes": bytes,
        });
        let report = json!({
            "version": 1, "duration_s": 2.0, "long": long, "rpc": null, "stages": [], "errors": [],
        });
        serde_json::from_value(report).unwrap()
    }

    #[test]
    fn every_flow_is_a_step() {
        let reports = [report(&[20, 0]), report(&[8, 20])];
        let steps = [(4.0, 0.25), (4.0, 0.5), (10.0, 0.5), (10.0, 0.75), (10.0, 0.75), (10.0, 1.0)];
        assert_eq!(points(&reports.each_ref()), steps);
        assert_eq!(points(&[&report(&[8])]), []);
        assert_eq!(points(&[&report(&[0, 0])]), []);
    }

    #[test]
    fn rates_pick_their_unit() {
        let shown = [5.0, 2e3, 5e4, 1e6, 2e9].map(rate);
        assert_eq!(shown, ["5 B/s", "2 kB/s", "50 kB/s", "1 MB/s", "2 GB/s"]);
    }
}
