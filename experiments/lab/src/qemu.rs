//! QEMU: the machine of a guest, and the process that emulates it.

use std::hint::spin_loop;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use procfs::process::Process;
use rustix::process::{Pid, Signal, kill_process};

use super::console::Console;
use super::emulator::Emulator;
use super::kernel::Kernel;
use super::net::{self, Net};
use super::shape::{Nics, Shape};
use steer_ground::text::words;
use steer_ground::tool;
use steer_ground::tool::Running;

/// QEMU's accelerator, for the record. [`Tier`] has its arguments.
pub const ACCELERATOR: &str = "tcg";
/// In the deterministic tier, the guest's clock advances by 2 to this power nanoseconds per
/// instruction. QEMU takes the exponent.
const CLOCK_SHIFT: u32 = 2;
/// Nanoseconds per instruction. A span on the guest's clock is the number of instructions of all
/// CPUs, plus the time in which all CPUs were idle.
pub const NANOSECONDS_PER_INSTRUCTION: u32 = 1 << CLOCK_SHIFT;

/// Buckets of the live tier's table of TCP connections: the kernel's default on a server with 64
/// GiB. The default for a guest's small memory would be too few for many connections, and would
/// slow down every packet.
const TCP_BUCKETS: u32 = 512 << 10;

/// How often [`Qemu::rouse`] wakes the main loop: as soon as it may sleep again.
const ROUSE: Duration = Duration::from_micros(10);

/// How the guest keeps time, and what its NICs are connected to.
pub enum Tier<'a> {
    /// Real time, each NIC on a tap: traffic comes from this machine.
    Live(&'a Net),
    /// A clock that counts instructions, and two NICs on a hub inside QEMU: runs repeat exactly.
    Deterministic {
        /// Our own build. In Debian's, TLBs grow and shrink by this machine's time, and now and
        /// then the guest can tell: runs of a busy machine differ.
        emulator: &'a Emulator,
        /// Where the serial console goes. It must be a regular file: a full pipe would delay the
        /// guest's UART, and runs would no longer be equal.
        console: &'a OwnedFd,
    },
}

impl Tier<'_> {
    fn arguments(&self) -> Vec<String> {
        match self {
            Self::Live(net) => {
                let mut arguments = words("-accel tcg,thread=multi -cpu max -serial mon:stdio");
                for (cable, queues) in net.cables().zip(net.taps()) {
                    let fds: Vec<RawFd> = queues.iter().map(AsRawFd::as_raw_fd).collect();
                    arguments.extend(nic_on_tap(cable, &fds));
                }
                arguments
            }
            Self::Deterministic { console, .. } => counting_clock(console.as_raw_fd()),
        }
    }

    /// Words for the kernel's command line.
    fn kernel_words(&self) -> String {
        match self {
            Self::Live(net) => {
                format!("thash_entries={TCP_BUCKETS} {}", net::kernel_words(net.cables()))
            }
            Self::Deterministic { .. } => "nokaslr norandmaps random.trust_cpu=off".to_owned(),
        }
    }
}

/// A clock that counts instructions, two NICs that are connected with each other, and nothing else.
fn counting_clock(console: RawFd) -> Vec<String> {
    // Serial output only: even the end of standard input is an event from outside. -seed: otherwise
    // QEMU gives the kernel a random number at boot. tb-size (MiB): otherwise this machine's memory
    // decides when translations are dropped.
    words(&format!(
        "-accel tcg,thread=single,tb-size=512 -icount shift={CLOCK_SHIFT},sleep=off -seed 1 \
         -chardev file,id=console,path=/proc/self/fd/{console} -serial chardev:console \
         -rtc base=2026-01-01,clock=vm -cpu max,-rdrand,-rdseed \
         -netdev hubport,id=net0,hubid=0 -netdev hubport,id=net1,hubid=0 \
         -device virtio-net-pci,netdev=net0,bus=nicport0,ioeventfd=off,tx=timer,romfile= \
         -device virtio-net-pci,netdev=net1,bus=pcie.0,ioeventfd=off,tx=timer,romfile="
    ))
}

/// Arguments for a NIC whose queues are the queues of a tap, given as descriptors.
fn nic_on_tap(cable: u8, queues: &[RawFd]) -> Vec<String> {
    let fds: Vec<String> = queues.iter().map(RawFd::to_string).collect();
    words(&format!(
        "-netdev tap,id=net{cable},fds={},vhost=off \
         -device virtio-net-pci,netdev=net{cable},bus=nicport{cable},mac={},mq=on,vectors={},romfile=",
        fds.join(":"),
        net::mac(cable),
        2 * fds.len() + 2
    ))
}

/// A guest to start.
pub struct Machine<'a> {
    /// The kernel to boot.
    pub kernel: &'a Kernel,
    /// Its root file system.
    pub initramfs: &'a OwnedFd,
    /// Its CPUs.
    pub shape: Shape,
    /// MiB of memory of each of its nodes.
    pub node_mib: u32,
    /// The places of its NICs, one for each tap.
    pub nics: Nics,
    /// QEMU's arguments for further devices.
    pub devices: &'a str,
    /// More words for the kernel's command line.
    pub kernel_words: &'a str,
    /// Its clock and network.
    pub tier: Tier<'a>,
    /// The mode of its first process; see `init.sh`.
    pub mode: &'a str,
}

impl Machine<'_> {
    /// QEMU's whole command line.
    fn arguments(&self) -> Vec<String> {
        let mut arguments = words(
            "-nodefaults -no-user-config -no-reboot -display none -monitor none \
             -machine q35 -m",
        );
        arguments.push(format!("{}M", self.shape.sockets * self.node_mib as usize));
        arguments.extend(self.shape.arguments(self.nics, self.node_mib));
        arguments.extend(self.tier.arguments());
        arguments.extend(words(self.devices));
        let initramfs = format!("/proc/self/fd/{}", self.initramfs.as_raw_fd());
        // tsc=reliable: without it the guest falls back to the hpet, and every read of that is an
        // exit.
        let append = format!(
            "console=ttyS0 loglevel=5 panic=-1 tsc=reliable lab.mode={} {} {}",
            self.mode,
            self.tier.kernel_words(),
            self.kernel_words
        );
        let image = self.kernel.image().display().to_string();
        for (flag, value) in [("-kernel", image), ("-initrd", initramfs), ("-append", append)] {
            arguments.extend([flag.to_owned(), value]);
        }
        arguments
    }

    fn command(&self) -> Result<Command> {
        let mut command = match self.tier {
            Tier::Live(_) => Emulator::find()?.command(),
            Tier::Deterministic { emulator, .. } => emulator.command(),
        };
        command.args(self.arguments());
        tool::die_with_us(&mut command);
        tool::inherit(&mut command, std::slice::from_ref(self.initramfs));
        match &self.tier {
            Tier::Live(net) => {
                for queues in net.taps() {
                    tool::inherit(&mut command, queues);
                }
            }
            Tier::Deterministic { console, .. } => {
                tool::inherit(&mut command, std::slice::from_ref(*console));
            }
        }
        Ok(command)
    }

    /// Starts the guest with its serial console going to `console`.
    ///
    /// # Errors
    /// When QEMU is not installed.
    pub fn start(&self, console: &Console) -> Result<Qemu> {
        let mut child = Running::start(&mut self.command()?)?;
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
        let mut command = self.command()?;
        let status = command.status().map_err(|error| tool::not_started(&command, error))?;
        ensure!(status.success(), "QEMU failed ({status})");
        Ok(())
    }
}

/// A running QEMU. It is killed when dropped.
#[derive(Debug)]
pub struct Qemu {
    child: Running,
}

impl Qemu {
    /// Whether the guest has ended.
    pub fn ended(&mut self) -> Result<bool> {
        Ok(self.child.try_wait().context("waiting for QEMU")?.is_some())
    }

    /// Stops it for a while, as a busy machine does.
    ///
    /// # Errors
    /// When it cannot be stopped.
    pub fn hold_up(&self, how_long: Duration) -> Result<()> {
        self.signal(Signal::STOP)?;
        thread::sleep(how_long);
        self.signal(Signal::CONT)
    }

    /// Wakes its main loop for a while, over and over. That loop ignores the signal, but looks at
    /// what the vCPUs do at moments of this machine's choice.
    ///
    /// # Errors
    /// When it cannot be woken.
    pub fn rouse(&self, how_long: Duration) -> Result<()> {
        let end = Instant::now() + how_long;
        // A QEMU that has just begun does not wait for signals yet: this one would end it.
        let waits = Process::new(self.child.id().cast_signed())?.status()?.sigblk;
        if waits & 1 << (Signal::IO.as_raw() - 1) == 0 {
            thread::sleep(how_long);
        }
        let mut next = Instant::now();
        while next < end {
            self.signal(Signal::IO)?;
            next += ROUSE;
            while Instant::now() < next {
                spin_loop();
            }
        }
        Ok(())
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        kill_process(Pid::from_child(&self.child), signal)
            .with_context(|| format!("sending QEMU {signal:?}"))
    }

    /// Whether it was killed by a signal, as after a failed assertion.
    pub(crate) fn crashed(&mut self) -> Result<bool> {
        let status = self.child.try_wait().context("waiting for QEMU")?;
        Ok(status.is_some_and(|status| status.signal().is_some()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_nic_has_its_own_port_and_tap() {
        let nics = [nic_on_tap(0, &[5, 6]), nic_on_tap(1, &[7, 8])].concat();
        insta::assert_snapshot!(nics.join("\n"));
    }

    #[test]
    fn the_deterministic_tier_has_no_way_in_from_outside() {
        let arguments = counting_clock(9);
        insta::assert_snapshot!(arguments.join("\n"));
        assert!(!arguments.iter().any(|word| word.contains("tap") || word.contains("user")));
    }
}
