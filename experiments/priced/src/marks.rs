//! What the plugin reports (`plugin/command.c`): a line of JSON for each mark that the guest sets.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// Picoseconds of a second.
const PS: f64 = 1e12;

/// Number of the mark at the end of what is measured; the one before it is at its start.
pub(crate) const MEASURED: u32 = 0x11;
/// Number of the mark that the plugin itself sets when the emulator ends.
pub(crate) const LAST: u32 = 0xff;

/// What happened since the mark before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Mark {
    /// Its number.
    pub(crate) mark: u32,
    /// The guest's clock.
    pub(crate) now_ps: u64,
    /// Since the mark before, by that clock.
    pub(crate) span_ps: u64,
    /// Times that all CPUs were idle, since the start.
    pub(crate) idle_jumps: u64,
    /// Every CPU of the guest.
    pub(crate) cpus: Vec<Cpu>,
}

/// What a CPU did since the mark before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Cpu {
    pub(crate) busy_ps: u64,
    pub(crate) instructions: u64,
    pub(crate) stall_ps: u64,
    pub(crate) accesses: u64,
    /// Accesses that the model looked up: the filter in front of it takes most.
    pub(crate) looked_up: u64,
    /// Where missing lines came from.
    pub(crate) from: BTreeMap<String, Lines>,
}

/// Lines from one place: the time they took, and their number by how much of it was hidden.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Lines {
    pub(crate) ps: u64,
    #[serde(flatten)]
    pub(crate) count: BTreeMap<String, u64>,
}

impl Mark {
    /// Seconds since the mark before.
    pub(crate) fn seconds(&self) -> f64 {
        self.span_ps as f64 / PS
    }
}

impl Cpu {
    /// Seconds in which it was not idle.
    pub(crate) fn busy_s(&self) -> f64 {
        self.busy_ps as f64 / PS
    }

    /// Seconds of these in which it waited for memory.
    pub(crate) fn stall_s(&self) -> f64 {
        self.stall_ps as f64 / PS
    }
}

/// Reads all marks.
///
/// # Errors
/// When a line is not what the plugin prints.
pub(crate) fn read(text: &str) -> Result<Vec<Mark>> {
    text.lines()
        .map(|line| serde_json::from_str(line).context("reading the model's marks"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read() {
        let line = r#"{"mark":17,"now_ps":7000000000000,"span_ps":200000000000,"quanta":1,
            "idle_jumps":2,"wakes":3,"cpus":[{"cpu":0,"busy_ps":100000000000,"instructions":5,
            "stall_ps":25000000000,"accesses":9,"looked_up":4,
            "from":{"dram":{"ps":7,"alone":2,"stream":3}}}]}"#;
        let marks = read(&line.replace('\n', "")).unwrap();
        let cpu = &marks[0].cpus[0];
        assert_eq!((marks[0].seconds(), cpu.busy_s(), cpu.stall_s()), (0.2, 0.1, 0.025));
        assert_eq!((cpu.from["dram"].ps, cpu.from["dram"].count["stream"]), (7, 3));
        assert!(read("{}\n").is_err());
    }
}
