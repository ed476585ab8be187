//! A row in the page's tables: what the figure is, its value under each arm, and the comparison.

use std::fmt;

use serde::Deserialize;
use steer_result::metrics::Better;
use steer_stats::Ratio;

/// A figure.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Row {
    /// Which of several cases; empty if there is only one.
    pub(super) case: String,
    /// Steering mode; empty if it does not matter.
    pub(super) steering: String,
    /// What the figure is, with its unit.
    pub(super) figure: String,
    /// By arm, in the order to show them.
    pub(super) values: Vec<(String, String)>,
    /// By pair of arms, like `scx_steer / default`.
    pub(super) ratios: Vec<(String, Outcome)>,
}

/// A ratio of two arms, and what it shows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Outcome {
    pub(super) ratio: Ratio,
    pub(super) verdict: Verdict,
}

/// Which side is better.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Side {
    Higher,
    Lower,
}

impl From<Side> for Better {
    fn from(side: Side) -> Self {
        match side {
            Side::Higher => Self::Higher,
            Side::Lower => Self::Lower,
        }
    }
}

/// What a ratio shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Better,
    Worse,
    /// The interval includes 1.
    NoDifference,
}

impl Outcome {
    pub(super) fn of(ratio: Ratio, better: Better) -> Self {
        let verdict = match ratio.excludes_one() {
            false => Verdict::NoDifference,
            true if (ratio.median > 1.0) == (better == Better::Higher) => Verdict::Better,
            true => Verdict::Worse,
        };
        Self { ratio, verdict }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.ratio, self.verdict)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::NoDifference => "no difference shown",
        })
    }
}

/// A table of rows, without columns that no row fills.
pub(super) fn table(rows: &[Row]) -> String {
    let mut arms: Vec<&str> = Vec::new();
    let mut pairs: Vec<&str> = Vec::new();
    for row in rows {
        let of = row.values.iter().map(|(arm, _)| arm.as_str());
        arms.extend(of.filter(|arm| !arms.contains(arm)).collect::<Vec<_>>());
        let of = row.ratios.iter().map(|(pair, _)| pair.as_str());
        pairs.extend(of.filter(|pair| !pairs.contains(pair)).collect::<Vec<_>>());
    }
    let has_case = rows.iter().any(|row| !row.case.is_empty());
    let has_steering = rows.iter().any(|row| !row.steering.is_empty());
    let named = [(has_case, "case"), (has_steering, "steering")];
    let named = named.into_iter().filter_map(|(has, name)| has.then_some(name));
    let header: Vec<&str> =
        named.chain(["figure"]).chain(arms.iter().copied()).chain(pairs.iter().copied()).collect();
    let mut text = line(&header) + &line(&vec!["---"; header.len()]);
    for row in rows {
        let mut cells: Vec<String> = Vec::new();
        cells.extend(has_case.then(|| row.case.clone()));
        cells.extend(has_steering.then(|| row.steering.clone()));
        cells.push(row.figure.clone());
        cells.extend(arms.iter().map(|arm| found(&row.values, arm)));
        cells.extend(pairs.iter().map(|pair| found(&row.ratios, pair)));
        text += &line(&cells);
    }
    text
}

/// A line of a table.
pub(super) fn line(cells: &[impl AsRef<str>]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| cell.as_ref().replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}

fn found<T: ToString>(named: &[(String, T)], name: &str) -> String {
    let of = named.iter().find(|(other, _)| other == name);
    of.map_or("–".to_owned(), |(_, value)| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verdict_is_the_side_on_which_the_whole_interval_lies() {
        let verdict =
            |median, lo, hi, better| Outcome::of(Ratio { median, lo, hi }, better).verdict;
        assert_eq!(verdict(0.8, 0.7, 0.9, Better::Lower), Verdict::Better);
        assert_eq!(verdict(0.8, 0.7, 0.9, Better::Higher), Verdict::Worse);
        assert_eq!(verdict(1.2, 1.1, 1.3, Better::Higher), Verdict::Better);
        assert_eq!(verdict(1.2, 1.1, 1.3, Better::Lower), Verdict::Worse);
        for (lo, hi) in [(0.9, 1.1), (1.0, 1.4), (0.6, 1.0)] {
            assert_eq!(verdict(1.0, lo, hi, Better::Higher), Verdict::NoDifference);
        }
    }

    #[test]
    fn columns_that_no_row_fills_are_left_out() {
        let named = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let plain = Row { figure: "a|b".into(), values: vec![named("x", "1")], ..Row::default() };
        assert_eq!(
            table(std::slice::from_ref(&plain)),
            "| figure | x |\n| --- | --- |\n| a\\|b | 1 |\n"
        );
        let outcome = Outcome::of(Ratio { median: 0.5, lo: 0.4, hi: 0.6 }, Better::Lower);
        let other = Row {
            case: "c".into(),
            values: vec![named("y", "2")],
            ratios: vec![("y / x".into(), outcome)],
            ..plain.clone()
        };
        assert_eq!(
            table(&[plain, other]),
            "| case | figure | x | y | y / x |\n| --- | --- | --- | --- | --- |\n\
             |  | a\\|b | 1 | – | – |\n| c | a\\|b | – | 2 | 0.50 [0.40, 0.60], better |\n"
        );
    }
}
