//! Archived runs: `steer-bench archive` makes an archive of a run, and `steer-bench results` makes
//! a page of all archived runs.

pub mod command;
pub mod results;
pub mod sums;
