//! `--workload traffic`: the instructions of an RPC and of a KiB of long flow, scheduler included.
//!
//! The guest's CPUs run in turns, and the clock advances for all of them meanwhile. So CPU time is
//! not a count of instructions. But busy CPUs take equal turns, so shares of CPU time are shares of
//! instructions. The clock gives the sum of all instructions, because hogs keep some CPU busy at
//! all times.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use steer_lab::qemu::NANOSECONDS_PER_INSTRUCTION;

/// Client and server both run in the guest, so every byte is both sent and received there. A
/// request is a message at one end, and its reply is one at the other.
const ENDS: f64 = 2.0;

/// What the traffic costs at both ends together, in kernel and user space, including softirq and
/// the scheduler. `None` if there was no such traffic.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Instructions {
    /// How many of the guest's CPUs were busy, on average.
    pub(super) busy_cpus: f64,
    per_rpc: Option<f64>,
    per_long_kib: Option<f64>,
}

/// The needed part of the observer's report.
#[derive(Deserialize)]
struct Observed {
    duration_s: f64,
    long: Class,
    short: Class,
    none: Class,
}

#[derive(Deserialize)]
struct Class {
    cpu_s: f64,
    softirq_s: f64,
    #[serde(default)]
    bytes_received: f64,
    #[serde(default)]
    bytes_sent: f64,
    #[serde(default)]
    messages: f64,
}

impl Class {
    fn seconds(&self) -> f64 {
        self.cpu_s + self.softirq_s
    }
}

/// Computes the costs from the observer's report.
///
/// # Errors
/// When it is not such a report.
pub(super) fn instructions(observe: &Value) -> Result<Instructions> {
    let Observed { duration_s, long, short, none } =
        Observed::deserialize(observe).context("reading the observer's report")?;
    let busy_cpus = (long.seconds() + short.seconds() + none.seconds()) / duration_s;
    let per_second = 1e9 / f64::from(NANOSECONDS_PER_INSTRUCTION) / busy_cpus;
    let per = |class: &Class, amount: f64| {
        (amount > 0.0).then(|| (per_second * class.seconds() / (amount / ENDS)).round())
    };
    Ok(Instructions {
        busy_cpus,
        per_rpc: per(&short, short.messages),
        per_long_kib: per(&long, (long.bytes_received + long.bytes_sent) / 1024.0),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn shares_of_cpu_time_are_shares_of_what_the_clock_counted() {
        // 4 s are a thousand million instructions; 2.5 of 4 CPUs were busy
        let mut observe = json!({
            "duration_s": 4.0,
            "long": {"cpu_s": 1.5, "softirq_s": 0.5, "bytes_received": 1024000, "bytes_sent": 1024000},
            "short": {"cpu_s": 2.0, "softirq_s": 1.0, "messages": 4000, "bytes_sent": 1},
            "none": {"cpu_s": 5.0, "softirq_s": 0.0},
        });
        let expected = Instructions {
            busy_cpus: 2.5,
            per_rpc: Some(150_000.0),
            per_long_kib: Some(200_000.0),
        };
        assert_eq!(instructions(&observe).unwrap(), expected);
        observe["short"]["messages"] = 0.into();
        assert_eq!(instructions(&observe).unwrap().per_rpc, None);
        observe["none"] = Value::Null;
        let error = instructions(&observe).unwrap_err();
        assert!(format!("{error:#}").starts_with("reading the observer's report"), "{error:#}");
    }
}
