//! The checks. Each module has one topic: its rows of the table, and how they look.

pub(crate) mod cgroups;
pub(crate) mod config;
pub(crate) mod core_scheduling;
pub(crate) mod flow_control;
pub(crate) mod gain;
pub(crate) mod irqs;
pub(crate) mod kernel;
pub(crate) mod memory;
pub(crate) mod mtu;
pub(crate) mod offloads;
pub(crate) mod pci;
pub(crate) mod polling;
pub(crate) mod power;
pub(crate) mod rights;
pub(crate) mod rings;
pub(crate) mod rivals;
mod smbios;
pub(crate) mod softnet;
pub(crate) mod steering;
pub(crate) mod watchdog;
pub(crate) mod writers;
