//! The scheduler's socket telemetry by itself, for testing it and measuring its cost on a kernel
//! without sched_ext.

use anyhow::{Context, Result};
use libbpf_rs::skel::{OpenSkel, Skel, SkelBuilder};

use crate::{
    ObjectSlot,
    counters::{self, Counters},
    intf,
};

#[allow(
    missing_docs,
    unreachable_pub,
    clippy::all,
    clippy::undocumented_unsafe_blocks,
    clippy::unwrap_used
)]
mod skel {
    include!(concat!(env!("OUT_DIR"), "/telemetry_skel.rs"));
}
use skel::{TelemetrySkel, TelemetrySkelBuilder};

/// The telemetry, counting until dropped. No thread is placed by it.
pub struct Telemetry<'obj>(TelemetrySkel<'obj>);

impl<'obj> Telemetry<'obj> {
    /// Loads and attaches the hooks.
    ///
    /// # Errors
    /// Whatever step failed: opening, the verifier, a missing tracepoint.
    pub fn attach(slot: &'obj mut ObjectSlot, classes: &intf::class_settings) -> Result<Self> {
        let mut skel = TelemetrySkelBuilder::default().open(slot).context("opening telemetry")?;
        let bss = skel.maps.bss_data.as_mut().context("the object has no .bss")?;
        intf::copy_to_skeleton(classes, &mut bss.policies[0].classes);
        let mut skel = skel.load().context("loading the telemetry into the kernel")?;
        skel.attach().context("attaching the telemetry's tracepoints")?;
        Ok(Self(skel))
    }

    /// The counters; only those of flows move.
    ///
    /// # Errors
    /// The kernel refused to read the counter map.
    pub fn counters(&self) -> Result<Counters> {
        counters::read(&self.0.maps.counters)
    }
}
