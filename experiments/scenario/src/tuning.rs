//! Network settings that operators use without scx_steer, as part of an arm: `default+rfs`. This
//! file has their names. The A/B runs change them before each sample of the arm, and put them back
//! after it.

use anyhow::{Context, Result};

/// Name of irqbalance, and of its program.
pub const IRQBALANCE: &str = "irqbalance";

/// A setting of an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tuning {
    /// RFS: packets are processed on the CPU where their flow is read. Sets the global flow table,
    /// and one for each receive queue. Leaves `rps_cpus` as it is: it would only spread packets of
    /// flows that no thread has read yet.
    Rfs,
    /// irqbalance, the daemon that spreads interrupts over CPUs by load. It runs with an interval
    /// of one second instead of ten, so that it has settled when a sample begins.
    Irqbalance,
    /// XPS: each queue's interrupts and XPS mask point to one CPU of the NIC's node.
    Xps,
    /// Host steering: `scx_steer nic apply --mode align`. It works under any scheduler.
    Align,
    /// No Ethernet pause frames.
    NoPause,
    /// A limit on the exit latency of idle states.
    ShallowIdle,
}

/// Their names, as in arms.
pub const NAMES: [(&str, Tuning); 6] = [
    ("rfs", Tuning::Rfs),
    (IRQBALANCE, Tuning::Irqbalance),
    ("xps", Tuning::Xps),
    ("align", Tuning::Align),
    ("nopause", Tuning::NoPause),
    ("shallow-idle", Tuning::ShallowIdle),
];

impl Tuning {
    /// The setting with this name.
    ///
    /// # Errors
    /// Lists the known settings.
    pub fn named(name: &str) -> Result<Self> {
        let found = NAMES.iter().find(|(known, _)| *known == name);
        found.map(|(_, tuning)| *tuning).with_context(|| {
            let names = NAMES.map(|(name, _)| name).join(", ");
            format!("a setting (after +) is one of {names}, not {name:?}")
        })
    }

    /// The program that the setting needs in a guest, and how to install it.
    pub fn needs(self) -> Option<(&'static str, &'static str)> {
        match self {
            // Do not suggest apt install: that would also start irqbalance on this machine.
            Self::Irqbalance => Some((
                IRQBALANCE,
                "install the package irqbalance, or unpack it (apt-get download irqbalance; \
                 dpkg -x) and add its program with --with",
            )),
            Self::NoPause => Some(ETHTOOL),
            Self::Rfs | Self::Xps | Self::Align | Self::ShallowIdle => None,
        }
    }
}

/// The program that changes device settings, and how to install it.
pub const ETHTOOL: (&str, &str) = ("ethtool", "apt install ethtool");
