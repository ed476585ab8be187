//! The result of an A/B run: its file format (version 1), how it follows from the samples, and how
//! it reads on a terminal.

pub mod archive;
#[cfg(test)]
#[path = "../tests/archived/mod.rs"]
pub mod archived;
mod brief;
#[cfg(test)]
mod coverage;
mod cpu;
mod environment;
mod file;
mod layout;
#[cfg(test)]
#[path = "../tests/measured/mod.rs"]
mod measured;
pub mod metrics;
mod mode;
mod observer;
mod older;
mod older_warnings;
mod rounds;
mod sample;
mod schema;
pub mod spec;
mod stages;
mod summarize;
mod table;
pub mod targets;
#[cfg(test)]
mod tests;
pub mod topology;
mod types;
mod warnings;
mod workload;

pub use brief::brief;
pub use cpu::{Counter, CpuRecord};
pub use environment::{Environment, PRICED};
pub use file::write_whole;
pub use mode::{Mode, Summary};
pub use observer::{CpuShares, ObserverReport, Timeline};
pub use sample::Sample;
pub use schema::schema;
pub use stages::stage_figures;
pub use summarize::summarize;
pub use table::table;
pub use types::{AbResult, Header, Unfinished};
pub use workload::Workload;
