//! The machine as the BPF objects see it, and how it is handed to them.

use crate::{
    Origins,
    intf::{self, cpu_plan},
};

/// Where each CPU is, and how NICs are found.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Indexed by CPU number; numbers without an online CPU are zeroed. At most `MAX_CPUS`.
    pub cpus: Vec<cpu_plan>,
    /// Number of last-level caches, one more than the largest `cpu_plan.llc`. At most `MAX_LLCS`.
    pub nr_llcs: u32,
    /// How a socket's NIC is found.
    pub origins: Origins,
}

impl Plan {
    /// Fills the per-CPU table of a skeleton.
    pub(crate) fn fill_cpus<T: Copy>(&self, table: &mut [T]) {
        for (to, from) in table.iter_mut().zip(&self.cpus) {
            intf::copy_to_skeleton(from, to);
        }
    }
}
