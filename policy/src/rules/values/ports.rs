//! The ports that servers listen on.

use std::{borrow::Cow, collections::BTreeSet, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use toml::de::DeValue;

use super::given::{Given, Value};
use crate::rules::refusal::{Refusal, quote};

const ALLOWED: &str = "\"tcp/\" or \"udp/\" and a number from 1 to 65535, as in \"tcp/443\"";
const LIST: &str = "a list of 1 to 64 ports, as in [\"tcp/80\", \"udp/443\"]";

/// A transport protocol with ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP, and so QUIC.
    Udp,
}

/// A port of a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port {
    /// The protocol.
    pub protocol: Protocol,
    /// The number, never 0.
    pub number: u16,
}

/// Ports, 1 to [`Ports::MAX`], each once.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Ports(BTreeSet<Port>);

impl Ports {
    /// The most ports in a rule: NICs have room for a limited number of rules.
    pub const MAX: usize = 64;

    /// The ports, TCP first.
    pub fn iter(&self) -> impl Iterator<Item = Port> {
        self.0.iter().copied()
    }
}

impl Port {
    fn parse(text: &str) -> Result<Self, Refusal> {
        let refuse = |why| Refusal::new(format!("\"{}\" {why}", quote(text)), ALLOWED);
        let (protocol, number) = text.split_once('/').ok_or_else(|| refuse("is not a port"))?;
        let protocol = match protocol {
            "tcp" => Protocol::Tcp,
            "udp" => Protocol::Udp,
            _ => return Err(refuse("has neither the protocol tcp nor udp")),
        };
        let digits = number.bytes().all(|byte| byte.is_ascii_digit());
        match number.parse().ok().filter(|number| digits && *number > 0) {
            Some(number) => Ok(Self { protocol, number }),
            None => Err(refuse("has no port from 1 to 65535")),
        }
    }
}

impl Value for Ports {
    fn read(given: &Given<'_>) -> Result<Self, Refusal> {
        let refuse = |why: &str| Refusal::new(format!("{} {why}", quote(given.text)), LIST);
        let DeValue::Array(elements) = given.value else {
            return Err(refuse("is not a list").meant(match given.value {
                DeValue::String(text) => Some(format!("[\"{}\"]", quote(text))),
                _ => None,
            }));
        };
        if elements.is_empty() || elements.len() > Self::MAX {
            return Err(refuse(&format!("has {} ports", elements.len())));
        }
        let port = |element: &DeValue<'_>| match element {
            DeValue::String(text) => Port::parse(text),
            _ => Err(refuse("has an element that is not a string")),
        };
        let ports = elements.iter().map(|element| port(element.get_ref()));
        Ok(Self(ports.collect::<Result<_, Refusal>>()?))
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        })
    }
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.protocol, self.number)
    }
}

impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.iter().map(|port| port.to_string()).collect();
        f.write_str(&names.join(", "))
    }
}

impl Serialize for Port {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Port {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl JsonSchema for Ports {
    fn schema_name() -> Cow<'static, str> {
        "Ports".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "array",
            "minItems": 1,
            "maxItems": Self::MAX,
            "items": { "type": "string", "pattern": "^(tcp|udp)/[0-9]{1,5}$" },
        })
    }
}
