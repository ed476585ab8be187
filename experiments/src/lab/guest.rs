//! A booted guest of the live tier: kernel, root file system, network, QEMU and the line to the
//! agent, brought up in that order and taken down with this value.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, value_parser};

use super::console::Console;
use super::initramfs;
use super::kernel::{Kernel, Source, Wanted};
use super::net::Net;
use super::progress::Progress;
use super::qemu::{Machine, Qemu, Tier};
use super::shape::{Nics, Shape};
use crate::guest::{Link, Silent};

/// Emulated boots were seen to take 8 to 15 s; a busy machine may need several times that.
const BOOT: Duration = Duration::from_secs(120);

/// Starts of one guest: of hundreds, one ended early by an assertion of QEMU's own
/// (`iotlb_to_section`).
const MOST_STARTS: u32 = 3;

/// Guests that one run may use up: one that was [broken](Guest::broken_by_emulator) is replaced.
pub(crate) const MOST_BOOTS: u32 = 5;
/// What a console shows of an emulator's fault, and what is then said.
const FAULTS: [(&str, &str); 2] = [
    ("Oops: int3", "the emulator broke the guest (it ran stale code, which no hardware does)"),
    ("iotlb_to_section", "the emulator ended by an assertion of its own (iotlb_to_section)"),
];

/// Which guest to boot.
#[derive(Debug, Clone, Args)]
pub(crate) struct GuestArgs {
    /// Kernel series, such as 6.18, or version, such as 6.18.15.
    #[arg(long, value_name = "VERSION", default_value = "6.18")]
    pub(crate) kernel: Wanted,
    /// CPUs of the guest: NUMA nodes x cores [x SMT threads].
    #[arg(long, value_name = "SHAPE", default_value = "2x2")]
    pub(crate) shape: Shape,
    /// Memory of each of the guest's NUMA nodes, in MiB.
    #[arg(long, value_name = "MIB", default_value_t = 1024)]
    #[arg(value_parser = value_parser!(u32).range(512..=1 << 20))]
    pub(crate) node_memory: u32,
    /// NUMA nodes of the guest that have a NIC. Where several have one, connections go to the NICs in
    /// turns; those of --rpc-tool all go to the first.
    #[arg(long, value_name = "NODES", value_enum, default_value_t)]
    pub(crate) nics: Nics,
    /// The scx_steer program to test, a file of that name [default: the one beside this program].
    #[arg(long, value_name = "PATH")]
    pub(crate) scx_steer: Option<PathBuf>,
    /// Another program to take into the guest's /bin; may be repeated.
    #[arg(long = "with", value_name = "PATH")]
    pub(crate) extra: Vec<PathBuf>,
    /// Where kernels come from.
    #[command(flatten)]
    pub(crate) source: Source,
}

/// Flags of `steer-bench lab run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    guest: GuestArgs,
    /// Longest time the command may take, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    timeout: u64,
    /// The command and its arguments, after `--`.
    #[arg(last = true, required = true)]
    command: Vec<String>,
}

impl GuestArgs {
    /// Checks that the guest is to have the one NIC that it has by default.
    ///
    /// # Errors
    /// Names the flag that says otherwise, and `who` it is that needs that NIC.
    pub(crate) fn check_one_nic(&self, who: &str) -> Result<()> {
        ensure!(
            self.nics == Nics::default(),
            "{who} is about one NIC, on the last node: leave out --nics"
        );
        Ok(())
    }

    /// The guest's network.
    fn net(&self) -> Result<Net> {
        Net::create(self.nics.nodes(self.shape).len(), self.shape.cpus())
    }

    /// What to start on that network; see `init.sh` for `mode`.
    fn machine<'a>(
        &self,
        kernel: &'a Kernel,
        initramfs: &'a OwnedFd,
        net: &'a Net,
        mode: &'a str,
    ) -> Machine<'a> {
        let Self { shape, node_memory: node_mib, nics, .. } = *self;
        Machine { kernel, initramfs, shape, node_mib, nics, tier: Tier::Live(net), mode }
    }

    /// The programs in the guest: this one, scx_steer, and what was asked for.
    pub(crate) fn programs(&self) -> Result<Vec<PathBuf>> {
        let this = std::env::current_exe().context("finding this program's own file")?;
        let scx_steer = match &self.scx_steer {
            Some(path) => path.clone(),
            None => this.with_file_name("scx_steer"),
        };
        ensure!(
            scx_steer.file_name().is_some_and(|name| name == "scx_steer"),
            "--scx-steer {}: the guest starts it by the name scx_steer, so the file must have it",
            scx_steer.display()
        );
        let mut programs = vec![this, scx_steer];
        programs.extend(self.extra.iter().cloned());
        for program in &programs {
            ensure!(
                program.is_file(),
                "{} is not there; build it first (cargo build --release), or say where it is",
                program.display()
            );
        }
        Ok(programs)
    }
}

/// A running guest.
#[derive(Debug)]
pub(crate) struct Guest {
    /// The line to the agent; closed before the guest goes.
    pub(crate) link: Link,
    /// The guest's cables, and where the load generator runs.
    pub(crate) net: Net,
    /// What it boots.
    pub(crate) kernel: Kernel,
    console: Console,
    qemu: Qemu,
}

impl Guest {
    /// Boots a guest; its console goes to the file `log`, if one is given.
    ///
    /// # Errors
    /// When a part is missing, or the agent does not answer in time: then with the console's end.
    pub(crate) fn boot(args: &GuestArgs, log: Option<&Path>, progress: &Progress) -> Result<Self> {
        let programs = args.programs()?;
        let kernel = args.source.get(&args.kernel, progress)?;
        progress.step(format!("booting {} on {} CPUs", kernel.release, args.shape.cpus()));
        let initramfs = initramfs::pack(&kernel, &programs)?;
        let net = args.net()?;
        let mut console = log.map_or_else(|| Ok(Console::default()), Console::logged)?;
        let machine = args.machine(&kernel, &initramfs, &net, "agent");
        let mut starts = 1;
        loop {
            let mut qemu = machine.start(&console)?;
            match reach(&net, &mut qemu) {
                Ok(link) => return Ok(Self { link, net, kernel, console, qemu }),
                Err(_) if starts < MOST_STARTS && qemu.crashed()? => {
                    starts += 1;
                    progress.step("QEMU crashed before the guest was up, starting it again");
                    net.attach()?;
                    // the assertion that ended that one is no fault of this one
                    console = console.anew()?;
                }
                Err(error) => return Err(error.context(console.tail())),
            }
        }
    }

    /// What the guest's kernel has complained about since the last time it was asked: warnings,
    /// oopses, stalls and sched_ext errors.
    ///
    /// # Errors
    /// When the guest does not answer.
    pub(crate) fn complaints(&mut self) -> Result<Vec<String>> {
        let log = self.link.run(&["dmesg", "-c"], Duration::from_secs(30))?;
        ensure!(log.success(), "dmesg failed in the guest: {}", log.last_words());
        Ok(log.stdout.lines().filter(|line| complains(line)).map(str::to_owned).collect())
    }

    /// What to say where the guest died of its emulator. Of stale code: its kernel ran a breakpoint
    /// that it had already taken out again, as it patched a static key. Real CPUs are synchronised
    /// after such a patch; QEMU seldom fails at that, from version 10 on, and often before (see
    /// `emulator.rs`). Or of an assertion of QEMU's, seen once as a NIC went and came back.
    pub(crate) fn broken_by_emulator(&self) -> Option<&'static str> {
        FAULTS.into_iter().find(|(sign, _)| self.console.has(sign)).map(|(_, said)| said)
    }

    /// Sorts a result: the outer error is that the guest hangs or has ended, and shows its
    /// console; any other stays the inner one.
    pub(crate) fn survive<T>(&mut self, result: Result<T>) -> Result<Result<T>> {
        let Err(error) = result else { return Ok(result) };
        if self.qemu.ended()? {
            bail!("the guest has ended by itself ({error:#}); {}", self.console.tail());
        }
        if error.is::<Silent>() {
            return Err(error.context(self.console.tail()));
        }
        Ok(Err(error))
    }
}

/// Whether a line of the kernel's log tells of a fault.
pub(crate) fn complains(line: &str) -> bool {
    const SIGNS: [&str; 7] =
        ["WARNING:", "BUG:", "Oops", "Call Trace:", "stall", "hung task", "soft lockup"];
    let of_scheduler = line.contains("sched_ext:")
        && ["error", "failed", "aborted", "runtime"].iter().any(|word| line.contains(word));
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

/// Gives a shell in a guest on this terminal, until it is left.
///
/// # Errors
/// As [`Guest::boot`].
pub(crate) fn shell(args: &GuestArgs) -> Result<()> {
    let programs = args.programs()?;
    let kernel = args.source.get(&args.kernel, &Progress::spinner())?;
    let initramfs = initramfs::pack(&kernel, &programs)?;
    let net = args.net()?;
    println!("Ctrl-D ends the guest, Ctrl-A X kills it");
    args.machine(&kernel, &initramfs, &net, "shell").run_here()
}

/// Runs a command in a guest of its own.
///
/// # Errors
/// As [`Guest::boot`], and when the command does not end in time or fails.
pub(crate) fn run(args: &RunArgs) -> Result<()> {
    let progress = Progress::spinner();
    let mut guest = Guest::boot(&args.guest, None, &progress)?;
    progress.step(args.command.join(" "));
    let result = guest.link.run(&args.command, Duration::from_secs(args.timeout));
    let finished = guest.survive(result)??;
    drop(progress);
    print!("{}", finished.stdout);
    eprint!("{}", finished.stderr);
    ensure!(finished.success(), "{} ended with code {:?}", args.command[0], finished.code);
    Ok(())
}
