//! The emulator's command line: the machine's CPUs, its memory, the wire between its NICs, and the
//! plugin that prices it all.

use std::os::fd::{AsRawFd, OwnedFd};

use anyhow::{Result, ensure};
use steer_ground::text::words;
use steer_ground::word::Word;
use steer_lab::shape::{self, Nics, Shape};

use crate::machine::Machine;
use crate::tools::Tools;

/// What the guest's kernel is told. Everything that would tell it of the host, or of time outside
/// the model, is off. Its TSC has the plugin's frequency.
const KERNEL_WORDS: &str = "console=ttyS0 loglevel=4 panic=-1 tsc=reliable tsc_early_khz=1000000 \
    lpj=4000000 no_timer_check nokaslr norandmaps random.trust_cpu=off mitigations=off \
    init_on_alloc=0 numa_balancing=disable";

/// More words, for a guest with prices: the kernel's own watchdogs would only disturb it.
pub(crate) const NO_WATCHDOGS: &str = "nowatchdog nmi_watchdog=0";

/// How a guest's time passes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// Picoseconds per instruction until the guest's script asks for the machine's prices.
    pub(crate) boot_ps: u64,
    /// How far CPUs may be apart.
    pub(crate) quantum_ns: u64,
}

impl Pace {
    /// That of a guest with prices.
    pub(crate) const PRICED: Self = Self { boot_ps: 1000, quantum_ns: 5000 };
}

/// MiB of memory that the model can hold (`machine_fits` in `plugin/machine.c`).
const MOST_MIB: usize = 2816;
/// CPUs that the model can hold (`plugin/priced.h`).
const MOST_CPUS: usize = 32;

/// How the wire chooses the queue that receives a frame (`experiments/lab/emulator/wire.c`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    /// The queue that last sent the flow.
    Follow,
    /// A hash of the flow.
    Hash,
    /// The source port modulo the queues.
    Port,
}

impl Word for Wire {
    const ALL: &'static [Self] = &[Self::Follow, Self::Hash, Self::Port];

    fn word(self) -> &'static str {
        match self {
            Self::Follow => "follow",
            Self::Hash => "hash",
            Self::Port => "port",
        }
    }
}

/// Receive buffers of a queue, as QEMU has them.
pub(crate) const RING: u32 = 256;

/// The NICs, and the CPUs that drive traffic.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Network {
    /// The measured nodes that have a NIC.
    pub(crate) nics: Nics,
    /// Queue pairs of each. The guest needs as many CPUs.
    pub(crate) queues: usize,
    pub(crate) steering: Wire,
    /// Receive buffers of each of its queues: a power of two, up to 1024.
    pub(crate) ring: u32,
}

/// A guest's hardware.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hardware<'a> {
    pub(crate) machine: &'a Machine,
    /// The measured CPUs.
    pub(crate) shape: Shape,
    /// Memory of each node.
    pub(crate) node_mib: u32,
    /// With a network, one more node drives its traffic.
    pub(crate) network: Option<Network>,
    pub(crate) pace: Pace,
    /// More words for the kernel's command line.
    pub(crate) kernel_words: &'a str,
}

/// MiB of memory of each node of a machine without a network.
const ALONE_MIB: u32 = 1024;

impl<'a> Hardware<'a> {
    /// A machine with prices and without a network.
    pub(crate) fn alone(machine: &'a Machine, shape: Shape) -> Self {
        let (pace, kernel_words) = (Pace::PRICED, NO_WATCHDOGS);
        Self { machine, shape, node_mib: ALONE_MIB, network: None, pace, kernel_words }
    }
}

impl Hardware<'_> {
    /// All nodes, with the one that drives traffic.
    fn whole(&self) -> Shape {
        Shape { sockets: self.shape.sockets + usize::from(self.network.is_some()), ..self.shape }
    }

    /// The CPUs that drive traffic: those of the node behind the measured ones.
    pub(crate) fn clients(&self) -> std::ops::Range<usize> {
        self.shape.cpus()..self.whole().cpus()
    }

    /// Checks that the model can hold it.
    ///
    /// # Errors
    /// Names the limit.
    pub(crate) fn check(&self) -> Result<()> {
        let (whole, l3_cores) = (self.whole(), self.machine.count("cache.l3_cores"));
        let (shape, of_clients) = (self.shape, self.clients().len());
        ensure!(
            whole.cpus() <= MOST_CPUS,
            "--shape {shape}: the model holds {MOST_CPUS} CPUs, not {} (with {of_clients} that drive \
             the traffic)",
            whole.cpus()
        );
        ensure!(
            shape.cores <= l3_cores || shape.cores.is_multiple_of(l3_cores),
            "--shape {shape}: {l3_cores} cores of {} share an L3, so take at most these or a multiple",
            self.machine.id
        );
        let mib = whole.sockets * self.node_mib as usize;
        ensure!(
            mib <= MOST_MIB,
            "--shape {shape}: the model holds {MOST_MIB} MiB, not {} nodes of {} MiB",
            whole.sockets,
            self.node_mib
        );
        Ok(())
    }

    /// Arguments for the emulator. `files`, under the descriptors that it inherits.
    pub(crate) fn arguments(&self, tools: &Tools, kernel: &str, files: &Files) -> Vec<String> {
        let whole = self.whole();
        let dies = (whole.cores / self.machine.count("cache.l3_cores")).max(1);
        let mut arguments = words(&format!(
            "-nodefaults -no-user-config -no-reboot -display none -monitor none -machine q35 \
             -m {}M -accel tcg,thread=single,tb-size=512 -seed 1 -rtc base=2026-01-01,clock=vm \
             -cpu max,-rdrand,-rdseed,-la57,-erms,-fsrm,-monitor \
             -chardev file,id=console,path={} -serial chardev:console",
            whole.sockets * self.node_mib as usize,
            path(&files.outputs.console)
        ));
        arguments.extend(whole.machine(dies, self.node_mib));
        if let Some(network) = self.network {
            arguments.extend(network.arguments(self.shape));
        }
        let clients: u64 = self.clients().map(|cpu| 1 << cpu).sum();
        let profile = files.outputs.profile.as_ref();
        let profile = profile.map(|file| format!(",profile={}", path(file)));
        let orders = files.orders.as_ref().map(|it| format!(",orders={}", it.as_raw_fd()));
        let plugin = format!(
            "{},machine={},report={},nodes={},cores={},threads={},node_mib={},clients={clients},boot_ps={},quantum_ns={}{}{}",
            tools.plugin.display(),
            path(&files.prices),
            path(&files.outputs.marks),
            whole.sockets,
            whole.cores,
            whole.threads,
            self.node_mib,
            self.pace.boot_ps,
            self.pace.quantum_ns,
            profile.unwrap_or_default(),
            orders.unwrap_or_default()
        );
        let flags = ["-plugin", "-kernel", "-initrd", "-append"].map(str::to_owned);
        let kernel_words = format!("{KERNEL_WORDS} {} lab.mode=priced", self.kernel_words);
        let values = [plugin, kernel.to_owned(), path(&files.initramfs), kernel_words];
        for (flag, value) in flags.into_iter().zip(values) {
            arguments.extend([flag, value]);
        }
        arguments
    }
}

/// Files of a guest, all in memory.
#[derive(Debug)]
pub(crate) struct Files {
    pub(crate) prices: OwnedFd,
    pub(crate) initramfs: OwnedFd,
    pub(crate) outputs: Outputs,
    /// Socket with orders for copies.
    pub(crate) orders: Option<OwnedFd>,
}

/// Files that a guest writes.
#[derive(Debug)]
pub(crate) struct Outputs {
    pub(crate) marks: OwnedFd,
    pub(crate) console: OwnedFd,
    pub(crate) profile: Option<OwnedFd>,
}

/// The path of an inherited descriptor, in the process that has inherited it.
pub(crate) fn path(file: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

impl Network {
    /// For each NIC, two on a wire of 100 Gb/s: the measured one on a bus of its node, the client's
    /// on none. Their addresses tell the wire and the end (`guest/priced.sh`).
    fn arguments(self, shape: Shape) -> Vec<String> {
        let Self { nics, queues, steering, ring } = self;
        let nodes = nics.nodes(shape);
        let mut arguments = shape::ports(nodes.clone());
        for link in 0..nodes.len() {
            arguments.extend(words(&format!(
                "-netdev wire,id=net{link},link={link},queues={queues},steering={},rate=100000 \
                 -netdev wire,id=peer{link},link={link},queues=1,rate=100000",
                steering.word()
            )));
            let ends = [
                (format!("net{link}"), format!("nicport{link}"), 2, 2 * queues + 2, ring),
                (format!("peer{link}"), "pcie.0".to_owned(), 1, 4, RING),
            ];
            for (net, bus, end, vectors, ring) in ends {
                arguments.extend(words(&format!(
                    "-device virtio-net-pci,netdev={net},bus={bus},mac=52:54:00:00:{link:02x}:{end:02x},\
                     mq=on,vectors={vectors},rx_queue_size={ring},ioeventfd=off,tx=timer,\
                     x-txtimer=2000,romfile="
                )));
            }
        }
        arguments
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn refused(shape: &str, node_mib: u32, network: bool) -> String {
        let text = include_str!("../machines/epyc-7763.toml");
        let machine = Machine::parse(text, Path::new("epyc-7763.toml")).unwrap();
        let nics = Nics::LastNode;
        let wired = Network { nics, queues: 4, steering: Wire::Hash, ring: RING };
        let network = network.then_some(wired);
        let shape = shape.parse().unwrap();
        let (pace, kernel_words) = (Pace::PRICED, NO_WATCHDOGS);
        let hardware = Hardware { machine: &machine, shape, node_mib, network, pace, kernel_words };
        hardware.check().map_or_else(|error| error.to_string(), |()| "held".to_owned())
    }

    #[test]
    fn a_shape_that_the_model_cannot_hold_is_refused() {
        assert_eq!(refused("2x4", 768, true), "held");
        let said = [
            refused("2x8x2", 768, true),
            refused("2x16x2", 768, false),
            refused("2x3", 768, true),
            refused("2x2", 1024, true),
            refused("4x4", 768, false),
        ];
        insta::assert_snapshot!(said.join("\n"));
    }

    #[test]
    fn nothing_comes_in_from_outside() {
        let nics = Nics::EachNode;
        let network = Network { nics, queues: 4, steering: Wire::Follow, ring: RING };
        insta::assert_snapshot!(network.arguments("2x2".parse().unwrap()).join("\n"));
    }
}
