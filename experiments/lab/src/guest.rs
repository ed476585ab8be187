//! A booted guest: of the live tier, with its kernel, root file system, network, QEMU and the
//! connection to the agent, brought up in this order and taken down when this value is dropped; or
//! the guest in which this program runs.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::console::Console;
use super::initramfs;
use super::kernel::{Kernel, Source, Wanted};
use super::net::Net;
use super::qemu::{Machine, Qemu, Tier};
use super::shape::{Nics, Shape};
use crate::SCX_STEER;
use crate::agent::{Here, Link, Silent};
use steer_ground::progress::Progress;
use steer_ground::stop::Stop;

/// Emulated boots took 8 to 15 s. A busy machine may need several times that.
const BOOT: Duration = Duration::from_secs(120);

/// Attempts to start one guest. Of hundreds of starts, one ended early by an assertion in QEMU
/// (`iotlb_to_section`).
const MOST_STARTS: u32 = 3;

/// Signs of an emulator's fault on a console, and the message for each.
const FAULTS: [(&str, &str); 2] = [
    (
        "Oops: int3",
        "the emulator broke the guest (it ran stale code, which real hardware does not do)",
    ),
    ("iotlb_to_section", "the emulator ended with a failed assertion (iotlb_to_section)"),
];

/// Which guest to boot.
#[derive(Debug, Clone)]
pub struct GuestOptions {
    /// Kernel series, such as 6.18, or version, such as 6.18.15.
    pub kernel: Wanted,
    /// CPUs of the guest: NUMA nodes x cores [x SMT threads].
    pub shape: Shape,
    /// Memory of each NUMA node, in MiB.
    pub node_memory: u32,
    /// NUMA nodes of the guest that have a NIC.
    pub nics: Nics,
    /// QEMU's arguments for further network devices. If there are any, the guest boots a kernel with
    /// the drivers of real NICs, and has these modules in /lib/modules; none is loaded.
    pub devices: &'static str,
    /// More words for the kernel's command line.
    pub kernel_words: String,
    /// The scx_steer program to test. The file must be called scx_steer. Default: the one beside
    /// this program.
    pub scx_steer: Option<PathBuf>,
    /// Other programs to take into the guest's /bin.
    pub extra: Vec<PathBuf>,
    /// Where kernels come from.
    pub source: Source,
}

impl GuestOptions {
    /// Checks that the guest has the default NIC: one, on the last node.
    ///
    /// # Errors
    /// Names the flag that asks for other NICs, and `who`, the command that needs the default.
    pub fn check_one_nic(&self, who: &str) -> Result<()> {
        ensure!(
            self.nics == Nics::default(),
            "{who} uses one NIC, on the last node: leave out --nics"
        );
        Ok(())
    }

    /// The guest's network.
    fn net(&self) -> Result<Net> {
        Net::create(self.nics.nodes(self.shape).len(), self.shape.cpus())
    }

    /// The machine to start on this network. See `init.sh` for `mode`.
    fn machine<'a>(
        &'a self,
        kernel: &'a Kernel,
        initramfs: &'a OwnedFd,
        net: &'a Net,
        mode: &'a str,
    ) -> Machine<'a> {
        Machine {
            kernel,
            initramfs,
            shape: self.shape,
            node_mib: self.node_memory,
            nics: self.nics,
            devices: self.devices,
            kernel_words: &self.kernel_words,
            tier: Tier::Live(net),
            mode,
        }
    }

    /// The kernel to boot.
    fn kernel(&self, progress: &Progress) -> Result<Kernel> {
        let wanted = self.kernel.clone();
        let wanted = if self.devices.is_empty() { wanted } else { wanted.with_drivers() };
        self.source.get(&wanted, progress)
    }

    /// The programs in the guest: this program, scx_steer, and the requested ones.
    pub fn programs(&self) -> Result<Vec<PathBuf>> {
        let this = std::env::current_exe().context("finding this program's file")?;
        let scx_steer = match &self.scx_steer {
            Some(path) => path.clone(),
            None => this.with_file_name(SCX_STEER),
        };
        ensure!(
            scx_steer.file_name().is_some_and(|name| name == SCX_STEER),
            "--scx-steer {}: the guest starts it by name, so the file must be called scx_steer",
            scx_steer.display()
        );
        let mut programs = vec![this, scx_steer];
        programs.extend(self.extra.iter().cloned());
        for program in &programs {
            ensure!(
                program.is_file(),
                "{} does not exist; build it first (cargo build --release), or say where it is",
                program.display()
            );
        }
        Ok(programs)
    }
}

/// A running guest.
#[derive(Debug)]
pub struct Guest {
    /// The connection to the agent. It is closed before the guest ends.
    pub link: Link,
    /// The guest's cables, and the namespace where the load generator runs.
    pub net: Net,
    /// The kernel that it booted; `None` from inside.
    pub kernel: Option<Kernel>,
    /// The release of that kernel.
    pub release: String,
    console: Console,
    /// `None` from inside.
    qemu: Option<Qemu>,
}

impl AsRef<Guest> for Guest {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl Guest {
    /// Boots a guest. Its console goes to the file `log`, if one is given.
    ///
    /// # Errors
    /// When a part is missing, or the agent does not answer in time. The error quotes the end of
    /// the console.
    pub fn boot(options: &GuestOptions, log: Option<&Path>, progress: &Progress) -> Result<Self> {
        let programs = options.programs()?;
        let kernel = options.kernel(progress)?;
        progress.step(format!("booting {} on {} CPUs", kernel.release, options.shape.cpus()));
        let drivers = if options.devices.is_empty() { Vec::new() } else { kernel.drivers()? };
        let initramfs = initramfs::pack_with(&kernel, &drivers, &programs, &[])?;
        let net = options.net()?;
        let mut console = log.map_or_else(|| Ok(Console::default()), Console::logged)?;
        let machine = options.machine(&kernel, &initramfs, &net, "agent");
        let mut starts = 1;
        loop {
            let mut qemu = machine.start(&console)?;
            match reach(&net, &mut qemu) {
                Ok(link) => {
                    let release = kernel.release.to_string();
                    let (kernel, qemu) = (Some(kernel), Some(qemu));
                    return Ok(Self { link, net, kernel, release, console, qemu });
                }
                Err(_) if starts < MOST_STARTS && qemu.crashed()? => {
                    starts += 1;
                    progress.step("QEMU crashed before the guest was up, starting it again");
                    net.attach()?;
                    // forget the assertion that ended the previous guest
                    console = console.anew()?;
                }
                Err(error) => return Err(error.context(console.tail())),
            }
        }
    }

    /// The guest in which this program runs. Its programs get `cpus`. `outside` is the network
    /// namespace from which the load generators reach it, if it has a NIC.
    ///
    /// # Errors
    /// When there is no such namespace.
    pub fn inside(cpus: &[usize], outside: Option<&Path>, stop: &'static Stop) -> Result<Self> {
        let mut link = Link::here(Here::new(Vec::new(), stop).on(cpus));
        let net = Net::existing(outside)?;
        let release = link.read("/proc/sys/kernel/osrelease")?;
        Ok(Self { link, net, kernel: None, release, console: Console::default(), qemu: None })
    }

    /// What the guest's kernel has logged since the last call: warnings, oopses, stalls and
    /// sched_ext errors.
    ///
    /// # Errors
    /// When the guest does not answer.
    pub fn complaints(&mut self) -> Result<Vec<String>> {
        let log = self.link.run(&["dmesg", "-c"], Duration::from_secs(30))?;
        ensure!(log.success(), "dmesg failed in the guest: {}", log.last_words());
        Ok(log.stdout.lines().filter(|line| complains(line)).map(str::to_owned).collect())
    }

    /// A message, if the emulator broke the guest. There are two known faults. QEMU may run stale
    /// code: the kernel patches a static key, and runs into a breakpoint that it has already
    /// removed. Real CPUs are synchronised after such a patch. QEMU rarely fails to do so from
    /// version 10 on, and often before (see `emulator.rs`). Or an assertion in QEMU fails; this was
    /// seen once, when a NIC was removed and came back.
    pub fn broken_by_emulator(&self) -> Option<&'static str> {
        FAULTS.into_iter().find(|(sign, _)| self.console.has(sign)).map(|(_, said)| said)
    }

    /// Separates errors. If the guest hangs or has ended, that is the outer error, and it quotes
    /// the console. Any other error stays the inner one.
    pub fn survive<T>(&mut self, result: Result<T>) -> Result<Result<T>> {
        let Err(error) = result else { return Ok(result) };
        if self.qemu.as_mut().map(Qemu::ended).transpose()? == Some(true) {
            bail!("the guest has ended by itself ({error:#}); {}", self.console.tail());
        }
        if error.is::<Silent>() {
            return Err(error.context(self.console.tail()));
        }
        Ok(Err(error))
    }
}

/// Whether a line of the kernel's log reports a fault.
pub fn complains(line: &str) -> bool {
    const SIGNS: [&str; 8] = [
        "WARNING:",
        "BUG:",
        "Oops",
        "Call Trace:",
        "stall",
        "hung task",
        "soft lockup",
        "verifier bug",
    ];
    let of_scheduler = line.contains("sched_ext:")
        && ["error", "failed", "aborted", "runtime", "zero slice"]
            .iter()
            .any(|word| line.contains(word));
    of_scheduler || SIGNS.iter().any(|sign| line.contains(sign))
}

/// Waits until the agent answers.
fn reach(net: &Net, qemu: &mut Qemu) -> Result<Link> {
    let deadline = Instant::now() + BOOT;
    loop {
        let error = match Link::open(net, Duration::from_secs(1)) {
            Ok(link) => return Ok(link),
            Err(error) => error,
        };
        if qemu.ended()? {
            bail!("QEMU ended before the guest was up");
        }
        if Instant::now() > deadline {
            return Err(error.context(format!("the guest was not up within {BOOT:?}")));
        }
        thread::sleep(Duration::from_millis(200));
    }
}

/// Opens a shell in a guest on this terminal, until the user leaves it.
///
/// # Errors
/// As [`Guest::boot`].
pub fn shell(options: &GuestOptions) -> Result<()> {
    let programs = options.programs()?;
    let kernel = options.kernel(&Progress::spinner())?;
    let initramfs = initramfs::pack(&kernel, &programs, &[])?;
    let net = options.net()?;
    println!("Ctrl-D ends the guest, Ctrl-A X kills it");
    options.machine(&kernel, &initramfs, &net, "shell").run_here()
}

/// Runs a command in a fresh guest.
///
/// # Errors
/// As [`Guest::boot`], and when the command does not end in time or fails.
pub fn run(options: &GuestOptions, command: &[String], timeout: Duration) -> Result<()> {
    let progress = Progress::spinner();
    let mut guest = Guest::boot(options, None, &progress)?;
    progress.step(command.join(" "));
    let result = guest.link.run(command, timeout);
    let finished = guest.survive(result)??;
    drop(progress);
    print!("{}", finished.stdout);
    eprint!("{}", finished.stderr);
    ensure!(finished.success(), "{} ended with code {:?}", command[0], finished.code);
    Ok(())
}
