//! The CPUs that threads belong on.

use std::{borrow::Cow, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use steer_topology::{CpuSet, ParseCpuSetError};

use super::given::{Given, Value, quoted, unknown};
use crate::rules::refusal::Refusal;

/// The CPUs that threads belong on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Pool {
    /// The CPUs near the NIC.
    NicLocal,
    /// All other CPUs.
    Remote,
    /// Any CPU.
    Any,
    /// Exactly these; never empty.
    Cpus(CpuSet),
}

const POOLS: [&str; 3] = ["nic-local", "remote", "any"];

impl fmt::Display for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pool::NicLocal => f.write_str(POOLS[0]),
            Pool::Remote => f.write_str(POOLS[1]),
            Pool::Any => f.write_str(POOLS[2]),
            Pool::Cpus(cpus) => cpus.fmt(f),
        }
    }
}

impl Pool {
    fn allowed() -> String {
        format!("{} or a list of CPUs as in \"0-3,8\"", quoted(&POOLS))
    }

    fn parse(text: &str) -> Result<Self, Refusal> {
        let allowed = Self::allowed();
        match POOLS.iter().position(|name| *name == text) {
            Some(0) => return Ok(Self::NicLocal),
            Some(1) => return Ok(Self::Remote),
            Some(_) => return Ok(Self::Any),
            None if text.starts_with(|c: char| c.is_alphabetic()) => {
                return Err(unknown(text, &POOLS, allowed));
            }
            None => {}
        }
        let cpus: CpuSet = text
            .parse()
            .map_err(|error: ParseCpuSetError| Refusal::new(error.to_string(), &allowed))?;
        if cpus.is_empty() {
            return Err(Refusal::new("the list of CPUs is empty", allowed));
        }
        Ok(Self::Cpus(cpus))
    }
}

impl Value for Pool {
    fn read(given: &Given<'_>) -> Result<Self, Refusal> {
        Self::parse(given.string(&Self::allowed())?)
    }
}

impl Serialize for Pool {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Pool {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl JsonSchema for Pool {
    fn schema_name() -> Cow<'static, str> {
        "Pool".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let pattern = format!("^({}|[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*)$", POOLS.join("|"));
        json_schema!({ "type": "string", "pattern": pattern })
    }
}
