//! The traffic: a server of sinks and RPCs, CPU hogs, and the client that drives and times them.

pub(crate) mod client;
pub(crate) mod contend;
pub(crate) mod cpus;
mod files;
pub(crate) mod generator;
pub(crate) mod hog;
pub(crate) mod load;
pub(crate) mod long;
mod poll;
pub(crate) mod server;
pub(crate) mod stage;
pub(crate) mod stop;
pub(crate) mod trace;
pub(crate) mod units;
mod wire;

use std::time::Duration;

/// How often a thread that waits looks whether it shall go on.
const LOOK: Duration = Duration::from_millis(100);
