//! What papers state about our experiments' questions: `data/paper-marks.toml`.

use std::sync::LazyLock;

use serde::Deserialize;

/// Everything stated, in the order of the file.
static STATEMENTS: LazyLock<Vec<Statement>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        statement: Vec<Statement>,
    }
    let text = include_str!("../../../data/paper-marks.toml");
    // A test reads the whole file, so this cannot fail at run time.
    toml::from_str(text).map_or_else(|_| Vec::new(), |file: File| file.statement)
});

/// A passage and the values in it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Statement {
    experiment: String,
    /// Paper and place.
    pub(super) source: String,
    /// The passage, word for word.
    pub(super) quote: String,
    pub(super) marks: Vec<Mark>,
    /// The point that the ratios relate to.
    #[serde(default)]
    pub(super) of: Option<String>,
    /// The metrics that are the same quantity.
    #[serde(default)]
    metrics: Vec<String>,
}

/// One value.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Mark {
    /// The label of the point.
    pub(super) at: String,
    /// The value as stated.
    #[serde(default)]
    pub(super) value: Option<String>,
    /// Its ratio to the value at `of`.
    #[serde(default)]
    pub(super) ratio: Option<f64>,
}

impl Statement {
    /// The labels and ratios to draw. The point that all relate to comes first.
    pub(super) fn drawn(&self) -> Vec<(&str, f64)> {
        let Some(of) = &self.of else { return Vec::new() };
        let ratios = self.marks.iter().filter_map(|mark| Some((mark.at.as_str(), mark.ratio?)));
        [(of.as_str(), 1.0)].into_iter().chain(ratios).collect()
    }

    /// Whether it may be drawn beside a metric's ratios to a point: it must be about the metric,
    /// and relate to the same point. Ratios to different points cannot share an axis.
    pub(super) fn is_beside(&self, metric: &str, point: &str) -> bool {
        self.of.as_deref() == Some(point) && self.metrics.iter().any(|name| name == metric)
    }
}

impl Mark {
    /// The value and the ratio in words, if they are stated.
    pub(super) fn words(&self, of: Option<&str>) -> String {
        let ratio =
            self.ratio.zip(of).map(|(ratio, of)| format!("{ratio} times the value at {of}"));
        [self.value.clone(), ratio].into_iter().flatten().collect::<Vec<_>>().join("; ")
    }
}

/// What is stated about an experiment.
pub(super) fn of(experiment: &str) -> Vec<&'static Statement> {
    STATEMENTS.iter().filter(|statement| statement.experiment == experiment).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::points::quantity;
    use super::*;
    use steer_result::metrics;
    use steer_result::spec::Spec;

    const SPECS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../specs");

    #[test]
    fn every_statement_is_of_an_experiment_and_of_metrics_that_exist() {
        assert!(STATEMENTS.len() > 5, "the file cannot be read");
        for statement in STATEMENTS.iter() {
            let Statement { experiment, quote, metrics, of, .. } = statement;
            let path = Path::new(SPECS).join(experiment).with_extension("toml");
            let spec = Spec::read(&path).unwrap();
            let paper = statement.source.split_once(", ").unwrap().0;
            assert!(paper == "host-network-stack paper", "{paper} is no paper of ARCHITECTURE.md");
            for name in metrics {
                assert!(metrics::find(name).is_some(), "{experiment}: {name}");
            }
            let related = statement.marks.iter().all(|mark| mark.ratio.is_some() == of.is_some());
            assert!(related && of.is_some() != metrics.is_empty(), "{experiment}: {quote}");
            let labels = statement.marks.iter().map(|mark| &mark.at).chain(of);
            for label in labels.filter(|label| quantity(label).is_none()) {
                let known = spec.points.iter().any(|point| point.name == *label);
                assert!(known, "{experiment} has no point {label}");
            }
        }
    }

    #[test]
    fn a_ratio_stands_beside_ratios_to_the_same_point_alone() {
        let incast = of("incast")[0];
        assert!(incast.is_beside("throughput_per_core", "1"));
        assert!(!incast.is_beside("throughput_per_core", "4"), "not where 1 was not measured");
        assert!(!incast.is_beside("rpc_p99", "1"));
    }

    /// A ratio is in its quote, by itself or as a loss in percent, and so is the number of a value.
    #[test]
    fn every_value_is_quoted() {
        for Statement { experiment, quote, marks, .. } in STATEMENTS.iter() {
            for Mark { value, ratio, .. } in marks {
                assert!(value.is_some() || ratio.is_some(), "{experiment}: a mark says nothing");
                let stated = |ratio: &f64| {
                    let percent = format!("{:.0}%", 100.0 * (1.0 - ratio));
                    quote.contains(&percent) || quote.contains(&ratio.to_string())
                };
                assert!(ratio.iter().all(stated), "{experiment}: {ratio:?} is not in {quote:?}");
                let number = value.iter().map(|value| value.split(' ').next().unwrap());
                for number in number {
                    assert!(quote.contains(number), "{experiment}: {number} is not in {quote:?}");
                }
            }
        }
    }
}
