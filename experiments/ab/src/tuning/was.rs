//! The old value of a setting, and how to put it back.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::pause::Pause;
use steer_lab::agent::Link;
use steer_lab::steering::set;

/// The old value of a setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Was {
    /// The content of a file under /proc or /sys.
    File { path: String, value: String },
    /// The pause settings of a NIC.
    Pause { nic: String, pause: Pause },
}

impl Was {
    /// Whether this is an interrupt's affinity.
    pub(super) fn is_affinity(&self) -> bool {
        matches!(self, Self::File { path, .. } if path.starts_with("/proc/irq/"))
    }

    /// Puts it back. Returns whether it had changed. Writes only if it had changed: the kernel
    /// refuses to write some affinities, which therefore cannot change either.
    ///
    /// # Errors
    /// It does not read back as the old value.
    pub(super) fn put_back(&self, link: &mut Link) -> Result<bool> {
        match self {
            Self::File { path, value } => {
                let other = link.read(path)? != *value;
                if other {
                    set(link, path, value)?;
                }
                Ok(other)
            }
            Self::Pause { nic, pause } => pause.set(link, nic),
        }
    }
}
