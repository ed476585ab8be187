//! What samples and runs need of the measured machine: a guest of the lab, or this host.

use std::ops::Range;
use std::time::{Duration, Instant};

use anyhow::{Error, Result};

use super::nic::NearNic;
use super::tuning::Journal;
use steer_ground::warning::Warning;
use steer_lab::agent::Link;
use steer_result::Environment;
use steer_scenario::layout::Layout;
use steer_scenario::workload::Workload;
use steer_traffic::client::ClientReport;

/// A machine that is ready for samples.
pub(super) trait Bed {
    /// The line to it.
    fn link(&mut self) -> &mut Link;

    /// Where the workload's programs run on it.
    fn layout(&self) -> &Layout;

    /// The NICs that the traffic comes in by; at least one.
    fn nics(&self) -> Vec<NearNic>;

    /// Where settings are written down before they are changed, on a machine that outlives the run.
    fn journal(&self) -> Option<Journal>;

    /// First source ports that the client may use, and what they are multiples of.
    fn source_ports(&self) -> (Range<u16>, u16);

    /// What results record of it.
    ///
    /// # Errors
    /// When it does not answer.
    fn environment(&mut self) -> Result<Environment>;

    /// Warnings about all that is measured on it.
    ///
    /// # Errors
    /// When it does not answer.
    fn warnings(&mut self) -> Result<Vec<Warning>>;

    /// Sets up a steering mode.
    ///
    /// # Errors
    /// When it does not take a setting.
    fn turn(&mut self, world: &str) -> Result<()>;

    /// Drives traffic to it from elsewhere. Returns the client's report, and when its window began.
    ///
    /// # Errors
    /// When the traffic fails.
    fn drive(
        &mut self,
        workload: &Workload,
        warmup: Duration,
        source_port: u16,
    ) -> Result<(ClientReport, Instant)>;

    /// Checks its kernel's log after a sample, and returns warnings.
    ///
    /// # Errors
    /// When the log makes the sample worthless.
    fn afterwards(&mut self) -> Result<Vec<Warning>>;

    /// Makes it ready again after a sample that failed. Returns the reason to take the sample again.
    ///
    /// # Errors
    /// When the sample need not be taken again: its error, and what is known about it.
    fn recover(&mut self, error: Error) -> Result<String>;
}
