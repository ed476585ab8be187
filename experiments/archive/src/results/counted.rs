//! Figures of JSON that is not an A/B result: a value per seed or round, by arm. The clock of the
//! deterministic tier counts instructions, so its figures have no noise. Seeds differ only in their
//! traffic.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;
use steer_result::archive;
use steer_stats::{Ratio, median};

use super::basis::Basis;
use super::row::{Outcome, Row, Side};
use super::words;

/// Which figures, and where they are.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Counted {
    #[serde(default)]
    case: String,
    /// Name of the file; `{arm}` and `{n}` stand for an arm and for each of `numbers`.
    file: String,
    /// Seeds, each with its own file. If absent, one file has a list of values.
    #[serde(default)]
    numbers: Vec<u32>,
    /// The arms. Each has a text that replaces `{key}` in the JSON pointers of the figures.
    arms: Vec<(String, String)>,
    /// The arm that is compared, and with which others.
    main_arm: String,
    against: Vec<String>,
    /// Whether the clock counted instructions. Otherwise these are measured times.
    #[serde(default = "yes")]
    counts: bool,
    #[serde(rename = "figure")]
    figures: Vec<Figure>,
}

fn yes() -> bool {
    true
}

/// One figure.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Figure {
    name: String,
    /// JSON pointer to the value, or to the list of values.
    at: String,
    /// JSON pointer to a value that divides every value.
    #[serde(default)]
    divide_by: Option<String>,
    /// Stored units per shown unit.
    #[serde(default = "one")]
    scale: f64,
    #[serde(default)]
    decimals: usize,
    better: Side,
    /// How the values are summarized.
    #[serde(default)]
    show: Show,
}

fn one() -> f64 {
    1.0
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Show {
    /// The median. Ratios are shown as their median with the least and the greatest.
    #[default]
    Median,
    /// The least and the greatest.
    Range,
    /// The greatest.
    Greatest,
    /// How many values are missing, of how many.
    Missing,
}

impl Counted {
    /// Adds the figures, and returns what they are based on.
    ///
    /// # Errors
    /// A file cannot be read, or lacks a figure.
    pub(super) fn add_to(&self, rows: &mut Vec<Row>, folder: &Path) -> Result<Basis> {
        let mut documents: IndexMap<&str, Vec<Value>> = IndexMap::new();
        for (arm, _) in &self.arms {
            let names = match &self.numbers[..] {
                [] => vec![self.file.replace("{arm}", arm)],
                numbers => numbers
                    .iter()
                    .map(|n| self.file.replace("{arm}", arm).replace("{n}", &n.to_string()))
                    .collect(),
            };
            let read = |name: &String| -> Result<Value> {
                let path = folder.join(name);
                serde_json::from_str(&archive::text(&path)?)
                    .with_context(|| path.display().to_string())
            };
            documents.insert(arm, names.iter().map(read).collect::<Result<_>>()?);
        }
        let mut count = 0;
        for figure in &self.figures {
            let of = |arm: &str| -> Result<Vec<Option<f64>>> {
                let all = documents.get(arm).with_context(|| format!("there is no arm {arm}"))?;
                let key = self.arms.iter().find(|(name, _)| name == arm).map_or("", |(_, key)| key);
                figure.values(all, key).with_context(|| format!("{}, {arm}", self.file))
            };
            let mut row =
                Row { case: self.case.clone(), figure: figure.name.clone(), ..Row::default() };
            for (arm, _) in &self.arms {
                let values = of(arm)?;
                count = values.len();
                row.values.push((arm.clone(), figure.shown(&values)));
            }
            for other in self.against.iter().filter(|_| figure.show == Show::Median) {
                if let Some(ratio) = spread(&of(&self.main_arm)?, &of(other)?) {
                    let outcome = Outcome::of(ratio, figure.better.into());
                    row.ratios.push((format!("{} / {other}", self.main_arm), outcome));
                }
            }
            rows.push(row);
        }
        Ok(if self.counts { Basis::Counted(count) } else { Basis::Other })
    }
}

impl Figure {
    /// The values in all documents of an arm. Null means that a value is missing.
    fn values(&self, documents: &[Value], key: &str) -> Result<Vec<Option<f64>>> {
        let at = self.at.replace("{key}", key);
        let mut values = Vec::new();
        for document in documents {
            let by = match &self.divide_by {
                None => 1.0,
                Some(at) => {
                    let by = document.pointer(at).and_then(Value::as_f64);
                    by.with_context(|| format!("there is no number at {at}"))?
                }
            };
            let found =
                document.pointer(&at).with_context(|| format!("there is nothing at {at}"))?;
            let list = found.as_array().map_or(std::slice::from_ref(found), Vec::as_slice);
            for value in list {
                let number = value.as_f64().map(|number| number / by / self.scale);
                ensure!(number.is_some() || value.is_null(), "at {at} is not a number: {value}");
                values.push(number);
            }
        }
        ensure!(!values.is_empty(), "the list at {at} is empty");
        Ok(values)
    }

    fn shown(&self, values: &[Option<f64>]) -> String {
        let known: Vec<f64> = values.iter().copied().flatten().collect();
        let number = |value: Option<f64>| {
            value.map_or("–".to_owned(), |value| words::number(value, self.decimals))
        };
        let least = known.iter().copied().reduce(f64::min);
        let greatest = known.iter().copied().reduce(f64::max);
        match self.show {
            Show::Median => number(median(&known)),
            Show::Range => format!("{} to {}", number(least), number(greatest)),
            Show::Greatest => number(greatest),
            Show::Missing => format!("{} of {}", values.len() - known.len(), values.len()),
        }
    }
}

/// The median of the ratios, value by value, with the least and the greatest; nothing if a value is
/// missing.
fn spread(main: &[Option<f64>], reference: &[Option<f64>]) -> Option<Ratio> {
    let ratios: Option<Vec<f64>> =
        main.iter().zip(reference).map(|(a, b)| Some((*a)? / (*b)?)).collect();
    let ratios = ratios.filter(|all| all.iter().all(|ratio| ratio.is_finite()))?;
    let least = ratios.iter().copied().reduce(f64::min)?;
    let greatest = ratios.iter().copied().reduce(f64::max)?;
    Some(Ratio { median: median(&ratios)?, lo: least, hi: greatest })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn figure(at: &str, rest: &str) -> Figure {
        toml::from_str(&format!("name = \"f\"\nat = \"{at}\"\nbetter = \"lower\"\n{rest}")).unwrap()
    }

    #[test]
    fn a_value_of_each_seed_or_a_list_of_rounds() {
        let seeds = [json!({"t": 4.0, "by": 2}), json!({"t": 9.0, "by": 3})];
        let divided = figure("/t", "divide_by = \"/by\"");
        assert_eq!(divided.values(&seeds, "").unwrap(), [Some(2.0), Some(3.0)]);
        let rounds = [json!({"steer": [3000, null, 1000, 8000]})];
        let scaled = |show| figure("/{key}", &format!("scale = 1e3\nshow = \"{show}\""));
        let values = scaled("median").values(&rounds, "steer").unwrap();
        assert_eq!(values, [Some(3.0), None, Some(1.0), Some(8.0)]);
        for (show, shown) in
            [("median", "3"), ("range", "1 to 8"), ("greatest", "8"), ("missing", "1 of 4")]
        {
            assert_eq!(scaled(show).shown(&values), shown);
        }
    }

    #[test]
    fn what_is_not_there_is_named() {
        let documents = [json!({"t": "fast", "none": []})];
        for (at, message) in [
            ("/u", "there is nothing at /u"),
            ("/t", "at /t is not a number: \"fast\""),
            ("/none", "the list at /none is empty"),
        ] {
            let error = format!("{:#}", figure(at, "").values(&documents, "").unwrap_err());
            assert_eq!(error, message);
        }
        let error = figure("/t", "divide_by = \"/by\"").values(&documents, "").unwrap_err();
        assert_eq!(error.to_string(), "there is no number at /by");
    }

    #[test]
    fn ratios_go_seed_by_seed() {
        let some = |values: &[f64]| values.iter().copied().map(Some).collect::<Vec<_>>();
        let ratio = spread(&some(&[2.0, 9.0, 4.0]), &some(&[1.0, 3.0, 4.0])).unwrap();
        assert_eq!((ratio.median, ratio.lo, ratio.hi), (2.0, 1.0, 3.0));
        assert!(spread(&some(&[1.0]), &some(&[0.0])).is_none());
        assert!(spread(&[Some(1.0), None], &some(&[1.0, 1.0])).is_none());
    }
}
