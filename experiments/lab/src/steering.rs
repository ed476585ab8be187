//! The steering modes of the lab: what chooses the CPU that processes a flow's packets.

use std::os::fd::{AsFd, OwnedFd};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use steer_ground::word::Word;

use super::facts::{Facts, Nic, affinity_path};
use super::net::Net;
use super::steering_program;
use crate::agent::Link;

/// A steering mode: how packets reach the guest's queues, and queues its CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Steering {
    /// The tap sends a flow to the queue that the guest last sent it from. IRQs and XPS stay as the
    /// driver sets them. So packets follow the thread, as with perfect aRFS.
    Auto,
    /// A hash of the flow chooses the queue, as with RSS. The queues' IRQs are pinned to CPUs of
    /// the NIC's node, as an operator's script would do.
    Hash,
    /// A rule on the client's port chooses the queue, as with ntuple filters. IRQs as for `hash`.
    Explicit,
    /// As `hash`, but the IRQs stay spread over all CPUs, as the driver sets them. So half of the
    /// flows are processed on the other node, and stay there.
    Spread,
}

impl Word for Steering {
    const ALL: &'static [Self] = &[Self::Auto, Self::Hash, Self::Explicit, Self::Spread];

    fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Hash => "hash",
            Self::Explicit => "explicit",
            Self::Spread => "spread",
        }
    }
}

/// Switches the steering mode of one guest. Knows what the driver set at boot.
#[derive(Debug)]
pub struct Wheel {
    /// IRQ affinities as the driver set them: path and value.
    irqs: Vec<(String, String)>,
    /// XPS masks likewise.
    xps: Vec<(String, String)>,
    by_port: OwnedFd,
}

impl Wheel {
    /// Records the driver's settings of a guest that was just booted.
    pub fn new(link: &mut Link, net: &Net, facts: &Facts) -> Result<Self> {
        let mut read = |path: String| link.read(&path).map(|value| (path, value));
        let irqs = facts.nics.iter().flat_map(|nic| &nic.queue_irqs);
        let irqs = irqs.map(|it| affinity_path(it.irq)).map(&mut read).collect::<Result<_>>()?;
        let xps =
            facts.nics.iter().flat_map(Nic::xps_paths).map(&mut read).collect::<Result<_>>()?;
        let by_port = steering_program::load(net.queues())?;
        Ok(Self { irqs, xps, by_port })
    }

    /// Puts the guest into a steering mode.
    ///
    /// # Errors
    /// A setting does not read back as written.
    pub fn turn(&self, to: Steering, link: &mut Link, net: &Net, facts: &Facts) -> Result<()> {
        let irqs = match to {
            Steering::Auto | Steering::Spread => self.irqs.clone(),
            Steering::Hash | Steering::Explicit => pinned_irqs(facts),
        };
        let xps = if to == Steering::Auto { self.xps.clone() } else { no_xps(facts) };
        for (path, value) in irqs.iter().chain(&xps) {
            set(link, path, value).with_context(|| format!("steering: {}", to.word()))?;
        }
        net.steer((to == Steering::Explicit).then(|| self.by_port.as_fd()))
    }
}

/// Without XPS, a hash chooses the transmit queue, and the tap's receive queue follows it.
fn no_xps(facts: &Facts) -> Vec<(String, String)> {
    facts.nics.iter().flat_map(Nic::xps_paths).map(|path| (path, "0".to_owned())).collect()
}

/// Pins each NIC's queue IRQs to the CPUs of its node, in turns.
fn pinned_irqs(facts: &Facts) -> Vec<(String, String)> {
    let of_nic = |nic: &Nic| -> Vec<_> {
        let cpu = |queue: usize| nic.cpus[queue % nic.cpus.len()].to_string();
        nic.queue_irqs.iter().map(|it| (affinity_path(it.irq), cpu(it.queue))).collect()
    };
    facts.nics.iter().flat_map(of_nic).collect()
}

/// How long a setting may take to read back. The kernel moves an interrupt only when it next fires,
/// and not while it still cleans up after an earlier move. Until then, the old affinity is read
/// back.
const READ_BACK: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(50);

/// Writes a setting.
///
/// # Errors
/// When it does not read back as written.
pub fn set(link: &mut Link, path: &str, value: &str) -> Result<()> {
    // Masks come back padded: 0 as 00000000,00000000.
    let plain = |text: &str| text.trim_start_matches(['0', ',']).to_owned();
    link.write(path, value)?;
    let deadline = Instant::now() + READ_BACK;
    loop {
        let read = link.read(path)?;
        if plain(&read) == plain(value) {
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "{path} reads {read:?} after {value:?} was written");
        thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_nics_irqs_are_pinned_on_its_own_node() {
        let facts = Facts::example(0..2);
        let pinned = pinned_irqs(&facts).into_iter();
        let pinned = pinned.map(|(path, cpu)| format!("{}={cpu}", path.split('/').nth(3).unwrap()));
        let expected = ["20=0", "21=1", "22=0", "30=2", "31=3", "32=2"];
        assert_eq!(pinned.collect::<Vec<_>>(), expected);
        let xps = no_xps(&facts).into_iter().map(|(path, _)| path).collect::<Vec<_>>();
        let path = |nic| format!("/sys/class/net/{nic}/queues/tx-0/xps_cpus");
        assert_eq!(xps, [path("eth0"), path("eth1")]);
    }
}
