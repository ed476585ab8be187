//! What runs in the kernel, and the thin Rust around it.
//!
//! There are two BPF objects: the [`Scheduler`] (sched_ext ops and socket telemetry) and the
//! [`Observer`] (tracing only). Their C is in `src/bpf/`. Every decision there that can be a pure
//! function is in a header that also compiles natively.
//!
//! This crate decides nothing: settings and plans come from the caller as the plain types of
//! `intf.h`.

mod buckets;
mod cgroup_events;
mod counters;
pub mod intf;
mod kernel_plan;
mod limits;
mod observer;
mod origins;
mod policies;
#[cfg(feature = "testing")]
mod policy_object;
mod probe;
mod realtime;
mod sampling;
mod scheduler;
mod stamps;
mod swap;
#[cfg(feature = "testing")]
mod telemetry;
mod threads;

pub use buckets::bucket_floor;
pub use cgroup_events::CgroupEvent;
pub use counters::Counters;
pub use kernel_plan::KernelPlan;
pub use limits::Limit;
pub use observer::{CpuTime, LoadedObserver, ObservedCgroup, Observer};
pub use origins::Origins;
#[cfg(feature = "testing")]
pub use policy_object::{PolicyObject, Seen};
pub use probe::may_call_bpf;
pub use scheduler::{Exit, LoadOptions, ProgramSize, Scheduler, Steering};
pub use swap::{Policies, Step};
#[cfg(feature = "testing")]
pub use telemetry::{Nothing, Telemetry};
pub use threads::Threads;

/// Where libbpf keeps an opened object; it must outlive what is loaded from it.
pub type ObjectSlot = std::mem::MaybeUninit<libbpf_rs::OpenObject>;

/// Sends libbpf's messages to the log: warnings as such, the rest as debug messages.
pub fn log_libbpf() {
    libbpf_rs::set_print(Some((libbpf_rs::PrintLevel::Debug, |level, message| {
        let message = message.trim_end();
        match level {
            libbpf_rs::PrintLevel::Warn => log::warn!("{message}"),
            _ => log::debug!("{message}"),
        }
    })));
}
