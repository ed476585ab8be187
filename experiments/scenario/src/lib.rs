//! What runs on the measured machine and against it: the workload and its CPUs, the programs that
//! serve and drive it, and the loaded scheduler.

pub mod arm;
pub mod generator;
pub mod layout;
pub mod programs;
pub mod rpc_tool;
pub mod scheduler;
pub mod setup;
pub mod tuning;
pub mod workload;
