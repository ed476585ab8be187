//! Amounts with a unit, as in policy files and options: `64KiB`, `1ms`.

use std::{borrow::Cow, fmt, str::FromStr, time::Duration};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

use super::given::{Given, Value};
use crate::rules::refusal::Refusal;

/// Units, smallest first, each with its size in the smallest unit.
type Units = &'static [(&'static str, u64)];

const SIZES: Units =
    &[("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)];
const TIMES: Units = &[("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];

/// Spellings that are refused because they are unclear or hard to type, and what they mean.
const ALIASES: &[(&str, &str)] = &[
    ("k", "KiB"),
    ("kb", "KiB"),
    ("kib", "KiB"),
    ("m", "MiB"),
    ("mb", "MiB"),
    ("mib", "MiB"),
    ("g", "GiB"),
    ("gb", "GiB"),
    ("gib", "GiB"),
    ("b", "B"),
    ("byte", "B"),
    ("bytes", "B"),
    ("µs", "us"),
    ("μs", "us"),
    ("usec", "us"),
    ("msec", "ms"),
    ("sec", "s"),
];

/// A number of bytes. Printed with the largest unit that keeps it a whole number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// A time in nanoseconds. Printed with the largest unit that keeps it a whole number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// The time.
    pub fn duration(self) -> Duration {
        Duration::from_nanos(self.0)
    }

    /// The time in ns.
    pub fn ns(self) -> u64 {
        self.0
    }

    /// A time of so many ns.
    pub fn from_ns(ns: u64) -> Self {
        Self(ns)
    }
}

/// Reads `1ms`. Errors say what is allowed.
impl FromStr for Time {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::parse(text).map_err(|refusal| refusal.to_string())
    }
}

/// Times beyond 584 years are cut to 584 years.
impl From<Duration> for Time {
    fn from(duration: Duration) -> Self {
        Self(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl Bytes {
    /// Reads `64KiB`.
    pub(crate) fn parse(text: &str) -> Result<Self, Refusal> {
        amount(text, SIZES, |bytes| Self(bytes).to_string()).map(Self)
    }
}

impl Time {
    /// Reads `1ms`.
    pub(crate) fn parse(text: &str) -> Result<Self, Refusal> {
        amount(text, TIMES, |number| format!("{number}ms")).map(Self)
    }
}

/// Reads a whole number with one of `units`. `usual` suggests what a number without unit means.
fn amount(text: &str, units: Units, usual: fn(u64) -> String) -> Result<u64, Refusal> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let names: Vec<_> = units.iter().map(|(name, _)| *name).collect();
    let refuse = |why: String| {
        Refusal::new(why, format!("a whole number with one of the units {}", names.join(", ")))
    };
    if unit.is_empty() && !digits.is_empty() {
        let meant = digits.parse().ok().map(|number| format!("\"{}\"", usual(number)));
        return Err(refuse(format!("{text} has no unit")).meant(meant));
    }
    if digits.is_empty() || unit.starts_with(['.', ',']) {
        return Err(refuse(format!("\"{text}\" is not a whole number with a unit")));
    }
    let Some((_, factor)) = units.iter().find(|(name, _)| *name == unit) else {
        let lower = unit.trim().to_lowercase();
        let meant = [unit.trim(), lower.as_str()]
            .into_iter()
            .map(|name| ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, u)| u))
            .find(|name| names.contains(name))
            .map(|name| format!("\"{digits}{name}\""));
        return Err(refuse(format!("\"{text}\" has an unknown unit")).meant(meant));
    };
    digits
        .parse()
        .ok()
        .and_then(|number: u64| number.checked_mul(*factor))
        .ok_or_else(|| refuse(format!("\"{text}\" is too large")))
}

/// Prints the amount with the largest unit that keeps it a whole number.
fn show(amount: u64, units: Units, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let largest = units.iter().rev().find(|(_, size)| amount != 0 && amount.is_multiple_of(*size));
    let (unit, size) = largest.unwrap_or(&units[0]);
    write!(f, "{}{unit}", amount / size)
}

fn schema(units: Units) -> Schema {
    let names: Vec<_> = units.iter().map(|(name, _)| *name).collect();
    json_schema!({ "type": "string", "pattern": format!("^[0-9]+({})$", names.join("|")) })
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(self.0, SIZES, f)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(self.0, TIMES, f)
    }
}

impl Value for Bytes {
    fn read(given: &Given<'_>) -> Result<Self, Refusal> {
        given.amount(Bytes::parse)
    }
}

impl Value for Time {
    fn read(given: &Given<'_>) -> Result<Self, Refusal> {
        given.amount(Time::parse)
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for Bytes {
    fn schema_name() -> Cow<'static, str> {
        "Bytes".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schema(SIZES)
    }
}

impl JsonSchema for Time {
    fn schema_name() -> Cow<'static, str> {
        "Time".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schema(TIMES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_shown_as_they_are_best_written() {
        for (text, shown) in
            [("65536B", "64KiB"), ("1500B", "1500B"), ("0MiB", "0B"), ("2048GiB", "2TiB")]
        {
            assert_eq!(Bytes::parse(text).unwrap().to_string(), shown);
        }
        for (text, shown) in [("1000us", "1ms"), ("1500ms", "1500ms"), ("60s", "60s")] {
            assert_eq!(Time::parse(text).unwrap().to_string(), shown);
        }
        assert_eq!(Time::parse("2ms").unwrap().duration(), Duration::from_millis(2));
    }

    #[test]
    fn what_is_meant_is_proposed() {
        for (text, meant) in [
            ("64kb", Some("\"64KiB\"")),
            ("64 MB", Some("\"64MiB\"")),
            ("4096", Some("\"4KiB\"")),
            ("64ms", None),
            ("18446744073709551616", None),
        ] {
            assert_eq!(Bytes::parse(text).unwrap_err().meant.as_deref(), meant, "{text}");
        }
        assert_eq!(Time::parse("5 µs").unwrap_err().meant.as_deref(), Some("\"5us\""));
    }
}
