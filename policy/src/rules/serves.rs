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
    /// Whether other packets stay off them. Only CPUs of a list can be exclusive.
    pub exclusive: bool,
}

impl PolicySet {
    /// Where packets that arrive through the interface `nic` belong, for each port that a rule
    /// names, those of more specific rules first. If several name a port, the most specific counts.
    pub fn ports(&self, nic: &str) -> Vec<PortPool> {
        let mut found: Vec<PortPool> = Vec::new();
        let here = |rule: &&Rule| rule.sets.nic.as_ref().is_none_or(|name| name.as_str() == nic);
        for rule in self.rules().iter().filter(here) {
            let (Some(ports), Some(pool)) = (&rule.sets.ports, &rule.sets.pool) else { continue };
            // with a reserve, which of the pool's cores are exclusive is the scheduler's choice
            let listed = matches!(pool, Pool::Cpus(_));
            let exclusive = listed && rule.sets.exclusive == Some(true);
            for port in ports.iter() {
                if found.iter().all(|it| it.port != port) {
                    found.push(PortPool { port, pool: pool.clone(), exclusive });
                }
            }
        }
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
