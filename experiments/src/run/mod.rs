//! Runs in the lab and on hosts: the interleaved A/B, and what it is made of.

pub(crate) mod ab;
pub(crate) mod adapt;
mod arm;
mod bed;
pub(crate) mod check;
mod cpu;
pub(crate) mod det;
mod environment;
pub(crate) mod experiment;
mod generator;
mod guest_bed;
mod host;
mod layout;
mod memory;
pub(crate) mod neutral;
mod rounds;
mod rpc_tool;
mod sample;
mod scheduler;
mod setup;
mod topology;
mod tuning;
mod workload;
