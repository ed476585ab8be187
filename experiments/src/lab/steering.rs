//! Who decides which CPU takes a flow's packets: the worlds the lab can put a guest in.

use std::os::fd::{AsFd, OwnedFd};

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;

use super::facts::Facts;
use super::net::Net;
use super::steering_program;
use crate::guest::Link;

/// A way of steering received packets to the guest's queues, and queues to its CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Steering {
    /// The driver's own spread of IRQs and XPS; the tap sends a flow to the queue the guest last
    /// sent it from. The home follows the thread, as with perfect aRFS.
    Auto,
    /// A hash of the flow chooses the queue, as with RSS; the queues' IRQs are pinned on the
    /// NIC's node, as an operator's affinity script does.
    Hash,
    /// A rule chooses the queue (the client's port), as with ntuple filters; IRQs as for `hash`.
    Explicit,
    /// A hash of the flow chooses the queue, and the driver's spread of IRQs over all CPUs stays:
    /// half of the homes are on the other node, and fixed there.
    Spread,
}

impl Steering {
    /// Its name in results and on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Hash => "hash",
            Self::Explicit => "explicit",
            Self::Spread => "spread",
        }
    }
}

/// What steers the packets of one guest, with what the driver had set at boot.
#[derive(Debug)]
pub(crate) struct Wheel {
    /// IRQ affinities, then XPS masks, as the driver set them: path and value.
    of_driver: Vec<(String, String)>,
    by_port: OwnedFd,
}

impl Wheel {
    /// Records the driver's settings of a guest that was just booted.
    pub(crate) fn new(link: &mut Link, net: &Net, facts: &Facts) -> Result<Self> {
        let paths = facts.queue_irqs.iter().map(|irq| irq.affinity_path()).chain(facts.xps_paths());
        let of_driver = paths
            .map(|path| link.read(&path).map(|value| (path, value)))
            .collect::<Result<Vec<_>>>()?;
        let by_port = steering_program::load(net.queues().len())?;
        Ok(Self { of_driver, by_port })
    }

    /// Puts the guest in a world.
    ///
    /// # Errors
    /// When a setting does not read back as it was written.
    pub(crate) fn turn(
        &self,
        to: Steering,
        link: &mut Link,
        net: &Net,
        facts: &Facts,
    ) -> Result<()> {
        let settings = match to {
            Steering::Auto => self.of_driver.clone(),
            Steering::Hash | Steering::Explicit => pinned_irqs(facts)?,
            Steering::Spread => {
                let of_driver = self.of_driver.iter().cloned();
                of_driver.take(facts.queue_irqs.len()).chain(no_xps(facts)).collect()
            }
        };
        for (path, value) in &settings {
            set(link, path, value).with_context(|| format!("steering: {}", to.name()))?;
        }
        net.steer((to == Steering::Explicit).then(|| self.by_port.as_fd()))
    }
}

/// Without XPS the transmit queue is a hash, and the tap's receive queue follows it.
fn no_xps(facts: &Facts) -> impl Iterator<Item = (String, String)> + '_ {
    facts.xps_paths().map(|path| (path, "0".to_owned()))
}

/// Queue IRQs one by one on the NIC's CPUs, and no XPS.
fn pinned_irqs(facts: &Facts) -> Result<Vec<(String, String)>> {
    ensure!(!facts.nic_cpus.is_empty(), "the guest's NIC has no local CPUs to pin its IRQs on");
    let cpu = |queue: usize| facts.nic_cpus[queue % facts.nic_cpus.len()].to_string();
    let irqs = facts.queue_irqs.iter().map(|irq| (irq.affinity_path(), cpu(irq.queue)));
    Ok(irqs.chain(no_xps(facts)).collect())
}

/// Writes a setting.
///
/// # Errors
/// When it does not read back as it was written.
pub(crate) fn set(link: &mut Link, path: &str, value: &str) -> Result<()> {
    link.write(path, value)?;
    let read = link.read(path)?;
    // Masks come back padded: 0 as 00000000,00000000.
    let plain = |text: &str| text.trim_start_matches(['0', ',']).to_owned();
    ensure!(plain(&read) == plain(value), "{path} reads {read:?} after {value:?} was written");
    Ok(())
}
