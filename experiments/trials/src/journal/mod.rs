//! `steer-bench lab journal`: whatever ends or disturbs host steering, no setting is lost and no
//! value of another program is overwritten. Randomised trials of `scx_steer nic`: most on a veth pair
//! in a namespace of this host, which takes a fraction of a second each, some on the second NIC of
//! a guest, which has interrupts, NAPI contexts, and CPUs that may go offline.

mod event;
mod here;
mod trial;

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use steer_ground::progress::Progress;
use steer_ground::tool;
use steer_lab::fresh::Boots;
use steer_lab::guest::{Guest, GuestOptions};
use steer_lab::shape::Nics;

use here::Tally;
pub use here::{HereOptions, run as run_here};

/// Name of the hidden subcommand that runs trials where it is started.
pub const HERE: &str = "journal-here";
/// Trials of one start of that command. It shows progress, and bounds what an emulator's fault
/// costs.
const AT_ONCE: u64 = 50;
const AT_ONCE_IN_GUEST: u64 = 5;
/// Longest time of one trial in a guest on a busy machine.
const TRIAL: Duration = Duration::from_secs(180);
/// The guest's NIC that is not the agent's.
const SPARE: &str = "eth1";

/// How many trials, and where.
#[derive(Debug, Clone)]
pub struct JournalOptions {
    /// All trials.
    pub trials: u64,
    /// Of these, so many in a guest.
    pub in_guest: u64,
    /// Number of the first trial.
    pub first: u64,
    /// The seed.
    pub seed: u64,
    /// The guest, and the program under test.
    pub guest: GuestOptions,
}

/// Runs the trials, prints a table.
///
/// # Errors
/// A setting was lost or overwritten, or a trial cannot be run.
pub fn run(mut options: JournalOptions) -> Result<()> {
    ensure!(options.in_guest <= options.trials, "more trials in a guest than there are trials");
    // the guest's first NIC is the agent's
    options.guest.nics = Nics::EachNode;
    options.guest.extra.push(tool::installed("ethtool", "apt install ethtool")?);
    let progress = Progress::rounds(options.trials);
    let mut tally = in_namespaces(&options, &progress)?;
    let here = tally.trials;
    if options.in_guest > 0 {
        tally.add(in_guest(&options, &progress)?);
    }
    drop(progress);
    tally.modes.iter().for_each(|mode| println!("{mode}"));
    println!("{:>6}  event", "times");
    for (event, count) in &tally.events {
        println!("{count:>6}  {event}");
    }
    println!(
        "{} trials with seed {} ({here} in namespaces, {} in a guest): {} settings lost, {} foreign \
         values overwritten",
        tally.trials,
        options.seed,
        tally.trials - here,
        tally.lost,
        tally.overwritten
    );
    tally.faults.iter().for_each(|fault| eprintln!("{fault}"));
    ensure!(tally.faults.is_empty(), "{} faults; --first repeats a trial", tally.faults.len());
    Ok(())
}

/// Trials in network and mount namespaces of this host: they end with the command.
fn in_namespaces(options: &JournalOptions, progress: &Progress) -> Result<Tally> {
    let programs = options.guest.programs()?;
    let mut tally = Tally::default();
    let last = options.first + options.trials - options.in_guest;
    let mut first = options.first;
    while first < last {
        let trials = AT_ONCE.min(last - first);
        progress.step(format!("trials {first} to {} in a namespace", first + trials - 1));
        let mut words = here_words("v0", first, trials, options.seed);
        words.extend((first == options.first).then(|| "--modes".to_owned()));
        let mut command = Command::new("unshare");
        // sysfs shows the devices of the namespace that mounts it
        command.args(["--net", "--mount", "--propagation", "private", "sh", "-c"]);
        command.arg("mount -t sysfs none /sys && exec \"$@\"").arg("sh").arg(&programs[0]);
        command.args(words).arg("--scx-steer").arg(&programs[1]);
        tally.add(read(&tool::output(&mut command, "trials in a namespace")?)?);
        (0..trials).for_each(|_| progress.advance());
        first += trials;
    }
    Ok(tally)
}

fn in_guest(options: &JournalOptions, progress: &Progress) -> Result<Tally> {
    let mut tally = Tally::default();
    let boot = || Guest::boot(&options.guest, None, progress);
    let (mut guest, mut boots) = (boot()?, Boots::first());
    let end = options.first + options.trials;
    let from = end - options.in_guest;
    let mut first = from;
    while first < end {
        let trials = AT_ONCE_IN_GUEST.min(end - first);
        progress.step(format!("trials {first} to {} in a guest", first + trials - 1));
        let mut argv = vec!["/bin/steer-bench".to_owned()];
        argv.extend(here_words(SPARE, first, trials, options.seed));
        argv.extend((first == from).then(|| "--modes".to_owned()));
        argv.extend(["--scx-steer".to_owned(), "/bin/scx_steer".to_owned()]);
        let limit = TRIAL * u32::try_from(trials).unwrap_or(u32::MAX);
        let found = boots.run(&mut guest, progress, boot, |guest| {
            let ran = guest.link.run(&argv, limit);
            let finished = guest.survive(ran)??;
            ensure!(finished.success(), "trials in the guest failed: {}", finished.last_words());
            read(&finished.stdout)
        })?;
        tally.add(found);
        (0..trials).for_each(|_| progress.advance());
        first += trials;
    }
    let complaints = guest.complaints()?;
    ensure!(complaints.is_empty(), "the guest's kernel complains: {}", complaints.join(" | "));
    Ok(tally)
}

fn here_words(interface: &str, first: u64, trials: u64, seed: u64) -> Vec<String> {
    let flag = |name: &str, value: String| [format!("--{name}"), value];
    let flags = [
        flag("interface", interface.to_owned()),
        flag("first", first.to_string()),
        flag("trials", trials.to_string()),
        flag("seed", seed.to_string()),
    ];
    std::iter::once(HERE.to_owned()).chain(flags.into_iter().flatten()).collect()
}

/// The tally is the last line.
fn read(said: &str) -> Result<Tally> {
    let line = said.lines().last().context("the trials printed nothing")?;
    serde_json::from_str(line).context("the trials printed no tally")
}
