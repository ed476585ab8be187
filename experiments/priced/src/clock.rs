//! Guests by the model's clock, without prices: every instruction takes the same time, and nothing
//! comes in from outside. So what a program finds in such a guest does not depend on how fast or
//! busy this machine is, and repeats exactly.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use steer_ground::cpus::joined;
use steer_ground::progress::Progress;
use steer_lab::initramfs::Script;
use steer_lab::shape::{Nics, Shape};

use crate::bench::{Bench, BenchOptions};
use crate::guest::{Task, shell_words};
use crate::hardware::{Hardware, Network, Pace, RING, Wire};
use crate::machine::Machine;

const TEST: &str = include_str!("../clock/clock.sh");
const MACHINE: &str = include_str!("../clock/machine.toml");
/// As many instructions as in a guest with prices before these are on. Shorter turns cost more.
const QUANTUM_NS: u64 = 50_000;
/// Most MiB of memory of a node: three of them fit into the model.
const NODE_MIB: u32 = 768;

/// A guest, and the program that runs in it.
#[derive(Debug)]
pub struct Clocked<'a> {
    /// Name in messages.
    pub name: &'a str,
    /// The measured CPUs.
    pub shape: Shape,
    /// Most MiB of memory of each node.
    pub node_mib: u32,
    /// Whether it has a NIC on its last node. The program then runs on CPUs of its own, one more
    /// node, and gets `--here-net PATH`: the namespace at the other end of the wire.
    pub network: bool,
    /// More words for the kernel's command line.
    pub kernel_words: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Files of the guest, beside `programs`.
    pub files: &'a [Script<'a>],
    /// Programs in its /bin.
    pub programs: &'a [PathBuf],
}

/// Runs all, and passes on each line that a program says.
///
/// # Errors
/// A guest that cannot be had, or that ends before its program does. Not a program that fails: it
/// says so.
pub fn run(
    guests: &[Clocked<'_>],
    options: &BenchOptions,
    progress: &Progress,
    heard: &mut dyn FnMut(&str),
) -> Result<()> {
    let machine = Machine::parse(MACHINE, Path::new("clock/machine.toml"))?;
    let tasks: Vec<_> = guests.iter().map(|guest| ((), guest.task(&machine))).collect();
    tasks.iter().try_for_each(|(_, task)| task.hardware.check())?;
    let bench = Bench::new(options, progress)?;
    bench.run_heard(tasks, progress, heard, |(), name, said| {
        let code = said.part("code").with_context(|| name.to_owned())?.trim();
        if code != "0" {
            bail!("{name}: the program ended with code {code}");
        }
        Ok(())
    })
}

impl Clocked<'_> {
    fn task<'a>(&'a self, machine: &'a Machine) -> Task<'a> {
        let measured: Vec<usize> = (0..self.shape.cpus()).collect();
        let (nics, queues) = (Nics::LastNode, measured.len());
        let network = Network { nics, queues, steering: Wire::Follow, ring: RING };
        let hardware = Hardware {
            machine,
            shape: self.shape,
            node_mib: self.node_mib.min(NODE_MIB),
            network: self.network.then_some(network),
            pace: Pace { boot_ps: machine.instruction_ps().round() as u64, quantum_ns: QUANTUM_NS },
            kernel_words: &self.kernel_words,
        };
        let clients: Vec<usize> = hardware.clients().collect();
        let queue_cpus: Vec<String> = measured.iter().map(usize::to_string).collect();
        Task {
            name: self.name.to_owned(),
            hardware,
            test: TEST,
            words: vec![
                ("command", shell_words(&self.command)),
                ("client_cpus", joined(&clients)),
                ("client_cpu", clients.last().map_or_else(String::new, usize::to_string)),
                ("queue_cpus", queue_cpus.join(" ")),
            ],
            programs: self.programs.to_vec(),
            files: self.files,
            profile: false,
            layout: 0,
        }
    }
}
