//! What all trials of `scx_steer nic` need: a device, the program under test, and the trial of a mode.

pub(crate) mod modes;
pub(crate) mod place;
pub(crate) mod subject;
