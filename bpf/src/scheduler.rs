//! The scheduler object: open, load, attach, read, report.

use anyhow::{Context, Result, ensure};
use std::collections::BTreeSet;

use libbpf_rs::{
    AsRawLibbpf, Link, MapHandle, OpenMapMut,
    libbpf_sys::bpf_map__set_autoattach,
    query::{ProgInfoIter, ProgInfoQueryOptions},
    skel::Skel,
};
use log::warn;
use scx_utils::{
    ScxExitKind, compat, libbpf_clap_opts::LibbpfOpts, read_cpulist, scx_ops_attach, scx_ops_load,
    scx_ops_open, uei_exited, uei_read,
};
use serde::{Deserialize, Serialize};

use crate::{
    KernelPlan, ObjectSlot, Origins,
    cgroup_events::CgroupEvents,
    counters::{self, Counters},
    intf,
    limits::{self, Limit},
    origins::OriginMaps,
    probe,
    realtime::Realtime,
    swap,
};

#[allow(
    missing_docs,
    unreachable_pub,
    clippy::all,
    clippy::undocumented_unsafe_blocks,
    clippy::unwrap_used
)]
mod skel {
    include!(concat!(env!("OUT_DIR"), "/steer_skel.rs"));
}
use skel::{OpenSteerSkel, SteerSkel, SteerSkelBuilder};

/// How to load, apart from what to schedule by.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// Bytes of debug dump to keep when the kernel ejects the scheduler; 0 = the kernel's default.
    pub exit_dump_len: u32,
    /// [`Scheduler::hotplug_seq`] from before the machine was read.
    pub hotplug_seq: u64,
    /// Whether the kernel can hang if a thread with a core scheduling cookie runs under sched_ext: then
    /// a host that has one refuses the scheduler.
    pub cookies_hang: bool,
    /// Passed on to libbpf.
    pub libbpf: LibbpfOpts,
}

/// How large a program is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ProgramSize {
    /// Its name.
    pub name: String,
    /// Instructions after the kernel's rewriting.
    pub instructions: usize,
    /// Instructions the verifier walked through on all paths; it stops at a million.
    pub verified: u32,
}

/// Whether a NIC's packets follow threads, as learned from moves (`steering.bpf.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Steering {
    /// They do (RFS, aRFS, XPS with ATR).
    Follows,
    /// They arrive where the NIC or its driver puts them (RSS, ntuple rules).
    Fixed,
    /// Too few threads have moved so far.
    Unknown,
}

/// Why the scheduler ended without an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// This program or the user ended it.
    Unloaded,
    /// A CPU was about to leave, and the scheduler left first (`hotplug.bpf.h`). Load it again.
    BeforeCpuLeft,
    /// The kernel reported that a CPU came or went. Load it again.
    CpusChanged,
}

/// The scheduler, in force from [`Scheduler::attach`] until dropped.
pub struct Scheduler<'obj> {
    pub(crate) skel: SteerSkel<'obj>,
    /// The table of cgroups in force; `None` while there are no policies.
    pub(crate) cgroups: Option<MapHandle>,
    pub(crate) events: CgroupEvents,
    link: Option<Link>,
    _polls: [Option<Link>; 2],
}

impl<'obj> Scheduler<'obj> {
    /// Loads the object and puts the scheduler in force.
    ///
    /// # Errors
    /// Whatever step failed: opening, the verifier, another scheduler in force.
    pub fn attach(
        slot: &'obj mut ObjectSlot,
        options: &LoadOptions,
        default: &intf::thread_policy,
        places: &intf::place_settings,
        plan: &KernelPlan,
    ) -> Result<Self> {
        let builder = SteerSkelBuilder::default();
        let open_opts = options.libbpf.clone().into_bpf_open_opts();
        let mut skel = scx_ops_open!(builder, slot, steer_ops, open_opts)?;
        skel.struct_ops.steer_ops_mut().exit_dump_len = options.exit_dump_len;
        skel.struct_ops.steer_ops_mut().hotplug_seq = options.hotplug_seq;
        leave_to_scx(&skel.maps.steer_ops);

        fit_to_kernel(&mut skel)?;

        let rodata = skel.maps.rodata_data.as_mut().context("the object has no .rodata")?;
        intf::copy_to_skeleton(places, &mut rodata.place_settings);
        rodata.nr_shards = plan.nr_shards;
        rodata.cookies_hang = options.cookies_hang;
        plan.count_cpus(&mut rodata.cpus_of_shard);
        rodata.own_namespace = plan.origins.namespace;
        rodata.smallest_napi = plan.origins.smallest_napi.unwrap_or(u32::MAX);
        let bss = skel.maps.bss_data.as_mut().context("the object has no .bss")?;
        plan.fill_cpus(&mut bss.cpu_plan);
        swap::write(&mut bss.policies, std::slice::from_ref(default), 0);

        let mut skel = scx_ops_load!(skel, steer_ops, uei)?;
        fill_origins(&skel, &plan.origins)?;
        let events = CgroupEvents::from(&skel.maps.cgroup_events)?;
        let realtime = Realtime::where_needed();
        let link = scx_ops_attach!(skel, steer_ops)?;
        drop(realtime);
        let polls = [&skel.progs.telemetry_polls, &skel.progs.telemetry_ring_polls];
        let _polls = polls.map(probe::attach_if_loaded);
        Ok(Self { skel, cgroups: None, events, link: Some(link), _polls })
    }

    /// The kernel's count of CPUs that came or went. The kernel refuses a scheduler that brings
    /// another count, and asks it to restart.
    ///
    /// # Errors
    /// The kernel has no sched_ext.
    pub fn hotplug_seq() -> Result<u64> {
        let path = "/sys/kernel/sched_ext/hotplug_seq";
        let text = std::fs::read_to_string(path).with_context(|| format!("reading {path}"))?;
        text.trim().parse().with_context(|| format!("{path} holds {text:?}"))
    }

    /// Follows a change of the machine's NICs. The shards cannot change.
    ///
    /// # Errors
    /// The kernel refused an update of a table.
    pub fn update_plan(&mut self, plan: &KernelPlan) -> Result<()> {
        let bss = self.skel.maps.bss_data.as_mut().context("the object has no .bss")?;
        plan.fill_cpus(&mut bss.cpu_plan);
        // NICs may have new numbers: forget what was learned by number
        for steering in &mut bss.nic_steering {
            *steering = Default::default();
        }
        self.update_origins(&plan.origins)
    }

    /// Follows a change of how NICs are found. The NICs themselves have not changed.
    ///
    /// # Errors
    /// The kernel refused an update of a table.
    pub fn update_origins(&mut self, origins: &Origins) -> Result<()> {
        fill_origins(&self.skel, origins)?;
        let data = self.skel.maps.data_data.as_mut().context("the object has no .data")?;
        data.plan_generation += 1;
        Ok(())
    }

    /// Sums of the decision counters since attach, indexed by `steer_counter`.
    ///
    /// # Errors
    /// The kernel refused to read the counter map.
    pub fn counters(&self) -> Result<Counters> {
        counters::read(&self.skel.maps.counters)
    }

    /// The cgroups with a limit (cpu.max), and how often each was reached since attach.
    ///
    /// # Errors
    /// The kernel refused to read the table.
    pub fn limits(&self) -> Result<Vec<Limit>> {
        limits::read(&self.skel.maps.groups)
    }

    /// Cgroups that found no place in the table. Their own weights and limits do not hold.
    pub fn lost_cgroups(&self) -> u64 {
        self.skel.maps.bss_data.as_ref().map_or(0, |bss| bss.groups_lost)
    }

    /// What was learned of the steering of NIC number `nic` of the plan.
    pub fn steering(&self, nic: usize) -> Steering {
        let settled = intf::STEERING_SETTLED as i32;
        let learned = self.skel.maps.bss_data.as_ref().and_then(|bss| bss.nic_steering.get(nic));
        match learned.map_or(0, |steering| steering.score) {
            score if score >= settled => Steering::Follows,
            score if score <= -settled => Steering::Fixed,
            _ => Steering::Unknown,
        }
    }

    /// Is the core with this lowest CPU number left to short-flow threads just now?
    pub fn is_reserved(&self, core: u32) -> bool {
        let bss = self.skel.maps.bss_data.as_ref();
        let core = bss.and_then(|bss| bss.cores.get(core as usize));
        // SAFETY: .bss begins as zeroes, and BPF writes only true and false
        core.is_some_and(|core| unsafe { core.reserved.assume_init() })
    }

    /// The loaded programs, by name.
    ///
    /// # Errors
    /// The kernel refused to describe one.
    pub fn programs(&self) -> Result<Vec<ProgramSize>> {
        let own = self.skel.object().progs().map(|prog| prog.name().to_owned());
        let own: BTreeSet<_> = own.collect();
        let mut sizes: Vec<_> = ProgInfoIter::with_query_opts(
            ProgInfoQueryOptions::default().include_xlated_prog_insns(true),
        )
        .filter_map(|info| {
            // the kernel keeps 15 bytes of a name
            let name = info.name.to_str()?;
            let full = own.iter().find(|own| own.to_string_lossy().starts_with(name))?;
            Some(ProgramSize {
                name: full.to_string_lossy().into_owned(),
                // struct bpf_insn has 8 bytes
                instructions: info.xlated_prog_insns.len() / 8,
                verified: info.verified_insns,
            })
        })
        .collect();
        sizes.sort();
        sizes.dedup();
        Ok(sizes)
    }

    /// Has the kernel ejected the scheduler?
    pub fn exited(&self) -> bool {
        uei_exited!(&self.skel, uei)
    }

    /// Takes the scheduler out of force and reports why it ended. If the kernel left a dump, that
    /// goes to stderr.
    ///
    /// # Errors
    /// It ended by an error: a bug, a stall, a lost CPU. That an administrator ended it (SysRq-S) is
    /// none.
    pub fn detach(mut self) -> Result<Exit> {
        self.link = None;
        let exit = uei_read!(&self.skel, uei);
        let data = self.skel.maps.data_data.as_ref().context("the object has no .data")?;
        let kind = data.uei.kind;
        match exit.report() {
            Err(error) if kind == ScxExitKind::SysRq as i32 => warn!("{error:#}"),
            reported => reported?,
        }
        Ok(match exit.should_restart() {
            false => Exit::Unloaded,
            true if kind == ScxExitKind::UnregBPF as i32 => Exit::BeforeCpuLeft,
            true => Exit::CpusChanged,
        })
    }
}

/// Keeps libbpf from attaching the scheduler with the other programs, which it would warn that it
/// cannot do: `scx_ops_attach` attaches it after them.
fn leave_to_scx(ops: &OpenMapMut<'_>) {
    // SAFETY: the pointer is that of a map which is open and, by the type, neither loaded nor freed.
    unsafe { bpf_map__set_autoattach(ops.as_libbpf_object().as_ptr(), false) };
}

/// Adapts what differs by kernel.
fn fit_to_kernel(skel: &mut OpenSteerSkel<'_>) -> Result<()> {
    ensure!(
        compat::struct_has_field("sched_ext_ops", "cgroup_init")?,
        "on this kernel no sched_ext scheduler can keep the weights and limits of cgroups: boot one \
         built with CONFIG_EXT_GROUP_SCHED=y"
    );
    let ops = skel.struct_ops.steer_ops_mut();
    ops.flags = *compat::SCX_OPS_ENQ_LAST
        | *compat::SCX_OPS_ENQ_EXITING
        | *compat::SCX_OPS_ENQ_MIGRATION_DISABLED
        | *compat::SCX_OPS_ALLOW_QUEUED_WAKEUP
        | *compat::SCX_OPS_BUILTIN_IDLE_PER_NODE;
    // Since 6.19, threads may be queued anew from anywhere; cpu_release is deprecated.
    let anywhere = compat::ksym_exists("scx_bpf_reenqueue_local___v2")?;
    if anywhere {
        ops.cpu_release = std::ptr::null_mut();
        skel.progs.cpu_taken.set_autoload(true);
    }
    probe::load_if_traceable(&mut skel.progs.telemetry_polls);
    probe::load_if_traceable(&mut skel.progs.telemetry_ring_polls);
    let rodata = skel.maps.rodata_data.as_mut().context("the object has no .rodata")?;
    rodata.local_may_strand = !anywhere;
    for cpu in nohz_full_cpus()? {
        rodata.nohz_full_cpus[cpu / 64] |= 1 << (cpu % 64);
        rodata.some_nohz_full = true;
    }
    Ok(())
}

/// The CPUs of nohz_full= that our tables hold; none if the kernel was booted without.
///
/// # Errors
/// The kernel's list cannot be read.
fn nohz_full_cpus() -> Result<Vec<usize>> {
    let path = "/sys/devices/system/cpu/nohz_full";
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        text => text.with_context(|| format!("reading {path}"))?,
    };
    // nothing, or "(null)", if there is none
    let list = text.trim();
    if list.is_empty() || list == "(null)" {
        return Ok(Vec::new());
    }
    let cpus = read_cpulist(list).with_context(|| format!("{path} holds {list:?}"))?;
    Ok(cpus.into_iter().filter(|&cpu| cpu < intf::limits_MAX_CPUS as usize).collect())
}

fn fill_origins(skel: &SteerSkel<'_>, origins: &Origins) -> Result<()> {
    origins.fill(&OriginMaps {
        napis: &skel.maps.nic_of_napi,
        interfaces: &skel.maps.nic_of_ifindex,
        peers: &skel.maps.nic_of_peer,
    })
}
