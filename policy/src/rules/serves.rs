//! Where packets to a port belong, in the NIC mode `rules`.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::{
    rule::Rule,
    set::PolicySet,
    values::{Pool, Port},
};
use crate::problem::{Problem, Severity};

/// Where packets to a port belong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortPool {
    /// The port.
    pub port: Port,
    /// The CPUs.
    pub pool: Pool,
    /// Whether other packets stay off them.
    pub exclusive: bool,
}

impl PolicySet {
    /// Where packets that arrive through the interface `nic` belong, for each port that a rule
    /// names, sorted. If several rules name a port, the most specific one counts.
    pub fn ports(&self, nic: &str) -> Vec<PortPool> {
        let mut found: Vec<PortPool> = Vec::new();
        let here = |rule: &&Rule| rule.sets.nic.as_ref().is_none_or(|name| name.as_str() == nic);
        for rule in self.rules().iter().filter(here) {
            let (Some(ports), Some(pool)) = (&rule.sets.ports, &rule.sets.pool) else { continue };
            let exclusive = rule.sets.exclusive == Some(true);
            for port in ports.iter() {
                if found.iter().all(|it| it.port != port) {
                    found.push(PortPool { port, pool: pool.clone(), exclusive });
                }
            }
        }
        found.sort_by_key(|it| it.port);
        found
    }
}

/// Warns of ports whose packets belong elsewhere by a rule before. `rules` are sorted, the most
/// specific first.
pub(super) fn outdone(rules: &[Rule]) -> Vec<Problem> {
    let mut first: HashMap<_, &Rule> = HashMap::new();
    let mut warnings = Vec::new();
    for rule in rules {
        for port in rule.sets.ports.iter().flat_map(|ports| ports.iter()) {
            let before = *first.entry((port, &rule.sets.nic)).or_insert(rule);
            let (old, new) = (&before.sets, &rule.sets);
            if (&old.pool, old.exclusive) != (&new.pool, new.exclusive) {
                let message = format!(
                    "no effect for {port}: its packets go to the pool of a more specific rule, at {}",
                    before.location_of("ports")
                );
                let (at, field) = (rule.location_of("ports"), Some("ports".into()));
                warnings.push(Problem { at, severity: Severity::Warning, field, message });
            }
        }
    }
    warnings
}
