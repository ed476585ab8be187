//! What stands on the command line, and how it becomes what the other crates work with: each file
//! has the flags of a subcommand, or of a group that several share, and their conversion.

pub(crate) mod ab;
pub(crate) mod agent;
pub(crate) mod archive;
pub(crate) mod checks;
mod choice;
pub(crate) mod client;
pub(crate) mod cpu;
pub(crate) mod det;
pub(crate) mod experiment;
pub(crate) mod guest;
pub(crate) mod hog;
mod host;
pub(crate) mod report;
pub(crate) mod results;
mod rounds;
pub(crate) mod server;
mod setup;
pub(crate) mod trials;
mod workload;
