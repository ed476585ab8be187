//! The policies of the scheduler in force, and how they change.

use anyhow::{Context, Result};
use libbpf_rs::MapCore;

use crate::{
    CgroupEvent,
    intf::limits_MAX_POLICIES,
    scheduler::Scheduler,
    swap::{self, Policies, PolicyTables, next_generation, put},
};

impl Scheduler<'_> {
    /// Puts `new` in force, all or nothing: if it fails, the old policies hold as before.
    ///
    /// # Errors
    /// There are more policies, cgroups or pools than fit, or the kernel refused a step.
    pub fn set_policies(&mut self, new: &Policies) -> Result<()> {
        let tables: PolicyTables<'_, _, _, _> = swap::policy_tables!(self.skel);
        self.cgroups = Some(tables.swap(new, |_| Ok(()))?);
        Ok(())
    }

    /// Gives one cgroup one of the policies of the last [`Self::set_policies`]; `None`: the default.
    ///
    /// # Errors
    /// The kernel refused, or no policies are in force.
    pub fn set_cgroup(&mut self, cgroup: u64, policy: Option<u32>) -> Result<()> {
        let bss = self.skel.maps.bss_data.as_mut().context("the object has no .bss")?;
        let base = (bss.policy_generation & 1) * limits_MAX_POLICIES;
        let table = self.cgroups.as_ref().context("no policies are in force")?;
        match policy {
            Some(policy) => put(table, cgroup, policy + base)?,
            // the kernel side removes it when the cgroup goes
            None => drop(table.delete(&cgroup.to_ne_bytes())),
        }
        // the next generation of the same half: threads look their policy up again
        bss.policy_generation = next_generation(bss.policy_generation, 2);
        Ok(())
    }

    /// Cgroups that came or went since the last call, and whether some of them were lost: then
    /// all have to be read again.
    ///
    /// # Errors
    /// The kernel refused to give the events.
    pub fn cgroup_events(&mut self) -> Result<(Vec<CgroupEvent>, bool)> {
        let bss = self.skel.maps.bss_data.as_ref().context("the object has no .bss")?;
        self.events.take(|| bss.cgroup_events_lost)
    }
}
