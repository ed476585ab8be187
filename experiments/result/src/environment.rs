//! The machine of a result. The comments are the descriptions in its JSON Schema.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Accelerator of the priced tier, in [`Environment::accelerator`].
pub const PRICED: &str = "priced";

/// The measured machine. Unknown values are null.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// When the run began: RFC 3339, UTC.
    pub started: Option<String>,
    /// What runs the guest's instructions: `tcg` (emulation), `priced` (emulation whose clock is a
    /// model of a machine) or `kvm`; null on bare metal.
    pub accelerator: Option<String>,
    /// Release of the measured kernel.
    pub kernel: Option<String>,
    /// Package the measured kernel came from, with its version.
    pub kernel_package: Option<String>,
    /// Sockets × cores × threads of the measured machine, like `2x2x1`.
    pub shape: Option<String>,
    /// CPUs of the measured machine.
    pub cpus: Option<u32>,
    /// NUMA node of the NIC, or of the first of several NICs.
    pub nic_node: Option<u32>,
    /// CPUs local to that NIC, as a list like `2-3`.
    pub nic_cpus: Option<String>,
    /// How the IOMMU treats the NIC's memory accesses, as the type of its group in sysfs. `DMA` and
    /// `DMA-FQ` translate them, `identity` does not. `none`: the NIC is in no group, so no IOMMU is
    /// in use. Null if not recorded, or if the NIC is not a PCI device.
    pub nic_iommu: Option<String>,
    /// Name and version of scx_steer, as it prints them.
    #[serde(rename = "subject_version")]
    pub arm_version: Option<String>,
    /// Processor of the machine that drives the traffic. It also hosts the guest, if there is one.
    pub host_cpu: Option<String>,
    /// CPUs of that machine.
    pub host_cpus: Option<u32>,
    /// Release of that machine's kernel.
    pub host_kernel: Option<String>,
    /// Version of the emulator.
    pub qemu: Option<String>,
    /// Anything else worth recording.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl Environment {
    /// What this machine cannot show, if anything.
    pub fn caveat(&self) -> Option<&'static str> {
        const TCG: &str = "Measured under TCG emulation, which prices neither caches nor remote \
            memory: throughput per core here is evidence of instructions and context switches \
            saved, never of cache or NUMA gains. Absolute values are those of an emulator.";
        const MODEL: &str = "Measured in a model of a machine, whose inputs are published prices of \
            caches, remote memory and DMA. It leaves out out-of-order execution beyond a window of \
            misses, prefetchers, the reach of TLBs, frequency and real NIC rings. This is a model's \
            throughput per core; hardware has the last word.";
        match self.accelerator.as_deref() {
            Some("tcg") => Some(TCG),
            Some(PRICED) => Some(MODEL),
            _ => None,
        }
    }
}
