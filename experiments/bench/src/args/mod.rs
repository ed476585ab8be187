//! The flags, and their conversion to the plain values of the other crates. Each file has the flags
//! of a subcommand, or of a group that several subcommands share.

pub(crate) mod ab;
pub(crate) mod agent;
pub(crate) mod archive;
pub(crate) mod checks;
mod choice;
pub(crate) mod client;
pub(crate) mod contracts;
pub(crate) mod cpu;
pub(crate) mod det;
pub(crate) mod experiment;
pub(crate) mod guest;
pub(crate) mod hog;
mod host;
pub(crate) mod priced;
mod priced_ab;
pub(crate) mod report;
pub(crate) mod results;
mod rounds;
pub(crate) mod server;
mod setup;
pub(crate) mod trials;
mod workload;
