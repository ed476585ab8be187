//! The bed: the machine that is measured, a guest of the lab or this host.

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
    /// The connection to it.
    fn link(&mut self) -> &mut Link;

    /// The CPUs on which the workload's programs run.
    fn layout(&self) -> &Layout;

    /// The NICs that carry the traffic; at least one.
    fn nics(&self) -> Vec<NearNic>;

    /// The journal of settings, on a machine that outlives the run.
    fn journal(&self) -> Option<Journal>;

    /// The range of the client's first source port, and the step between two choices.
    fn source_ports(&self) -> (Range<u16>, u16);

    /// What results record about it.
    ///
    /// # Errors
    /// It does not answer.
    fn environment(&mut self) -> Result<Environment>;

    /// Warnings that apply to everything measured on it.
    ///
    /// # Errors
    /// It does not answer.
    fn warnings(&mut self) -> Result<Vec<Warning>>;

    /// Sets up a steering mode.
    ///
    /// # Errors
    /// A setting cannot be changed.
    fn turn(&mut self, mode: &str) -> Result<()>;

    /// Drives traffic to it from elsewhere. Returns the client's report, and when its window began.
    ///
    /// # Errors
    /// The traffic fails.
    fn drive(
        &mut self,
        workload: &Workload,
        warmup: Duration,
        source_port: u16,
    ) -> Result<(ClientReport, Instant)>;

    /// Checks its kernel's log after a sample, and returns warnings.
    ///
    /// # Errors
    /// The log makes the sample worthless.
    fn afterwards(&mut self) -> Result<Vec<Warning>>;

    /// Makes it ready again after a failed sample. Returns the reason to take the sample again.
    ///
    /// # Errors
    /// Taking the sample again would not help. This is its error, with what is known about it.
    fn recover(&mut self, error: Error) -> Result<String>;
}
