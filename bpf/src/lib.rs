//! What runs in the kernel, and the thin Rust around it.
//!
//! Two BPF objects: the [`Scheduler`] (sched_ext ops and socket telemetry) and the
//! [`Observer`] (tracing only). Their C is in `src/bpf/`; every decision there that
//! can be a pure function stands in a header that also compiles natively.
//!
//! Nothing here decides anything: settings and plans come from the caller as the
//! plain types of `intf.h`.

mod buckets;
mod counters;
pub mod intf;
mod observer;
mod origins;
mod plan;
mod policies;
mod scheduler;
mod stamps;
#[cfg(feature = "testing")]
mod telemetry;
mod threads;

pub use buckets::bucket_floor;
pub use counters::Counters;
pub use observer::{LoadedObserver, ObservedCgroup, Observer};
pub use origins::Origins;
pub use plan::Plan;
pub use policies::{CgroupEvent, Policies};
pub use scheduler::{LoadOptions, ProgramSize, Scheduler, Steering};
#[cfg(feature = "testing")]
pub use telemetry::Telemetry;
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
