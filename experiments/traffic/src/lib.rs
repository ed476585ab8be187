//! The traffic: a server of sinks and RPCs, CPU hogs, and the client that drives and times them.

pub mod client;
pub mod contend;
mod files;
pub mod generator;
pub mod hog;
pub mod load;
pub mod long;
mod poll;
pub mod server;
pub mod stage;
pub mod trace;
pub mod wake;
mod wire;

use std::time::Duration;

pub use wire::{LONG_OUT_PORT, LONG_PORT, MAX_MESSAGE, RPC_PORT};

/// How often a waiting thread checks whether to continue.
const LOOK: Duration = Duration::from_millis(100);
