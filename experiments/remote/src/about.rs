//! What results record about a machine that drives traffic. What cannot be read stays unknown.

use std::fs;

use serde::{Deserialize, Serialize};

/// A machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// Its processor.
    pub cpu: Option<String>,
    /// CPUs that this process may use.
    pub cpus: Option<u32>,
    /// Release of its kernel.
    pub kernel: Option<String>,
}

impl About {
    /// This machine.
    pub fn here() -> Self {
        let cpu_info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = |line: &str| {
            Some(line.strip_prefix("model name")?.split_once(": ")?.1.trim().to_owned())
        };
        let cpus = std::thread::available_parallelism().ok();
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").ok();
        Self {
            cpu: cpu_info.lines().find_map(model),
            cpus: cpus.and_then(|cpus| u32::try_from(cpus.get()).ok()),
            kernel: kernel.map(|release| release.trim().to_owned()),
        }
    }
}
