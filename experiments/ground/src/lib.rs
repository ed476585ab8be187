//! What all crates of `steer-bench` share: starting programs, stopping on a signal, progress,
//! units, lists of CPUs, tables, warnings. It runs nothing of schedulers, traffic or the lab.

pub mod cpus;
pub mod progress;
pub mod spelled;
pub mod stop;
pub mod style;
pub mod text;
pub mod tool;
pub mod units;
pub mod warning;
pub mod word;
