//! What a setting was before it was changed, and how it is put back.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::pause::Pause;
use steer_lab::agent::Link;
use steer_lab::steering::set;

/// A setting as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Was {
    /// The content of a file under /proc or /sys.
    File { path: String, value: String },
    /// The pause settings of a NIC.
    Pause { nic: String, pause: Pause },
}

impl Was {
    /// Whether it is an interrupt's affinity.
    pub(super) fn is_affinity(&self) -> bool {
        matches!(self, Self::File { path, .. } if path.starts_with("/proc/irq/"))
    }

    /// Puts it back; gives whether it was another. What is the same is not written: the kernel
    /// refuses to take some affinities, which nobody can have changed then.
    ///
    /// # Errors
    /// When it does not read back as it was.
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
