//! `steer-bench priced`: a guest whose clock is a model of a machine. Each CPU has its own time:
//! instructions, and the stalls of caches, NUMA and DMA, at the prices of a machine's file. So
//! throughput per core can be compared where the live tier cannot price memory. The emulator's part
//! is in `experiments/lab/emulator`, the model in `plugin/`.

pub mod ab;
pub mod adapt;
mod bench;
mod branch;
pub mod calibrate;
pub mod clock;
pub mod fidelity;
pub mod flow;
mod flows;
pub mod guard;
mod guest;
mod hardware;
mod machine;
mod marks;
pub mod neutral;
pub mod profile;
mod tools;
mod written;

pub use bench::BenchOptions;
