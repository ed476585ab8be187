//! The machine of a result. The comments are the descriptions in its JSON Schema.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The machine that was measured. What is unknown is null.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// When the run began: RFC 3339, UTC.
    pub started: Option<String>,
    /// What runs the guest's instructions: `tcg` (emulation) or `kvm`; null on bare metal.
    pub accelerator: Option<String>,
    /// Release of the measured kernel.
    pub kernel: Option<String>,
    /// Package the measured kernel came from, with its version.
    pub kernel_package: Option<String>,
    /// Sockets × cores × threads of the measured machine, like `2x2x1`.
    pub shape: Option<String>,
    /// CPUs of the measured machine.
    pub cpus: Option<u32>,
    /// NUMA node the NIC hangs on: of several, the first.
    pub nic_node: Option<u32>,
    /// CPUs local to that NIC, as a list like `2-3`.
    pub nic_cpus: Option<String>,
    /// How the IOMMU treats the NIC's memory accesses, as the type of its group in sysfs: `DMA` and
    /// `DMA-FQ` translate them, `identity` lets them pass; `none` where the NIC is in no group, so
    /// that no IOMMU is in use. Null where that was not recorded, or the NIC is no PCI device.
    pub nic_iommu: Option<String>,
    /// What the subject says it is: name and version.
    #[serde(rename = "subject_version")]
    pub arm_version: Option<String>,
    /// Processor of the machine that drives the traffic, and hosts the guest where there is one.
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
    /// What this machine cannot show, if there is such a thing.
    pub fn caveat(&self) -> Option<&'static str> {
        const TCG: &str = "Measured under TCG emulation, which prices neither caches nor remote \
            memory: throughput per core here is evidence of instructions and context switches \
            saved, never of cache or NUMA gains. Absolute values are those of an emulator.";
        (self.accelerator.as_deref() == Some("tcg")).then_some(TCG)
    }
}
