//! Runs in the lab: the interleaved A/B, and what it is made of.

pub(crate) mod ab;
mod arm;
mod environment;
mod generator;
mod sample;
mod scheduler;
mod workload;
