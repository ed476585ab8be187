//! QEMU: the machine a guest gets, and the process that emulates it.

use std::fmt;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::thread;

use anyhow::{Context, Error, Result, bail, ensure};

use super::console::Console;
use super::kernel::Kernel;
use super::net::{self, Net};
use super::tool;

/// The emulator.
pub(crate) const PROGRAM: &str = "qemu-system-x86_64";
/// What runs the guest's instructions, for the record; [`Tier`] says how it is asked for.
pub(crate) const ACCELERATOR: &str = "tcg";
/// Memory of each NUMA node.
const NODE_MEMORY: &str = "1G";

/// CPUs of the guest. Every socket is a NUMA node with its share of the CPUs and of the memory;
/// the NIC hangs on the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Sockets, each a NUMA node.
    pub(crate) sockets: usize,
    /// Cores per socket.
    pub(crate) cores: usize,
    /// SMT threads per core.
    pub(crate) threads: usize,
}

impl Shape {
    /// All CPUs of the guest.
    pub(crate) fn cpus(self) -> usize {
        self.sockets * self.cores * self.threads
    }

    /// Arguments for CPUs, memory, nodes and their distances.
    fn arguments(self) -> Vec<String> {
        let Self { sockets, cores, threads } = self;
        let per_node = cores * threads;
        let mut arguments = words(&format!(
            "-smp {},sockets={sockets},cores={cores},threads={threads}",
            self.cpus()
        ));
        for node in 0..sockets {
            let (first, last) = (node * per_node, (node + 1) * per_node - 1);
            arguments.extend(words(&format!(
                "-object memory-backend-ram,id=mem{node},size={NODE_MEMORY} \
                 -numa node,nodeid={node},cpus={first}-{last},memdev=mem{node}"
            )));
        }
        for from in 0..sockets {
            for to in from + 1..sockets {
                arguments.extend(words(&format!("-numa dist,src={from},dst={to},val=21")));
            }
        }
        arguments.extend(words(&format!(
            "-device pxb-pcie,id=nicbus,bus_nr=128,numa_node={},bus=pcie.0 \
             -device pcie-root-port,id=nicport,bus=nicbus,chassis=1",
            sockets - 1
        )));
        arguments
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}x{}", self.sockets, self.cores, self.threads)
    }
}

impl FromStr for Shape {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parts: Option<Vec<usize>> = text.split('x').map(|part| part.parse().ok()).collect();
        let shape = match parts.as_deref() {
            Some(&[sockets, cores]) => Self { sockets, cores, threads: 1 },
            Some(&[sockets, cores, threads]) => Self { sockets, cores, threads },
            _ => bail!("{text:?} is no shape: write SOCKETSxCORES or SOCKETSxCORESxTHREADS"),
        };
        let sizes = [shape.sockets, shape.cores, shape.threads];
        ensure!(
            sizes.iter().all(|size| (1..=64).contains(size)) && (2..=64).contains(&shape.cpus()),
            "a guest has 2 to 64 CPUs, {text} would have {}",
            sizes.iter().product::<usize>()
        );
        Ok(shape)
    }
}

/// How the guest keeps time and what its NIC is plugged into.
pub(crate) enum Tier<'a> {
    /// Real time, the NIC on a tap: traffic comes from this machine.
    Live(&'a Net),
    /// A clock that counts instructions and two NICs on a hub inside QEMU: runs repeat exactly.
    Deterministic,
}

impl Tier<'_> {
    fn arguments(&self) -> Vec<String> {
        match self {
            Self::Live(net) => {
                let fds: Vec<String> =
                    net.queues().iter().map(|queue| queue.as_raw_fd().to_string()).collect();
                let vectors = 2 * fds.len() + 2;
                words(&format!(
                    "-accel tcg,thread=multi -cpu max -serial mon:stdio -netdev tap,id=net0,fds={},vhost=off \
                     -device virtio-net-pci,netdev=net0,bus=nicport,mq=on,vectors={vectors},romfile=",
                    fds.join(":")
                ))
            }
            // Serial output only, as even the end of a standard input is an event from outside;
            // -seed, or the kernel is handed a random number at boot.
            Self::Deterministic => words(
                "-accel tcg,thread=single -icount shift=2,sleep=off -seed 1 \
                 -chardev file,id=console,path=/dev/stdout -serial chardev:console \
                 -rtc base=2026-01-01,clock=vm -cpu max,-rdrand,-rdseed \
                 -netdev hubport,id=net0,hubid=0 -netdev hubport,id=net1,hubid=0 \
                 -device virtio-net-pci,netdev=net0,bus=nicport,ioeventfd=off,tx=timer,romfile= \
                 -device virtio-net-pci,netdev=net1,bus=pcie.0,ioeventfd=off,tx=timer,romfile=",
            ),
        }
    }

    /// Words for the kernel's command line.
    fn kernel_words(&self) -> String {
        match self {
            Self::Live(_) => format!("lab.address={}/{}", net::GUEST, net::PREFIX),
            Self::Deterministic => "nokaslr norandmaps random.trust_cpu=off".to_owned(),
        }
    }
}

/// A guest to start.
pub(crate) struct Machine<'a> {
    /// What it boots.
    pub(crate) kernel: &'a Kernel,
    /// Its root file system.
    pub(crate) initramfs: &'a OwnedFd,
    /// Its CPUs.
    pub(crate) shape: Shape,
    /// Its clock and network.
    pub(crate) tier: Tier<'a>,
    /// What its first process does; see `init.sh`.
    pub(crate) mode: &'a str,
}

impl Machine<'_> {
    /// QEMU's whole command line.
    fn arguments(&self) -> Vec<String> {
        let mut arguments = words(
            "-nodefaults -no-user-config -no-reboot -display none -monitor none \
             -machine q35 -m",
        );
        arguments.push(format!("{}G", self.shape.sockets));
        arguments.extend(self.shape.arguments());
        arguments.extend(self.tier.arguments());
        let initramfs = format!("/proc/self/fd/{}", self.initramfs.as_raw_fd());
        // tsc=reliable: without it the guest falls back to the hpet, whose every read is an exit.
        let append = format!(
            "console=ttyS0 loglevel=5 panic=-1 tsc=reliable lab.mode={} {}",
            self.mode,
            self.tier.kernel_words()
        );
        let image = self.kernel.image().display().to_string();
        for (flag, value) in [("-kernel", image), ("-initrd", initramfs), ("-append", append)] {
            arguments.extend([flag.to_owned(), value]);
        }
        arguments
    }

    fn command(&self) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(self.arguments());
        tool::die_with_us(&mut command);
        tool::inherit(&mut command, [self.initramfs]);
        if let Tier::Live(net) = &self.tier {
            tool::inherit(&mut command, net.queues());
        }
        command
    }

    /// Starts the guest with its serial console going to `console`.
    ///
    /// # Errors
    /// When QEMU is not installed.
    pub(crate) fn start(&self, console: &Console) -> Result<Qemu> {
        let mut command = self.command();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| tool::not_started(&command, error))?;
        let streams: [Option<Box<dyn Read + Send>>; 2] = [
            child.stdout.take().map(|stream| Box::new(stream) as _),
            child.stderr.take().map(|stream| Box::new(stream) as _),
        ];
        for stream in streams.into_iter().flatten() {
            let console = console.clone();
            thread::Builder::new().name("console".to_owned()).spawn(move || {
                for line in BufReader::new(stream).split(b'\n').map_while(Result::ok) {
                    console.push(String::from_utf8_lossy(&line).trim_end());
                }
            })?;
        }
        Ok(Qemu { child })
    }

    /// Runs the guest on this terminal until it is shut down.
    pub(crate) fn run_here(&self) -> Result<()> {
        let mut command = self.command();
        let status = command.status().map_err(|error| tool::not_started(&command, error))?;
        ensure!(status.success(), "{PROGRAM} failed ({status})");
        Ok(())
    }
}

/// A running QEMU; killed when dropped.
#[derive(Debug)]
pub(crate) struct Qemu {
    child: Child,
}

impl Qemu {
    /// Whether the guest has ended.
    pub(crate) fn ended(&mut self) -> Result<bool> {
        Ok(self.child.try_wait().context("waiting for QEMU")?.is_some())
    }
}

impl Drop for Qemu {
    fn drop(&mut self) {
        // Both fail only if it is gone already, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Splits arguments of which none holds a space.
fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_read_and_bounded() {
        let shape: Shape = "2x2".parse().unwrap();
        assert_eq!((shape.cpus(), shape.to_string().as_str()), (4, "2x2x1"));
        assert_eq!("2x4x2".parse::<Shape>().unwrap().cpus(), 16);
        for bad in ["", "2", "2x", "1x1", "0x4", "2x2x2x2", "64x64", "axb"] {
            assert!(bad.parse::<Shape>().is_err(), "{bad:?} was accepted");
        }
    }

    #[test]
    fn the_nic_hangs_on_the_last_node() {
        let shape: Shape = "2x2".parse().unwrap();
        insta::assert_snapshot!(shape.arguments().join("\n"));
    }

    #[test]
    fn the_deterministic_tier_has_no_way_in_from_outside() {
        let arguments = Tier::Deterministic.arguments();
        insta::assert_snapshot!(arguments.join("\n"));
        assert!(!arguments.iter().any(|word| word.contains("tap") || word.contains("user")));
    }
}
