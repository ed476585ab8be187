//! `steer-bench cpu` in the guest, over the same window as the observer.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use steer_ground::text::words;
use steer_lab::agent::Link;
use steer_measure::CpuReport;
use steer_result::CpuRecord;

/// Name of the program among the agent's.
const JOB: &str = "cpu";

/// Opens the instruments before there is traffic, because opening them patches kernel code.
/// Measures for `duration` from the moment `window` on. Keeps the instruments open for another
/// `tail`, or until it is stopped.
pub(super) fn open(
    link: &mut Link,
    window: Instant,
    duration: Duration,
    tail: Duration,
) -> Result<()> {
    let lead = window.saturating_duration_since(Instant::now());
    let argv = format!(
        "steer-bench cpu --lead {} --duration {} --tail {} --json",
        lead.as_secs_f64(),
        duration.as_secs(),
        tail.as_secs()
    );
    link.spawn(JOB, &words(&argv))?;
    link.expect(JOB, "ready", tail)
}

/// Ends it, and returns its report.
pub(super) fn close(link: &mut Link) -> Result<CpuRecord> {
    let finished = link.stop(JOB)?;
    ensure!(finished.success(), "{}", finished.last_words());
    let report: CpuReport =
        serde_json::from_str(&finished.stdout).context("reading the report of steer-bench cpu")?;
    Ok(report.into())
}
