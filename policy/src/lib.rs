//! What should happen: validated [`Settings`], and the [`Plan`] for a machine.
//!
//! Pure: no clock, no file system, no BPF. Everything here is tested without root.

mod plan;
mod settings;

pub use plan::{CpuPlace, Plan, PlannedNic};
pub use settings::{Classification, Placement, Settings, SettingsError};
