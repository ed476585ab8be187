//! The name of a network interface.

use std::{borrow::Cow, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

use super::given::{Given, Value};
use crate::rules::refusal::{Refusal, quote};

/// The name of a network interface: 1 to 15 bytes, as the kernel takes it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct NicName(String);

impl NicName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NicName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Value for NicName {
    fn read(given: &Given<'_>) -> Result<Self, Refusal> {
        const ALLOWED: &str = "the name of a network interface, as in \"eth0\": 1 to 15 bytes \
                               without spaces, \"/\" and \":\"";
        let name = given.string(ALLOWED)?;
        let bad = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '/' | ':');
        if name.is_empty() || name.len() > 15 || name.contains(bad) || matches!(name, "." | "..") {
            let why = format!("\"{}\" cannot be the name of an interface", quote(name));
            return Err(Refusal::new(why, ALLOWED));
        }
        Ok(Self(name.to_string()))
    }
}

impl JsonSchema for NicName {
    fn schema_name() -> Cow<'static, str> {
        "NicName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[^\\s/:]{1,15}$" })
    }
}
