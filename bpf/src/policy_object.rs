//! The policies by themselves, for tests of their swap on a kernel without sched_ext.

use anyhow::{Context, Result};
use libbpf_rs::{
    MapHandle, ProgramInput,
    skel::{OpenSkel, SkelBuilder},
};

use crate::{
    KernelPlan, ObjectSlot, Policies, intf,
    swap::{self, PolicyTables, Step},
};

#[allow(
    missing_docs,
    unreachable_pub,
    clippy::all,
    clippy::undocumented_unsafe_blocks,
    clippy::unwrap_used
)]
mod skel {
    include!(concat!(env!("OUT_DIR"), "/policy_skel.rs"));
}
use skel::{PolicySkel, PolicySkelBuilder};

/// The policies, loaded until dropped. No thread is placed by them.
pub struct PolicyObject<'obj> {
    skel: PolicySkel<'obj>,
    cgroups: Option<MapHandle>,
}

/// What the calling thread sees of the policies in force. CPUs are bits of a word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// `long_burst_bytes` of its policy.
    pub long_burst_bytes: u64,
    /// The pool of its policy, counted from 1.
    pub pool: u32,
    /// How many pools there are.
    pub nr_pools: u32,
    /// The cache whose clock orders the pool.
    pub pool_clock: u32,
    /// The CPUs of the pool.
    pub in_pool: u64,
    /// ... by its mask.
    pub in_pool_mask: u64,
    /// The exclusive CPUs.
    pub exclusive: u64,
    /// The CPUs that may be lent, by their mask.
    pub in_shared_mask: u64,
}

impl<'obj> PolicyObject<'obj> {
    /// Loads the object, as a machine like `plan` with `default` in force.
    ///
    /// # Errors
    /// Whatever step failed: opening, the verifier.
    pub fn load(
        slot: &'obj mut ObjectSlot,
        plan: &KernelPlan,
        default: &intf::thread_policy,
    ) -> Result<Self> {
        let mut skel = PolicySkelBuilder::default().open(slot).context("opening the policies")?;
        // of the headers for sched_ext: it probes a part of the kernel that may be missing
        skel.progs.scx_lib_init_probe.set_autoload(false);
        let bss = skel.maps.bss_data.as_mut().context("the object has no .bss")?;
        plan.fill_cpus(&mut bss.cpu_plan);
        swap::write(&mut bss.policies, std::slice::from_ref(default), 0);
        let skel = skel.load().context("loading the policies into the kernel")?;
        Ok(Self { skel, cgroups: None })
    }

    /// Puts `new` in force as the scheduler does. `after` each step it may end the swap.
    ///
    /// # Errors
    /// As `after` says, or the kernel refused a step.
    pub fn set_policies(
        &mut self,
        new: &Policies,
        after: impl FnMut(Step) -> Result<()>,
    ) -> Result<()> {
        let tables: PolicyTables<'_, _, _, _> = swap::policy_tables!(self.skel);
        self.cgroups = Some(tables.swap(new, after)?);
        Ok(())
    }

    /// Looks at the policies from the calling thread: the id of its cgroup, and what it sees.
    ///
    /// # Errors
    /// The kernel refused to run the program.
    pub fn look(&self) -> Result<(u64, Seen)> {
        self.skel.progs.look.test_run(ProgramInput::default())?;
        let seen = &self.skel.maps.bss_data.as_ref().context("the object has no .bss")?.seen;
        let what = Seen {
            long_burst_bytes: seen.long_burst_bytes,
            pool: seen.pool,
            nr_pools: seen.nr_pools,
            pool_clock: seen.pool_clock,
            in_pool: seen.in_pool,
            in_pool_mask: seen.in_pool_mask,
            exclusive: seen.exclusive,
            in_shared_mask: seen.in_shared_mask,
        };
        Ok((seen.cgroup, what))
    }
}
