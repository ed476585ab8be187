//! The result of an A/B run: its file format (version 1), how it follows from the samples, and how
//! it reads on a terminal.

pub(crate) mod cli;
mod file;
pub(crate) mod metrics;
mod schema;
mod style;
mod summarize;
mod table;
pub(crate) mod targets;
#[cfg(test)]
mod tests;
mod types;

pub(crate) use style::{Style, UNKNOWN};
pub(crate) use summarize::summarize;
pub(crate) use table::table;
pub(crate) use types::{AbResult, Environment, Header, Sample, Workload, World};
