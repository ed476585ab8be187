//! Runs in the lab: the interleaved A/B, and what it is made of.

pub(crate) mod ab;
mod arm;
mod bed;
pub(crate) mod check;
mod cpu;
pub(crate) mod det;
mod environment;
pub(crate) mod experiment;
mod generator;
pub(crate) mod neutral;
mod rounds;
mod sample;
mod scheduler;
mod setup;
mod workload;
