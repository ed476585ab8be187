//! The policies as the scheduler object sees them, and how they are put in force.

use std::{
    os::fd::{AsFd, AsRawFd},
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::{Context, Result, ensure};
use libbpf_rs::{
    MapCore, MapFlags, MapHandle, MapType, ProgramInput, RingBuffer, RingBufferBuilder,
    libbpf_sys::{self, bpf_map_create_opts},
};

use crate::{
    intf::{self, cpu_pools, limits_MAX_CGROUPS, limits_MAX_POLICIES, thread_policy},
    scheduler::Scheduler,
};

/// `BPF_F_NO_PREALLOC` (include/uapi/linux/bpf.h).
const NO_PREALLOC: u32 = libbpf_sys::BPF_F_NO_PREALLOC;

/// All policies, who is under which, and the CPUs they name.
#[derive(Clone, Debug)]
pub struct Policies {
    /// The first holds where no other does; at most `MAX_POLICIES`. Numbers of policies, here and
    /// in [`Self::cgroups`], count from 0.
    pub policies: Vec<thread_policy>,
    /// (cgroup id, policy); at most `MAX_CGROUPS`.
    pub cgroups: Vec<(u64, u32)>,
    /// By CPU number; at most `MAX_CPUS`.
    pub cpus: Vec<cpu_pools>,
    /// Pools that `cpus` speak of, at most `MAX_POOLS`.
    pub nr_pools: u32,
}

/// A cgroup that appeared, and got its parent's policy for a start, or vanished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CgroupEvent {
    /// Its id, the inode number of its directory.
    pub id: u64,
    /// Whether it vanished.
    pub gone: bool,
    /// Its path below the mount, without the leading slash. `None` if it is too long or no UTF-8.
    pub path: Option<String>,
}

/// Events of cgroups on their way from the kernel.
pub(crate) struct CgroupEvents {
    ring: RingBuffer<'static>,
    came: Arc<Mutex<Vec<CgroupEvent>>>,
    lost: u64,
}

impl CgroupEvents {
    pub(crate) fn from(map: &impl MapCore) -> Result<Self> {
        let came = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&came);
        let mut builder = RingBufferBuilder::new();
        builder.add(map, move |bytes| {
            seen.lock().unwrap_or_else(PoisonError::into_inner).extend(parse(bytes));
            0
        })?;
        Ok(Self { ring: builder.build()?, came, lost: 0 })
    }
}

/// A `cgroup_event` of intf.h.
fn parse(bytes: &[u8]) -> Option<CgroupEvent> {
    // SAFETY: long enough (checked), and any bit pattern of the integers in it is valid; `gone` is
    // a u8 in C.
    let event: intf::cgroup_event = (bytes.len() >= size_of::<intf::cgroup_event>())
        .then(|| unsafe { std::ptr::read_unaligned(bytes.as_ptr().cast()) })?;
    let path = event.path.map(|byte| byte as u8);
    let end = path.iter().position(|byte| *byte == 0)?;
    // the kernel cuts what is longer
    let whole = end > 0 && end + 1 < path.len();
    let path = whole.then(|| str::from_utf8(&path[..end]).ok()).flatten();
    Some(CgroupEvent {
        id: event.id,
        gone: event.gone != 0,
        path: path.map(|path| path.trim_start_matches('/').to_owned()),
    })
}

impl Scheduler<'_> {
    /// Puts `new` in force in one step: until then, and if it fails, the old policies hold.
    ///
    /// # Errors
    /// More policies or cgroups than there is room for, or the kernel refused a map.
    pub fn set_policies(&mut self, new: &Policies) -> Result<()> {
        ensure!(new.policies.len() <= limits_MAX_POLICIES as usize, "too many policies");
        ensure!(new.cgroups.len() <= limits_MAX_CGROUPS as usize, "too many cgroups");
        let bss = self.skel.maps.bss_data.as_mut().context("the object has no .bss")?;
        let generation = bss.policy_generation.wrapping_add(1).max(1);
        let base = (generation & 1) * limits_MAX_POLICIES;
        write(&mut bss.policies[base as usize..], &new.policies, base);
        let table = new_table().context("creating the table of cgroups")?;
        for (cgroup, policy) in &new.cgroups {
            put(&table, *cgroup, policy + base)?;
        }
        let table_fd = table.as_fd().as_raw_fd();
        // from here on nothing can fail but what the old tables survive
        bss.nr_pools = new.nr_pools;
        for (to, from) in bss.cpu_pools.iter_mut().zip(&new.cpus) {
            intf::copy_to_skeleton(from, to);
        }
        self.make_masks()?;
        self.skel
            .maps
            .policy_table
            .update(&0u32.to_ne_bytes(), &table_fd.to_ne_bytes(), MapFlags::ANY)
            .context("putting the new table of cgroups in place")?;
        let bss = self.skel.maps.bss_data.as_mut().context("the object has no .bss")?;
        bss.policy_generation = generation;
        self.cgroups = Some(table);
        Ok(())
    }

    /// Changes the policy of one cgroup to one of those of the last [`Self::set_policies`]; `None`:
    /// the default.
    ///
    /// # Errors
    /// The kernel refused, or no policies are in force.
    pub fn set_cgroup(&mut self, cgroup: u64, policy: Option<u32>) -> Result<()> {
        let bss = self.skel.maps.bss_data.as_mut().context("the object has no .bss")?;
        let base = (bss.policy_generation & 1) * limits_MAX_POLICIES;
        let table = self.cgroups.as_ref().context("no policies are in force")?;
        match policy {
            Some(policy) => put(table, cgroup, policy + base)?,
            // it may be gone by itself, with its cgroup
            None => drop(table.delete(&cgroup.to_ne_bytes())),
        }
        // the next generation of the same half: threads look their policy up again
        bss.policy_generation = bss.policy_generation.wrapping_add(2);
        Ok(())
    }

    /// Cgroups that came or went since the last call, and whether some of them were lost: then
    /// all have to be read again.
    ///
    /// # Errors
    /// The kernel refused to give the events.
    pub fn cgroup_events(&mut self) -> Result<(Vec<CgroupEvent>, bool)> {
        self.events.ring.consume().context("reading events of cgroups")?;
        let mut came = self.events.came.lock().unwrap_or_else(PoisonError::into_inner);
        let bss = self.skel.maps.bss_data.as_ref().context("the object has no .bss")?;
        let lost = bss.cgroup_events_lost != self.events.lost;
        self.events.lost = bss.cgroup_events_lost;
        Ok((std::mem::take(&mut came), lost))
    }

    fn make_masks(&self) -> Result<()> {
        let output = self.skel.progs.pools_changed.test_run(ProgramInput::default())?;
        ensure!(output.return_value == 0, "the kernel has no memory for masks of CPUs");
        Ok(())
    }
}

/// Writes policies into the half that begins at `base`.
pub(crate) fn write<To: Copy>(half: &mut [To], policies: &[thread_policy], base: u32) {
    for (to, from) in half.iter_mut().zip(policies) {
        let mut from = *from;
        for process in &mut from.processes {
            process.policy += base;
        }
        intf::copy_to_skeleton(&from, to);
    }
}

fn new_table() -> libbpf_rs::Result<MapHandle> {
    let options = bpf_map_create_opts {
        sz: size_of::<bpf_map_create_opts>() as _,
        map_flags: NO_PREALLOC,
        ..Default::default()
    };
    MapHandle::create(MapType::Hash, Some("cgroup_policies"), 8, 4, limits_MAX_CGROUPS, &options)
}

fn put(table: &MapHandle, cgroup: u64, policy: u32) -> Result<()> {
    table
        .update(&cgroup.to_ne_bytes(), &policy.to_ne_bytes(), MapFlags::ANY)
        .with_context(|| format!("entering cgroup {cgroup} into the table"))
}
