//! The result of an A/B run: its file format (version 1), how it follows from the samples, and how
//! it reads on a terminal.

#[cfg(test)]
#[path = "../../tests/archived/mod.rs"]
pub(crate) mod archived;
mod brief;
pub(crate) mod cli;
mod cpu;
mod file;
#[cfg(test)]
#[path = "../../tests/measured/mod.rs"]
mod measured;
pub(crate) mod metrics;
mod schema;
mod stages;
mod style;
mod summarize;
mod table;
pub(crate) mod targets;
#[cfg(test)]
mod tests;
pub(crate) mod topology;
mod types;

pub(crate) use brief::brief;
pub(crate) use cpu::CpuRecord;
pub(crate) use file::write_whole;
pub(crate) use stages::stage_figures;
pub(crate) use style::{Style, UNKNOWN};
pub(crate) use summarize::summarize;
pub(crate) use table::table;
pub(crate) use types::{AbResult, Environment, Header, Sample, Workload, World};
