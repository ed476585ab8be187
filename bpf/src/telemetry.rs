//! The scheduler's socket telemetry by itself: for tests, and to measure its cost, on a kernel
//! without sched_ext.

use std::{
    mem::MaybeUninit,
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd},
        unix::fs::MetadataExt,
    },
    slice,
};

use anyhow::{Context, Result};
use libbpf_rs::{
    Link, MapCore, MapFlags, MapMut,
    skel::{OpenSkel, Skel, SkelBuilder},
};
use rustix::process::Pid;

use crate::{
    ObjectSlot,
    counters::{self, Counters},
    intf::{self, task_ctx},
    threads::{self, Threads},
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

/// A program that does nothing at each receive, until dropped.
pub struct Nothing(#[expect(dead_code, reason = "held to stay attached")] Link);

impl<'obj> Telemetry<'obj> {
    /// Loads and attaches the hooks.
    ///
    /// # Errors
    /// Whatever step failed: opening, the verifier, a missing tracepoint.
    pub fn attach(slot: &'obj mut ObjectSlot, classes: &intf::class_settings) -> Result<Self> {
        let mut skel = TelemetrySkelBuilder::default().open(slot).context("opening telemetry")?;
        let rodata = skel.maps.rodata_data.as_mut().context("the object has no .rodata")?;
        let namespace = std::fs::metadata("/proc/thread-self/ns/net").context("reading procfs")?;
        // the kernel numbers namespaces in 32 bits
        rodata.own_namespace = namespace.ino() as u32;
        let bss = skel.maps.bss_data.as_mut().context("the object has no .bss")?;
        intf::copy_to_skeleton(classes, &mut bss.policies[0].classes);
        skel.progs.nothing.set_autoattach(false);
        let mut skel = skel.load().context("loading the telemetry into the kernel")?;
        skel.attach().context("attaching the telemetry's tracepoints")?;
        Ok(Self(skel))
    }

    /// From now on, what comes in by this interface is of this NIC.
    ///
    /// # Errors
    /// The kernel refused to write its table.
    pub fn set_nic(&self, ifindex: u32, nic: u32) -> Result<()> {
        let (key, value) = (ifindex.to_ne_bytes(), nic.to_ne_bytes());
        self.0.maps.nic_of_ifindex.update(&key, &value, MapFlags::ANY).context("naming the NIC")
    }

    /// Also runs the program `nothing` at each receive: its time, as the kernel counts it, is that of
    /// the counting.
    ///
    /// # Errors
    /// It cannot be attached.
    pub fn add_nothing(&self) -> Result<Nothing> {
        let link =
            self.0.progs.nothing.attach().context("attaching a program that does nothing")?;
        Ok(Nothing(link))
    }

    /// From now on the kernel sends by `to` what `from` receives: one of its workers does.
    ///
    /// # Errors
    /// The kernel refused a socket or the program.
    pub fn relay(&self, from: BorrowedFd<'_>, to: BorrowedFd<'_>) -> Result<()> {
        let maps = &self.0.maps;
        let put = |map: &MapMut<'_>, socket: BorrowedFd<'_>| {
            let (key, socket) = (0u32.to_ne_bytes(), socket.as_raw_fd().to_ne_bytes());
            map.update(&key, &socket, MapFlags::ANY).context("putting a socket into a map")
        };
        put(&maps.relay_to, to)?;
        let relay = &self.0.progs.relay;
        relay.attach_sockmap(maps.relay_from.as_fd().as_raw_fd()).context("attaching the relay")?;
        put(&maps.relay_from, from)
    }

    /// Gives a thread the storage that the scheduler gives every thread, so that its traffic is
    /// charged to it.
    ///
    /// # Errors
    /// The thread has ended, or before kernel 6.9, which has no descriptors of threads.
    pub fn follow(&self, thread: Pid) -> Result<()> {
        let thread = threads::open(thread).context("opening a descriptor of the thread")?;
        // as ops.init_task leaves it, with zeros between the fields
        let mut task = MaybeUninit::<task_ctx>::zeroed();
        // SAFETY: all its fields are numbers and bools, for which zero is a value.
        let fields = unsafe { task.assume_init_mut() };
        (fields.target_cpu, fields.left_home_cpu) = (-1, -1);
        // SAFETY: every byte is initialized, see above.
        let bytes = unsafe { slice::from_raw_parts(task.as_ptr().cast(), size_of::<task_ctx>()) };
        let key = thread.as_raw_fd().to_ne_bytes();
        self.0.maps.tasks.update(&key, bytes, MapFlags::ANY).context("giving the thread storage")
    }

    /// The threads that are followed, and what is known of them.
    ///
    /// # Errors
    /// The kernel refused to say which map it is.
    pub fn threads(&self) -> Result<Threads> {
        Threads::of(&self.0.maps.tasks)
    }

    /// The counters. Only those of flows change.
    ///
    /// # Errors
    /// The kernel refused to read the counter map.
    pub fn counters(&self) -> Result<Counters> {
        counters::read(&self.0.maps.counters)
    }
}
