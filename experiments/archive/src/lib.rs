//! Runs that are kept: `steer-bench archive` makes an archive of a run, `steer-bench results` the
//! page that all archived runs come to.

pub mod command;
pub mod results;
