//! The values of a host file.

use std::{fmt, str::FromStr};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use strum::{Display, EnumIter, EnumString, IntoEnumIterator, VariantNames};
use toml::de::DeValue;

use crate::rules::{Given, Refusal, Value, quote};

/// What host steering does for a NIC.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    JsonSchema,
    Display,
    EnumIter,
    VariantNames,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum NicMode {
    /// Nothing.
    #[default]
    Keep,
    /// A queue, with its interrupt and XPS, for each NIC-local core.
    Align,
    /// Packets handed on in software to the CPU that reads them (RFS).
    Rfs,
    /// Packets put by the NIC on the queue of the CPU that reads them (accelerated RFS).
    Arfs,
    /// `align`, and packets to the ports that policy files name go to the queues of their pools.
    Rules,
    /// Interrupts wait while programs poll.
    BusyPoll,
    /// `align` if the scheduler's measurements show that it helps, on as many cores as the load
    /// needs.
    Auto,
}

impl FromStr for NicMode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::iter().find(|mode| mode.to_string() == text);
        found.ok_or_else(|| format!("no such mode; there are: {}", Self::VARIANTS.join(", ")))
    }
}

/// What becomes of host settings when scx_steer ends.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    JsonSchema,
    Display,
    EnumString,
    VariantNames,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum OnExit {
    /// They are put back.
    #[default]
    Restore,
    /// They stay until `scx_steer nic restore`.
    Keep,
}

/// How many cores take a NIC's interrupts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServingCores {
    /// All that are near it.
    #[default]
    All,
    /// This many at most, from 1.
    AtMost(u32),
    /// As many as the load needs.
    ByLoad,
}

/// More cores than any machine has.
const MOST_CORES: u32 = 1024;
const CORES: &str = "a whole number from 1 to 1024, or \"load\"";

impl Value for ServingCores {
    fn read(given: &Given<'_>) -> Result<Self, Refusal> {
        let why = match given.value {
            DeValue::Integer(number) => {
                let count = u32::from_str_radix(number.as_str(), number.radix()).ok();
                match count.filter(|count| (1..=MOST_CORES).contains(count)) {
                    Some(count) => return Ok(Self::AtMost(count)),
                    None => "is out of range",
                }
            }
            DeValue::String(text) if text == "load" => return Ok(Self::ByLoad),
            _ => "is not a number of cores",
        };
        Err(Refusal::new(format!("{} {why}", quote(given.text)), CORES))
    }
}

impl fmt::Display for ServingCores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::AtMost(count) => count.fmt(f),
            Self::ByLoad => f.write_str("load"),
        }
    }
}

impl JsonSchema for ServingCores {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ServingCores".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "oneOf": [
            { "type": "integer", "minimum": 1, "maximum": MOST_CORES },
            { "const": "load" },
        ] })
    }
}
