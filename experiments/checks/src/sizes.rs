//! Program sizes: compares what the kernel's verifier made of scx_steer with the record. So a change
//! that makes a program much larger, or much longer to verify, shows at once.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::bench::Bench;
use super::status::{Program, status};

/// The record, from the root of the repository.
pub(super) const RECORD: &str = "experiments/program-sizes.json";
/// How much a program may grow without a new record.
const GROWTH: f64 = 1.2;

/// The size of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Size {
    /// Instructions after the kernel's rewriting.
    instructions: u32,
    /// Instructions that the verifier walked through; it stops at a million.
    verified: u32,
}

/// Sizes by program.
type Sizes = BTreeMap<String, Size>;
/// Sizes by kernel series.
type Record = BTreeMap<String, Sizes>;

/// Compares with the record or, if asked, makes a new one for this kernel series.
pub(super) fn as_recorded(bench: &mut Bench) -> Result<()> {
    let series = series(&bench.guest.release);
    let sizes = |Program { name, instructions, verified }| (name, Size { instructions, verified });
    let sizes: Sizes = status(bench)?.programs.into_iter().map(sizes).collect();
    ensure!(!sizes.is_empty(), "the status has no programs");
    let sum = |size: fn(&Size) -> u32| sizes.values().map(size).sum::<u32>();
    bench.figures = format!(
        ": {} programs, {} instructions, {} verified",
        sizes.len(),
        sum(|size| size.instructions),
        sum(|size| size.verified)
    );
    let path = Path::new(RECORD);
    let mut record: Record = match fs::read_to_string(path) {
        Ok(text) => serde_json::from_str(&text).with_context(|| format!("reading {RECORD}"))?,
        Err(_) if bench.record => Record::new(),
        Err(error) => return Err(error).with_context(|| format!("reading {RECORD}")),
    };
    if bench.record {
        record.insert(series, sizes);
        let text = serde_json::to_string_pretty(&record)? + "\n";
        return fs::write(path, text).with_context(|| format!("writing {RECORD}"));
    }
    let recorded = record.get(&series);
    let recorded =
        recorded.with_context(|| format!("{RECORD} has no kernel {series}: --record"))?;
    let grown = grown(recorded, &sizes);
    ensure!(grown.is_empty(), "{}; if that is meant: lab test --record", grown.join("; "));
    Ok(())
}

/// `6.18` of `6.18.15+deb13-cloud-amd64`.
fn series(release: &str) -> String {
    release.split('.').take(2).collect::<Vec<_>>().join(".")
}

/// The programs that grew by more than is allowed, or are not on record.
fn grown(recorded: &Sizes, sizes: &Sizes) -> Vec<String> {
    let mut said = Vec::new();
    for (name, size) in sizes {
        let Some(before) = recorded.get(name) else {
            said.push(format!("{name} is not on record"));
            continue;
        };
        for (what, before, now) in [
            ("instructions", before.instructions, size.instructions),
            ("verified instructions", before.verified, size.verified),
        ] {
            if f64::from(now) > f64::from(before) * GROWTH {
                said.push(format!("{name} grew from {before} to {now} {what}"));
            }
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(verified: u32) -> Sizes {
        [("steer_tick".to_owned(), Size { instructions: 100, verified })].into()
    }

    #[test]
    fn a_record_is_of_a_kernel_series() {
        assert_eq!(series("6.18.15+deb13-cloud-amd64"), "6.18");
    }

    #[test]
    fn growth_beyond_a_fifth_is_told() {
        assert!(grown(&sizes(1000), &sizes(1200)).is_empty());
        assert!(grown(&sizes(1000), &sizes(10)).is_empty());
        let told = ["steer_tick grew from 1000 to 1201 verified instructions"];
        assert_eq!(grown(&sizes(1000), &sizes(1201)), told);
        assert_eq!(grown(&Sizes::new(), &sizes(1)), ["steer_tick is not on record"]);
    }
}
