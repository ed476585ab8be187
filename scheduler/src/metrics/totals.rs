//! What the running instance answers when it is asked for metrics.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::{
    stats::{Answer, Metrics},
    status::Status,
};

/// The counters by their names in the statistics, and what is in force.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Totals {
    /// Since the scheduler was loaded. A map, so that either program may be the newer one.
    pub(crate) decisions: BTreeMap<String, u64>,
    pub(crate) status: Status,
}

impl Totals {
    pub(crate) fn of(answer: Answer) -> Result<Self> {
        let decisions = serde_json::from_value(serde_json::to_value(Metrics::totals(&answer))?)?;
        Ok(Self { decisions, status: answer.status })
    }
}
