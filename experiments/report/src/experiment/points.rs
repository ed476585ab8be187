//! What varies between the points of an experiment: the axis, with a label for each point.

use std::collections::BTreeSet;

use steer_ground::units::Rate;
use steer_result::spec::Options;

/// The axis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Axis {
    /// What varies.
    pub(super) name: String,
    /// By point.
    pub(super) labels: Vec<String>,
}

impl Axis {
    /// The axis of points with these names and options. If only one option varies, and its values
    /// are quantities, they are the labels. Otherwise the names are.
    pub(super) fn of(points: &[(&str, &Options)]) -> Self {
        let options: Vec<&Options> = points.iter().map(|(_, options)| *options).collect();
        let names: BTreeSet<&str> = options.iter().flat_map(|all| all.names()).collect();
        let differs = |name: &&str| options.iter().any(|all| all.get(name) != options[0].get(name));
        let varied: Vec<&str> = names.into_iter().filter(differs).collect();
        if let [name] = varied[..] {
            let value = |options: &Options| match options.get(name)? {
                [value] if quantity(value).is_some() => Some(value.clone()),
                _ => None,
            };
            if let Some(labels) = options.iter().copied().map(value).collect() {
                return Self { name: name.replace('-', " "), labels };
            }
        }
        let labels = points.iter().map(|(name, _)| (*name).to_owned()).collect();
        Self { name: "point".to_owned(), labels }
    }

    /// The labels and `others`: sorted if all are quantities, otherwise the others last.
    pub(super) fn with<'a>(&'a self, others: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
        let mut labels: Vec<&str> = self.labels.iter().map(String::as_str).collect();
        for other in others {
            if !labels.contains(&other) {
                labels.push(other);
            }
        }
        if labels.iter().all(|label| quantity(label).is_some()) {
            labels.sort_by_key(|label| quantity(label));
        }
        labels
    }
}

/// The quantity of a label such as `8`, `4KiB` or `20Mbit`, to sort labels.
pub(super) fn quantity(label: &str) -> Option<u64> {
    let rate = || label.parse::<Rate>().ok()?.bits_per_s();
    parse_size::parse_size(label).ok().or_else(rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(points: &[(&str, &str)]) -> Axis {
        let given = |line: &str| -> Options {
            let words = line.split(' ').filter_map(|word| word.strip_prefix("--"));
            let options = words.filter_map(|word| word.split_once('='));
            let same = ("pairs".to_owned(), vec!["5".to_owned()]);
            let options = options.map(|(name, value)| (name.to_owned(), vec![value.to_owned()]));
            Options::recorded(options.chain([same]))
        };
        let options: Vec<Options> = points.iter().map(|(_, line)| given(line)).collect();
        let names = points.iter().map(|(name, _)| *name);
        Axis::of(&names.zip(&options).collect::<Vec<_>>())
    }

    #[test]
    fn one_option_that_varies_gives_the_labels() {
        let axis = axis(&[("a", "--long-flows=2"), ("b", "--long-flows=16")]);
        assert_eq!(
            (axis.name.as_str(), &axis.labels[..]),
            ("long flows", &["2", "16"].map(String::from)[..])
        );
        assert_eq!(axis.with(["8", "16", "1"].into_iter()), ["1", "2", "8", "16"]);
    }

    #[test]
    fn else_the_points_names_do() {
        for points in [
            [("none", ""), ("lossy", "--setup-peer=tc")],
            [
                ("small", "--long-flows=2 --rpc-size=4KiB"),
                ("large", "--long-flows=4 --rpc-size=8KiB"),
            ],
            [("one", "--long-flows=2"), ("two", "--long-flows=2 --long-flows=4")],
            [("one", "--long-flows=2"), ("two", "--long-flows=2")],
        ] {
            let axis = axis(&points);
            assert_eq!(
                (axis.name.as_str(), &axis.labels[..]),
                ("point", &points.map(|p| p.0.to_owned())[..])
            );
        }
    }

    #[test]
    fn sizes_and_rates_have_an_order() {
        let axis = axis(&[("x", "--rpc-size=4KiB"), ("y", "--rpc-size=64KiB")]);
        assert_eq!(axis.with(["16KiB"].into_iter()), ["4KiB", "16KiB", "64KiB"]);
        assert!(quantity("80Mbit") > quantity("20Mbit") && quantity("none").is_none());
    }
}
