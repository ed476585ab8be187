//! An ntuple rule of the kind that scx_steer sets: all packets to a port.

use std::fmt;

use serde::{Deserialize, Serialize};
use steer_policy::Port;

use crate::queues::Queues;

/// The packets of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Match {
    /// Their destination.
    pub port: Port,
    /// IPv6, or IPv4.
    pub v6: bool,
}

/// A rule that a device has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortRule {
    /// Its packets.
    pub packets: Match,
    /// Where they go; `None` if not to queues of this function: they are dropped, or are a virtual
    /// function's.
    pub queues: Option<Queues>,
}

impl Match {
    /// The packets' type, as the command ethtool calls it.
    pub fn flow_type(&self) -> String {
        format!("{}{}", self.port.protocol, if self.v6 { 6 } else { 4 })
    }
}

impl fmt::Display for Match {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.flow_type(), self.port.number)
    }
}
