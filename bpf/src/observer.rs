//! The observer object: load, attach, read the counters of every CPU.

use std::os::fd::AsRawFd;

use anyhow::{Context, Result, anyhow};
use libbpf_rs::{
    Link, MapCore, MapFlags, OpenProgramMut, ProgramInput,
    skel::{OpenSkel, Skel, SkelBuilder},
};

use rustix::process::Pid;

use crate::{
    KernelPlan, ObjectSlot,
    intf::{self, observed_cpu},
    origins::OriginMaps,
    probe, sampling,
    stamps::{self, Stamps},
    threads,
};

#[allow(
    missing_docs,
    unreachable_pub,
    clippy::all,
    clippy::undocumented_unsafe_blocks,
    clippy::unwrap_used
)]
mod skel {
    include!(concat!(env!("OUT_DIR"), "/observer_skel.rs"));
}
use skel::{ObserverSkel, ObserverSkelBuilder, OpenObserverProgs};

/// `BPF_F_TEST_RUN_ON_CPU` (include/uapi/linux/bpf.h), a macro and so not in the bindings.
const TEST_RUN_ON_CPU: u32 = 1;

/// Whose traffic is observed: a cgroup's threads and those of all below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObservedCgroup {
    /// The inode of its folder.
    pub id: u64,
    /// How far below the root it is; the root itself has 0.
    pub depth: u32,
}

/// How the observer learns what CPUs do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuTime {
    /// Exactly, from every switch, softirq and interrupt. These pay for it.
    Traced,
    /// From 99 samples per second and CPU. Only `run_ns`, `softirq_ns` and what socket events count
    /// is filled. Interrupts count as time of what they interrupt.
    Sampled,
}

/// The loaded programs; nothing is measured yet.
pub struct LoadedObserver<'obj> {
    skel: ObserverSkel<'obj>,
    /// The CPUs to sample; none if their time is traced.
    sampled: Vec<usize>,
}

/// The observer, counting from [`LoadedObserver::attach`] until dropped.
pub struct Observer<'obj> {
    skel: ObserverSkel<'obj>,
    traced: bool,
    _links: Vec<Link>,
    _stamps: Option<Stamps>,
}

impl<'obj> LoadedObserver<'obj> {
    /// Loads the object. Needs CAP_BPF and CAP_PERFMON, or root, but no sched_ext. If `cgroup` is
    /// given, traffic outside of it does not count.
    ///
    /// # Errors
    /// Whatever step failed: opening, a kernel without the tracepoints, the verifier.
    pub fn load(
        slot: &'obj mut ObjectSlot,
        classes: &intf::class_settings,
        plan: &KernelPlan,
        cgroup: Option<ObservedCgroup>,
        time: CpuTime,
    ) -> Result<Self> {
        let mut skel = ObserverSkelBuilder::default().open(slot).context("opening the observer")?;
        let rodata = skel.maps.rodata_data.as_mut().context("the object has no .rodata")?;
        intf::copy_to_skeleton(classes, &mut rodata.class_settings);
        if let Some(cgroup) = cgroup {
            rodata.observed_cgroup = cgroup.id;
            rodata.observed_depth = cgroup.depth;
        }
        rodata.sample_ns = sampling::INTERVAL_NS;
        rodata.tai_ahead_ns = stamps::tai_ahead_ns()?;
        rodata.own_namespace = plan.origins.namespace;
        rodata.smallest_napi = plan.origins.smallest_napi.unwrap_or(u32::MAX);
        let bss = skel.maps.bss_data.as_mut().context("the object has no .bss")?;
        plan.fill_cpus(&mut bss.cpu_plan);

        if time == CpuTime::Traced {
            probe::load_if_traceable(&mut skel.progs.observe_backlog);
        }
        let mut sampled = Vec::new();
        if time == CpuTime::Sampled {
            skel.progs.sample.set_autoload(true);
            for_cpu_time(&mut skel.progs).into_iter().for_each(|it| it.set_autoload(false));
            sampled = (0..).zip(&plan.cpus).filter(|(_, it)| it.online).map(|(n, _)| n).collect();
        }
        let skel = skel.load().context("loading the observer into the kernel")?;
        plan.origins.fill(&OriginMaps {
            napis: &skel.maps.nic_of_napi,
            interfaces: &skel.maps.nic_of_ifindex,
            peers: &skel.maps.nic_of_peer,
        })?;
        Ok(Self { skel, sampled })
    }

    /// Starts counting. Where time is traced, the kernel stamps packets from now on as they come in,
    /// as it does for any NTP daemon.
    ///
    /// # Errors
    /// A tracepoint or a timer could not be attached.
    pub fn attach(mut self) -> Result<Observer<'obj>> {
        self.skel.attach().context("attaching the observer's tracepoints")?;
        let progs = &self.skel.progs;
        let mut links = sampling::start(&progs.sample, self.sampled.iter().copied())?;
        // without, softirq time for such segments is divided as the rest of its CPU's
        links.extend(probe::attach_if_loaded(&progs.observe_backlog));
        let traced = self.sampled.is_empty();
        let stamps = traced.then(Stamps::on).transpose().context("having packets stamped")?;
        Ok(Observer { skel: self.skel, traced, _links: links, _stamps: stamps })
    }
}

/// The programs that nothing but exact times, moves and arrivals need.
fn for_cpu_time<'a, 'obj>(
    progs: &'a mut OpenObserverProgs<'obj>,
) -> [&'a mut OpenProgramMut<'obj>; 6] {
    [
        &mut progs.observe_switch,
        &mut progs.observe_migration,
        &mut progs.observe_irq_entry,
        &mut progs.observe_irq_exit,
        &mut progs.observe_segment,
        &mut progs.observe_copy,
    ]
}

impl Observer<'_> {
    /// Brings the counters of `online` CPUs up to date, then reads those of every possible CPU,
    /// indexed by CPU number.
    ///
    /// # Errors
    /// The kernel refused to read the map. A CPU that went offline meanwhile is no error.
    pub fn read(&self, online: impl IntoIterator<Item = u32>) -> Result<Vec<observed_cpu>> {
        for cpu in online.into_iter().filter(|_| self.traced) {
            let input = ProgramInput { cpu, flags: TEST_RUN_ON_CPU, ..Default::default() };
            // ENXIO: the CPU is offline by now; its counters are as they were when it left
            self.skel.progs.settle.test_run(input).ok();
        }
        let per_cpu = self
            .skel
            .maps
            .observed
            .lookup_percpu(&0u32.to_ne_bytes(), MapFlags::ANY)?
            .ok_or_else(|| anyhow!("the observer's counters are not in the map"))?;
        per_cpu.iter().map(|bytes| parse(bytes)).collect()
    }
}

impl Observer<'_> {
    /// What is known of the thread `tid`; `None` if it has ended or moved no data.
    ///
    /// # Errors
    /// The kernel refused to read the map.
    pub fn thread(&self, tid: u32) -> Result<Option<intf::thread_load>> {
        let pid = i32::try_from(tid).ok().and_then(Pid::from_raw).context("not a thread id")?;
        let Ok(thread) = threads::open(pid) else { return Ok(None) };
        let key = thread.as_raw_fd().to_ne_bytes();
        let found = self.skel.maps.threads.lookup(&key, MapFlags::ANY)?;
        let long = |bytes: &Vec<u8>| bytes.len() >= size_of::<intf::thread_load>();
        // SAFETY: long enough (checked), and any bit pattern is a valid struct of integers.
        let load = |bytes: Vec<u8>| unsafe { std::ptr::read_unaligned(bytes.as_ptr().cast()) };
        Ok(found.filter(long).map(load))
    }
}

fn parse(bytes: &[u8]) -> Result<observed_cpu> {
    anyhow::ensure!(bytes.len() >= size_of::<observed_cpu>(), "short value in the observer's map");
    // SAFETY: long enough (checked), and any bit pattern is a valid struct of integers.
    Ok(unsafe { std::ptr::read_unaligned(bytes.as_ptr().cast()) })
}
