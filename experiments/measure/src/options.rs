//! What to measure.

use steer_ground::cpus::CpuList;
use steer_ground::units::Seconds;

/// What to measure, and for how long.
#[derive(Debug, Clone)]
pub struct CpuOptions {
    /// Measure for this long. Ctrl-C ends the measurement early, and the report covers the time so
    /// far.
    pub duration: Seconds,
    /// Open the instruments, print "ready", and start measuring this long after the start.
    pub lead: Seconds,
    /// Keep the instruments open this long after measuring, or until a signal.
    pub tail: Seconds,
    /// Also count the events of this cgroup and the cgroups below it.
    pub cgroup: Option<String>,
    /// Measure only these CPUs, like 0-1,4.
    pub cpus: Option<CpuList>,
    /// Print JSON instead of text.
    pub json: bool,
}
