//! Options of `steer-bench ab` as a table in a spec file. `long-flows = 4` means `--long-flows 4`,
//! a list repeats the option, and `true` means a switch. A result records its run's options.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

/// The former name of a renamed option. Archived runs and older spec files use it.
const FORMER: &str = "worlds";
const PRESENT: &str = "steering";

/// The folder for a run's files. Results do not record it, because it does not affect the run.
const OUT: &str = "out";

/// Options by name, with their values as text. A switch has no values.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Options(BTreeMap<String, Vec<String>>);

impl Options {
    /// The options of a run, as its result records them.
    pub fn recorded(given: impl IntoIterator<Item = (String, Vec<String>)>) -> Self {
        let mut options: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, values) in given.into_iter().filter(|(name, _)| name != OUT) {
            options.entry(present(name)).or_default().extend(values);
        }
        Self(options)
    }

    /// An option's values; `None` if it was not given.
    pub fn get(&self, name: &str) -> Option<&[String]> {
        self.0.get(name).map(Vec::as_slice)
    }

    /// The names of the options.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Whether no option is given.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Options that this program sets itself.
    pub fn of(options: &[(&str, &str)]) -> Self {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), vec![(*value).to_owned()]);
        Self(options.iter().map(own).collect())
    }

    /// These options, and the `others` that are not set here.
    pub fn or(&self, others: &Self) -> Self {
        let mut all = others.0.clone();
        all.extend(self.0.clone());
        Self(all)
    }

    /// The command line.
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments = Vec::new();
        for (name, values) in &self.0 {
            if values.is_empty() {
                arguments.push(format!("--{name}"));
            }
            // name and value in one word, so that a value may begin with a dash
            arguments.extend(values.iter().map(|value| format!("--{name}={value}")));
        }
        arguments
    }
}

impl<'de> Deserialize<'de> for Options {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut options = BTreeMap::new();
        for (name, value) in toml::Table::deserialize(deserializer)? {
            let values = match value {
                // a switch that is off is left out
                toml::Value::Boolean(false) => continue,
                toml::Value::Boolean(true) => Some(Vec::new()),
                toml::Value::Array(values) => values.iter().map(text).collect(),
                value => text(&value).map(|value| vec![value]),
            };
            let values = values.ok_or_else(|| {
                D::Error::custom(format!(
                    "{name}: options are numbers without a fraction, texts, true or false, and \
                     lists of numbers or texts"
                ))
            })?;
            options.insert(present(name), values);
        }
        Ok(Self(options))
    }
}

/// The present name of an option.
fn present(name: String) -> String {
    if name == FORMER { PRESENT.to_owned() } else { name }
}

fn text(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(text: &str) -> Options {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn a_table_is_a_command_line() {
        let table = "pairs = 5\nsteering = [\"auto\", \"hash\"]\nno-hogs = true\nagain = false";
        let expected = ["--no-hogs", "--pairs=5", "--steering=auto", "--steering=hash"];
        assert_eq!(options(table).arguments(), expected);
    }

    #[test]
    fn a_former_name_means_the_present_option() {
        let smoke = Options::of(&[("steering", "hash")]).or(&options("worlds = [\"auto\"]"));
        assert_eq!(smoke.arguments(), ["--steering=hash"]);
        let given = ["worlds", "steering", "worldsx", "out"];
        let given = given.map(|name| (name.to_owned(), vec![name.len().to_string()]));
        let expected = ["--steering=6", "--steering=8", "--worldsx=7"];
        assert_eq!(Options::recorded(given).arguments(), expected);
    }

    #[test]
    fn what_a_result_records_can_be_read() {
        let table = options("pairs = 5\nsteering = [\"auto\", \"hash\"]\nno-hogs = true");
        let written = serde_json::to_string(&table).unwrap();
        assert_eq!(written, r#"{"no-hogs":[],"pairs":["5"],"steering":["auto","hash"]}"#);
        assert_eq!(serde_json::from_str::<Options>(&written).unwrap(), table);
    }

    #[test]
    fn the_nearer_options_count() {
        let both = options("pairs = 1").or(&options("pairs = 5\nduration = 2"));
        assert_eq!(both.arguments(), ["--duration=2", "--pairs=1"]);
        assert_eq!(Options::of(&[("pairs", "1")]), options("pairs = 1"));
    }
}
