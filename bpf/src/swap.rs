//! How other policies come into force, all or nothing: everything is prepared beside the policies
//! in force, then one BPF program, which cannot fail part-way, puts it in their place (swap.bpf.h).

use std::os::fd::{AsFd, AsRawFd};

use anyhow::{Context, Result, ensure};
use libbpf_rs::{
    MapCore, MapFlags, MapHandle, MapType, ProgramInput, ProgramMut,
    libbpf_sys::{self, bpf_map_create_opts},
};

use crate::intf::{
    self, cpu_pools, limits_MAX_CGROUPS, limits_MAX_CPUS, limits_MAX_POLICIES, limits_MAX_POOLS,
    thread_policy,
};

/// `BPF_F_NO_PREALLOC` (include/uapi/linux/bpf.h).
const NO_PREALLOC: u32 = libbpf_sys::BPF_F_NO_PREALLOC;

/// All policies, the cgroups under each, and the CPUs that they name.
#[derive(Clone, Debug)]
pub struct Policies {
    /// The first is the default; at most `MAX_POLICIES`. Numbers of policies, here and in
    /// [`Self::cgroups`], count from 0.
    pub policies: Vec<thread_policy>,
    /// (cgroup id, policy); at most `MAX_CGROUPS`.
    pub cgroups: Vec<(u64, u32)>,
    /// By CPU number; at most `MAX_CPUS`.
    pub cpus: Vec<cpu_pools>,
    /// Number of pools in `cpus`, at most `MAX_POOLS`.
    pub nr_pools: u32,
}

/// What a swap prepares before it commits, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The policies are written.
    Policies,
    /// The new table of cgroups is created and filled.
    Table,
    /// The new table of cgroups is in its place.
    TableInPlace,
    /// The pools of each CPU are written.
    Pools,
    /// The masks of the pools are made.
    Masks,
}

impl Step {
    /// All steps, in order.
    pub const ALL: [Self; 5] =
        [Self::Policies, Self::Table, Self::TableInPlace, Self::Pools, Self::Masks];
}

/// Where an object keeps its policies.
pub(crate) struct PolicyTables<'a, P, C, M> {
    pub(crate) policies: &'a mut [P],
    pub(crate) generation: *const u32,
    pub(crate) staged_cpus: &'a mut [C],
    pub(crate) staged_nr_pools: &'a mut u32,
    pub(crate) staged_generation: &'a mut u32,
    pub(crate) tables: &'a M,
    pub(crate) stage_pools: &'a ProgramMut<'a>,
    pub(crate) commit_policies: &'a ProgramMut<'a>,
}

/// The [`PolicyTables`] of a skeleton: skeletons have the same names, but types of their own.
macro_rules! policy_tables {
    ($skel:expr) => {{
        let bss = $skel.maps.bss_data.as_mut().context("the object has no .bss")?;
        crate::swap::PolicyTables {
            policies: &mut bss.policies,
            generation: &raw const bss.policy_generation,
            staged_cpus: &mut bss.staged.cpus,
            staged_nr_pools: &mut bss.staged.nr_pools,
            staged_generation: &mut bss.staged.generation,
            tables: &$skel.maps.policy_tables,
            stage_pools: &$skel.progs.stage_pools,
            commit_policies: &$skel.progs.commit_policies,
        }
    }};
}
pub(crate) use policy_tables;

impl<P: Copy, C: Copy, M: MapCore> PolicyTables<'_, P, C, M> {
    /// Puts `new` in force and returns its table of cgroups. `after` each step it may end the swap
    /// with an error; then, as after any other error, the old policies hold as before.
    pub(crate) fn swap(
        self,
        new: &Policies,
        mut after: impl FnMut(Step) -> Result<()>,
    ) -> Result<MapHandle> {
        ensure!(new.policies.len() <= limits_MAX_POLICIES as usize, "too many policies");
        ensure!(new.cgroups.len() <= limits_MAX_CGROUPS as usize, "too many cgroups");
        ensure!(new.cpus.len() <= limits_MAX_CPUS as usize, "too many CPUs");
        ensure!(new.nr_pools <= limits_MAX_POOLS, "too many pools");
        let generation = next_generation(self.generation_now(), 1);
        let half = generation & 1;
        let base = half * limits_MAX_POLICIES;

        write(&mut self.policies[base as usize..], &new.policies, base);
        after(Step::Policies)?;
        let table = new_table().context("creating the table of cgroups")?;
        for (cgroup, policy) in &new.cgroups {
            put(&table, *cgroup, policy + base)?;
        }
        after(Step::Table)?;
        let fd = table.as_fd().as_raw_fd();
        self.tables
            .update(&half.to_ne_bytes(), &fd.to_ne_bytes(), MapFlags::ANY)
            .context("putting the new table of cgroups in place")?;
        after(Step::TableInPlace)?;
        // a CPU that `new` does not name is in no pool
        let none = cpu_pools { pools: 0, exclusive: false };
        let cpus = new.cpus.iter().chain(std::iter::repeat(&none));
        for (to, from) in self.staged_cpus.iter_mut().zip(cpus) {
            intf::copy_to_skeleton(from, to);
        }
        *self.staged_nr_pools = new.nr_pools;
        *self.staged_generation = generation;
        after(Step::Pools)?;
        let made = self.stage_pools.test_run(ProgramInput::default()).context("making masks")?;
        ensure!(made.return_value == 0, "the kernel has no memory for masks of CPUs");
        after(Step::Masks)?;

        let ran = self.commit_policies.test_run(ProgramInput::default());
        // the program either ran to its end or not at all; its last step is the generation
        if self.generation_now() != generation {
            ensure!(ran?.return_value == 0, "the masks of CPUs are not complete");
            anyhow::bail!("the new policies were not put in force");
        }
        Ok(table)
    }

    fn generation_now(&self) -> u32 {
        // SAFETY: points into the object's .bss, which outlives `self`; volatile, as BPF writes it.
        unsafe { self.generation.read_volatile() }
    }
}

/// The generation `step` after this one. 0 stands for no policies; to skip it keeps the halves in
/// turn.
pub(crate) fn next_generation(generation: u32, step: u32) -> u32 {
    match generation.wrapping_add(step) {
        0 => 2,
        next => next,
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

/// Enters a cgroup into a table of cgroups.
pub(crate) fn put(table: &MapHandle, cgroup: u64, policy: u32) -> Result<()> {
    table
        .update(&cgroup.to_ne_bytes(), &policy.to_ne_bytes(), MapFlags::ANY)
        .with_context(|| format!("entering cgroup {cgroup} into the table"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_halves_take_turns_also_where_numbers_wrap() {
        for generation in [0, 1, 2, u32::MAX - 2, u32::MAX - 1, u32::MAX] {
            let other = next_generation(generation, 1);
            let same = next_generation(generation, 2);
            assert!(other != 0 && same != 0, "0 stands for no policies");
            assert_eq!((other & 1, same & 1), (generation & 1 ^ 1, generation & 1), "{generation}");
        }
    }
}
