//! A number of cores.

use std::{borrow::Cow, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use toml::de::DeValue;

use super::given::{Given, Value};
use crate::rules::refusal::{Refusal, quote};

/// A number of cores, 0 to [`Cores::MAX`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct Cores(u32);

impl Cores {
    /// As many as the kernel side has CPUs in its tables.
    pub const MAX: u32 = 1024;

    /// The number.
    pub fn count(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Cores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Value for Cores {
    fn read(given: &Given<'_>) -> Result<Self, Refusal> {
        let allowed = format!("a whole number from 0 to {}", Self::MAX);
        let why = match given.value {
            DeValue::Integer(number) => {
                let count = u32::from_str_radix(number.as_str(), number.radix()).ok();
                match count.filter(|count| *count <= Self::MAX) {
                    Some(count) => return Ok(Self(count)),
                    None => "is out of range",
                }
            }
            _ => "is not a whole number",
        };
        Err(Refusal::new(format!("{} {why}", quote(given.text)), allowed))
    }
}

impl JsonSchema for Cores {
    fn schema_name() -> Cow<'static, str> {
        "Cores".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": 0, "maximum": Self::MAX })
    }
}
