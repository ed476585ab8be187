//! A shifting load: stages of equal length divide the measured window, and each has its own load.
//! The warm-up has the load of the first stage.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

/// Most stages of a window: the hours of a day.
const MOST: usize = 24;

/// What one stage changes against the other flags. It changes at least one number.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// Active long flows. The connections of the others stay open and silent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long_flows: Option<u16>,
    /// Active RPC connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rpc_connections: Option<u32>,
    /// Hogs that spin on each set of CPUs that has hogs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hogs: Option<u16>,
}

impl FromStr for Stage {
    type Err = String;

    /// `long-flows=0 rpc-connections=32 hogs=2`, in any order, each at most once.
    fn from_str(text: &str) -> Result<Self, String> {
        const HELP: &str = "write a stage like \"long-flows=0 rpc-connections=32 hogs=2\"";
        let mut stage = Self::default();
        for word in text.split_whitespace() {
            let (name, number) = word.split_once('=').ok_or(format!("{word:?}: {HELP}"))?;
            let once = match name {
                "long-flows" => put(&mut stage.long_flows, number),
                "rpc-connections" => put(&mut stage.rpc_connections, number),
                "hogs" => put(&mut stage.hogs, number),
                _ => return Err(format!("{name:?} cannot be set in a stage; {HELP}")),
            };
            if !once.map_err(|error| format!("{word:?}: {error}; {HELP}"))? {
                return Err(format!("{name} is given twice"));
            }
        }
        if stage == Self::default() {
            return Err(format!("the stage is empty; {HELP}"));
        }
        Ok(stage)
    }
}

/// Parses a number into its place. False when the place is already taken.
fn put<T: FromStr>(place: &mut Option<T>, number: &str) -> Result<bool, T::Err> {
    Ok(place.replace(number.parse()?).is_none())
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = [
            ("long-flows", self.long_flows.map(u32::from)),
            ("rpc-connections", self.rpc_connections),
            ("hogs", self.hogs.map(u32::from)),
        ];
        let said = all.into_iter().filter_map(|(name, number)| Some(format!("{name}={}", number?)));
        f.write_str(&said.collect::<Vec<_>>().join(" "))
    }
}

/// Checks the number of stages.
///
/// # Errors
/// When there is only one stage, or there are too many.
pub fn check(stages: &[Stage]) -> Result<()> {
    ensure!(stages.len() != 1, "a single --stage does not shift the load: give at least two");
    ensure!(
        stages.len() <= MOST,
        "--stage is given {} times; at most {MOST} are allowed",
        stages.len()
    );
    Ok(())
}

/// The number that `of` finds in each stage, or `otherwise` if the stage does not set it. Without
/// stages, there is one stage with `otherwise`.
pub fn numbers<T: Copy>(stages: &[Stage], otherwise: T, of: fn(&Stage) -> Option<T>) -> Vec<T> {
    if stages.is_empty() {
        return vec![otherwise];
    }
    stages.iter().map(|stage| of(stage).unwrap_or(otherwise)).collect()
}

/// Whether the numbers differ between stages.
pub fn shifts(numbers: &[u16]) -> bool {
    numbers.windows(2).any(|two| two[0] != two[1])
}

/// When stage `index` of `count` begins, counted from the start of the window.
pub fn begin(window: Duration, index: usize, count: usize) -> Duration {
    window.mul_f64(index as f64 / count.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(long in any::<Option<u16>>(), rpc in any::<Option<u32>>(), hogs in 0..9u16) {
            let stage = Stage { long_flows: long, rpc_connections: rpc, hogs: Some(hogs) };
            prop_assert_eq!(stage.to_string().parse::<Stage>().unwrap(), stage);
        }

        #[test]
        fn stages_follow_each_other(ms in 1u64..600_000, count in 1usize..=MOST) {
            let window = Duration::from_millis(ms);
            prop_assert_eq!(begin(window, 0, count), Duration::ZERO);
            prop_assert_eq!(begin(window, count, count), window);
            for index in 0..count {
                prop_assert!(begin(window, index, count) < begin(window, index + 1, count));
            }
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (text, message) in [
            ("", "the stage is empty; write a stage like"),
            ("long-flows", "\"long-flows\": write a stage like"),
            ("long-flow=1", "\"long-flow\" cannot be set in a stage"),
            ("hogs=-1", "\"hogs=-1\": invalid digit"),
            ("hogs=70000", "\"hogs=70000\": number too large"),
            ("hogs=1 hogs=1", "hogs is given twice"),
        ] {
            let error = text.parse::<Stage>().unwrap_err();
            assert!(error.contains(message), "{text}: {error}");
        }
        let stages = |count| vec![Stage { hogs: Some(1), ..Stage::default() }; count];
        assert!(check(&stages(1)).unwrap_err().to_string().contains("give at least two"));
        assert!(check(&stages(25)).unwrap_err().to_string().contains("at most 24 are allowed"));
        assert!(check(&stages(0)).is_ok() && check(&stages(2)).is_ok());
    }

    #[test]
    fn what_a_stage_leaves_out_is_as_ever() {
        let stages: Vec<Stage> =
            ["long-flows=0", "hogs=1"].iter().map(|text| text.parse().unwrap()).collect();
        assert_eq!(numbers(&stages, 2, |stage| stage.long_flows), [0, 2]);
        assert_eq!(numbers(&[], 2, |stage| stage.long_flows), [2]);
    }
}
