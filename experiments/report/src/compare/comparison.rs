//! A comparison: what both results have, side by side, and warnings about it.

use anyhow::{Result, ensure};
use indexmap::{IndexMap, IndexSet};
use serde::Serialize;

use super::figures::{Modes, figures};
use super::warnings::{self, Warning};
use steer_result::{AbResult, Mode};

/// How the ratios are computed. The JSON and the text both say it.
const METHOD: &str = "B / A is the ratio of the medians, with the 95 % interval of the rank-sum \
    test over the rounds of both runs. The runs are not paired: the interval covers the noise \
    between rounds, not what else changed between the runs. Of 100 intervals between equal runs, \
    about 5 exclude 1.";

/// Two results side by side.
#[derive(Debug, Serialize)]
pub struct Comparison {
    /// Format of this output.
    version: u32,
    /// The run to compare with.
    pub(super) a: Run,
    /// The run that is compared.
    pub(super) b: Run,
    /// How the ratios are computed.
    pub(super) method: &'static str,
    /// By steering mode, arm and metric.
    #[serde(rename = "worlds")]
    pub(super) modes: Modes,
    /// Why the ratios may be wrong.
    pub(super) warnings: Vec<Warning>,
    /// What the machine cannot show.
    pub(super) caveat: Option<&'static str>,
}

/// One of the two runs.
#[derive(Debug, Serialize)]
pub(super) struct Run {
    pub(super) started: Option<String>,
    #[serde(rename = "subject_version")]
    pub(super) arm_version: Option<String>,
    pub(super) kernel: Option<String>,
    pub(super) pairs: usize,
}

impl Comparison {
    /// Compares what the two results have in common.
    ///
    /// # Errors
    /// They have nothing in common.
    pub(super) fn new(a: &AbResult, b: &AbResult) -> Result<Self> {
        let shared: Vec<(&String, &Mode, &Mode)> = a
            .modes
            .iter()
            .filter_map(|(name, mode)| Some((name, mode, b.modes.get(name)?)))
            .collect();
        ensure!(
            !shared.is_empty(),
            "A has {}, B has {}; measure the same ones with `steer-bench ab --steering`",
            list("steering modes", a.modes.keys()),
            list("steering modes", b.modes.keys()),
        );
        let mut modes = IndexMap::new();
        for (name, in_a, in_b) in &shared {
            let arms = in_a.arms.keys().filter(|arm| in_b.arms.contains_key(*arm));
            let arms: IndexMap<_, _> =
                arms.map(|arm| (arm.clone(), figures(arm, in_a, in_b))).collect();
            if !arms.is_empty() {
                modes.insert((*name).clone(), arms);
            }
        }
        let arms = |side: fn(&(_, &Mode, &Mode)) -> Vec<String>| {
            let all = shared.iter().flat_map(side);
            list("arms", &all.collect::<IndexSet<_>>())
        };
        ensure!(
            !modes.is_empty(),
            "A has {}, B has {}; measure the same ones with `steer-bench ab --arms`",
            arms(|(_, a, _)| a.arms.keys().cloned().collect()),
            arms(|(_, _, b)| b.arms.keys().cloned().collect()),
        );
        Ok(Self {
            version: 1,
            a: Run::of(a),
            b: Run::of(b),
            method: METHOD,
            warnings: warnings::find(a, b, &modes),
            modes,
            caveat: a.environment.caveat().or(b.environment.caveat()),
        })
    }
}

impl Run {
    fn of(result: &AbResult) -> Self {
        let environment = &result.environment;
        Self {
            started: environment.started.clone(),
            arm_version: environment.arm_version.clone(),
            kernel: environment.kernel.clone(),
            pairs: result.pairs,
        }
    }
}

fn list<'a>(what: &str, names: impl IntoIterator<Item = &'a String>) -> String {
    let names: Vec<&str> = names.into_iter().map(String::as_str).collect();
    if names.is_empty() { format!("no {what}") } else { format!("the {what} {}", names.join(", ")) }
}
