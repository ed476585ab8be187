//! A warning: a reason to doubt a figure. Its kind is for programs, its text for people.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A reason to doubt a figure, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    /// What it is about, for programs.
    pub kind: Kind,
    /// What it applies to; absent if that is everything.
    #[serde(default, skip_serializing_if = "Place::is_everything")]
    pub place: Place,
    /// What it says, for people.
    pub text: String,
}

/// What a warning applies to. A part that is absent is not narrowed down.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Place {
    /// Steering mode.
    #[serde(rename = "world", default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Arm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm: Option<String>,
    /// Round, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<u32>,
}

/// What a warning is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The hypervisor took much of the CPUs' time.
    Steal,
    /// The kernel did not account for all of the CPUs' time.
    Unaccounted,
    /// No sample found a CPU busy, so there is no breakdown.
    NoBreakdown,
    /// Samples were lost.
    LostSamples,
    /// Much of the busy time is in functions that no category has.
    Unclassified,
    /// There are too few samples for exact shares.
    FewSamples,
    /// There is no cycle counter: the clock triggered the samples.
    SampledByClock,
    /// The measurement began late.
    LateStart,
    /// A report has a format that is not known here.
    UnknownFormat,
    /// The client failed; its figures are partial.
    ClientFailed,
    /// There are too few rounds.
    FewRounds,
    /// No sample has a metric.
    NeverMeasured,
    /// Some samples lack a metric.
    PartlyMeasured,
    /// Where the CPUs are is unknown.
    NoTopology,
    /// What the CPUs did could not be measured.
    NoCpuFigures,
    /// Which CPUs are near the NIC is unknown.
    NoNicPlace,
    /// The traffic may come in by another NIC.
    OtherNic,
    /// A killed run had left settings behind. They were put back before this run.
    LeftSettings,
    /// The measured host's kernel complained.
    KernelComplaint,
    /// A sample failed and was taken again.
    TakenAgain,
    /// The server or the hogs printed a message.
    ProgramMessage,
    /// The kernel copied data that was to be sent without a copy.
    Copied,
    /// Another program measured for a different time than the rest of the sample.
    OtherDuration,
    /// The windows of observer and client began at different times.
    WindowsApart,
    /// The time budget ended the rounds before the interval was narrow enough.
    OutOfBudget,
    /// irqbalance ran and moved no interrupt.
    IrqbalanceIdle,
    /// Any other: one from an older result, which has only a text, or of a kind unknown here.
    #[serde(other)]
    Other,
}

impl Warning {
    /// A warning that applies to everything.
    pub fn new(kind: Kind, text: impl Into<String>) -> Self {
        Self { kind, place: Place::default(), text: text.into() }
    }

    /// The same warning, for one place.
    pub fn at(self, place: &Place) -> Self {
        Self { place: place.clone(), ..self }
    }
}

impl Place {
    /// A steering mode.
    pub fn mode(mode: &str) -> Self {
        Self { mode: Some(mode.to_owned()), ..Self::default() }
    }

    /// An arm in a steering mode.
    pub fn arm(mode: &str, arm: &str) -> Self {
        Self { arm: Some(arm.to_owned()), ..Self::mode(mode) }
    }

    /// One sample.
    pub fn sample(mode: &str, arm: &str, round: u32) -> Self {
        Self { round: Some(round), ..Self::arm(mode, arm) }
    }

    fn is_everything(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.place.is_everything() {
            write!(f, "{}: ", self.place)?;
        }
        f.write_str(&self.text)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let round = self.round.map(|round| format!("round {}", round + 1));
        let parts = [self.mode.clone(), round, self.arm.clone()];
        f.write_str(&parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_place_comes_first_and_only_if_there_is_one() {
        let warning = Warning::new(Kind::Copied, "it was copied");
        assert_eq!(warning.to_string(), "it was copied");
        assert_eq!(
            serde_json::to_value(&warning).unwrap(),
            json!({"kind": "copied", "text": "it was copied"})
        );
        let warning = warning.at(&Place::sample("auto", "default", 0));
        assert_eq!(warning.to_string(), "auto, round 1, default: it was copied");
        let written = serde_json::to_value(&warning).unwrap();
        assert_eq!(written["place"], json!({"world": "auto", "arm": "default", "round": 0}));
        assert_eq!(serde_json::from_value::<Warning>(written).unwrap(), warning);
    }

    #[test]
    fn a_kind_that_is_not_known_here_can_be_read() {
        let newer = json!({"kind": "from_the_future", "text": "t"});
        assert_eq!(serde_json::from_value::<Warning>(newer).unwrap().kind, Kind::Other);
    }
}
