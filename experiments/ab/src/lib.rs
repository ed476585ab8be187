//! The A/B method: the same workload under several arms, interleaved in random order, on the lab's
//! guest or on a host.

mod arms;
mod bed;
mod cpu;
mod environment;
pub mod experiment;
mod guest_bed;
mod host;
mod memory;
mod nic;
mod plan;
mod rounds;
mod run;
mod sample;
mod setup;
mod topology;
mod tuning;
mod unsupported;

pub use host::HostOptions;
pub use plan::AbPlan;
pub use rounds::RoundsOptions;
pub use run::run;
