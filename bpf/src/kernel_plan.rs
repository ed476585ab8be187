//! The machine as the BPF objects see it, and how they get it.

use crate::{
    Origins,
    intf::{self, cpu_plan},
};

/// Where each CPU is, and how NICs are found.
#[derive(Clone, Debug)]
pub struct KernelPlan {
    /// Indexed by CPU number; numbers without an online CPU are zero. At most `MAX_CPUS`.
    pub cpus: Vec<cpu_plan>,
    /// Number of shards, one more than the largest `cpu_plan.shard`. At most `MAX_SHARDS`.
    pub nr_shards: u32,
    /// How a socket's NIC is found.
    pub origins: Origins,
}

impl KernelPlan {
    /// How many online CPUs each shard has.
    pub(crate) fn count_cpus(&self, of_shard: &mut [u32]) {
        for cpu in self.cpus.iter().filter(|cpu| cpu.online) {
            of_shard[cpu.shard as usize] += 1;
        }
    }

    /// Fills the per-CPU table of a skeleton.
    pub(crate) fn fill_cpus<T: Copy>(&self, table: &mut [T]) {
        for (to, from) in table.iter_mut().zip(&self.cpus) {
            intf::copy_to_skeleton(from, to);
        }
    }
}
