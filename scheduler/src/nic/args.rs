//! The command line of `scx_steer nic`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand};
use steer_nic::{Mode, Options};
use steer_topology::CpuSet;

use crate::cli::Seconds;

/// The `nic` commands.
#[derive(Debug, Subcommand)]
pub(crate) enum NicCommand {
    /// Say how NICs are set: queues, interrupts, XPS, RPS, RFS, RSS, NAPI; and who else sets that.
    Status(StatusArgs),
    /// Say what a mode would change, why, and the shell lines that do and undo it. Changes nothing.
    Plan(PlanArgs),
    /// Set a mode. The values from before are journaled first, so that all can be put back.
    Apply(ApplyArgs),
    /// Put everything back, also what a killed scx_steer had set.
    Restore(RestoreArgs),
    /// Keep the modes of the host file in force, without loading the scheduler.
    Daemon(DaemonArgs),
    /// Check a host file. Prints every error at once, as file:line:column. Needs no root.
    Check(CheckArgs),
    /// Print the JSON Schema of host files, for editors and other tools.
    Schema,
    /// Stay, and set again what drivers reset. What somebody else changes is said and left alone.
    Watch(WatchArgs),
}

/// Options of `nic status`.
#[derive(Debug, Args)]
#[command(after_help = "\
Reads only. Some drivers tell their settings to root alone.

A queue's row says: its interrupt, the CPUs the interrupt may go to (ASKED) and does go to (NOW),
the CPUs that send by it (XPS), the CPUs its packets are handed on to (RPS), the entries of its
flow table (RFS), its NAPI context and how that polls. \"-\" is unknown or not there.

Examples:
  scx_steer nic status
  scx_steer nic status eth0
  scx_steer nic status --json | jq '.nics[] | {name: .device.name, irqs: [.irqs[].effective]}'
  scx_steer nic status --json | jq -e '.writers == []'      does nobody else set these?")]
pub(crate) struct StatusArgs {
    /// Interfaces; all with a device behind them, if none is named.
    #[arg(value_name = "IFACE")]
    pub(crate) interfaces: Vec<String>,
    /// Print JSON instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What is wanted of which NICs.
#[derive(Debug, Args)]
pub(crate) struct Wanted {
    /// Interfaces; all with a device behind them, if none is named.
    #[arg(value_name = "IFACE")]
    pub(crate) interfaces: Vec<String>,
    /// keep: nothing. align: a queue for each NIC-local core, its interrupt there, XPS to match,
    /// RPS off. rfs: align, and packets are handed on to the CPU that reads them. arfs: align, and
    /// the NIC does that by itself. busy-poll: align, and interrupts wait while programs poll.
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Mode,
    /// The CPUs that serve the NIC, as in 0-3,8, instead of the NIC-local ones.
    #[arg(long, value_name = "CPUS")]
    pub(crate) cpus: Option<CpuSet>,
    /// How many cores serve the NIC at most.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) cores: Option<u32>,
}

impl Wanted {
    /// What the administrator wants otherwise than the machine suggests.
    pub(crate) fn options(&self) -> Options {
        let cores = self.cores.map(|cores| cores as usize);
        Options { cpus: self.cpus.clone(), cores, active: None }
    }
}

/// Options of `nic plan`.
#[derive(Debug, Args)]
#[command(after_help = "\
The lines that begin with \"#\" say what no tool can do. Pasted in this order as root, the others do
what scx_steer nic apply does, but without its journal.

Exit codes: 0 the mode can be had, also if nothing is to be changed; 1 it cannot, or an error.

Examples:
  scx_steer nic plan --mode align
  scx_steer nic plan eth0 --mode rfs
  scx_steer nic plan eth0 --mode align --cpus 0-7        these CPUs serve it
  scx_steer nic plan --mode align --json | jq -r '.plans[].changes[].shell'")]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) wanted: Wanted,
    /// Print JSON instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Where the journal is.
#[derive(Debug, Args)]
pub(crate) struct JournalArg {
    /// Folder of the journal and its lock; one for the whole host.
    #[arg(long = "journal", value_name = "DIR", default_value = "/run/scx_steer/nic")]
    pub(crate) folder: PathBuf,
}

/// What host steering does beside the scheduler.
#[derive(Debug, Args)]
#[command(next_help_heading = "Host steering")]
pub(crate) struct HostArgs {
    /// A host file instead of /etc/scx_steer/host.toml. It says the mode of each NIC, and whether
    /// settings go back at exit. See scx_steer nic daemon --help.
    #[arg(long, value_name = "FILE")]
    pub(crate) host: Option<PathBuf>,
    /// The mode of a NIC, as in eth0=align, instead of the host file's. May be repeated.
    #[arg(long = "nic-mode", value_name = "IFACE=MODE")]
    pub(crate) nic_modes: Vec<NicModeArg>,
    #[command(flatten)]
    pub(crate) journal: JournalArg,
}

/// A NIC and its mode.
#[derive(Clone, Debug)]
pub(crate) struct NicModeArg {
    pub(crate) interface: String,
    pub(crate) mode: Mode,
}

impl FromStr for NicModeArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (interface, mode) =
            text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or("write IFACE=MODE")?;
        Ok(Self { interface: interface.to_owned(), mode: mode.parse()? })
    }
}

/// Options of `nic daemon`.
#[derive(Debug, Args)]
#[command(after_help = "\
A host file looks like this:

  on-exit = \"restore\"      # or \"keep\": the settings stay when scx_steer ends

  [nic.eth0]
  mode = \"align\"           # keep, align, rfs, arfs, busy-poll; auto needs the scheduler
  cpus = \"0-7\"             # these CPUs serve it, instead of the NIC-local ones
  cores = \"load\"           # how many cores take interrupts: a number, or as the load needs

A changed file takes effect when it is saved, or at SIGHUP; one with errors changes nothing. What
somebody else changes is said and left alone. After a SIGKILL, the next start puts back what is not
wanted any longer. The scheduler does the same beside its work: scx_steer --host FILE.

Exit codes: 0 stopped by a signal; 1 an error.

Examples:
  sudo scx_steer nic daemon
  sudo scx_steer nic daemon --nic-mode eth0=align")]
pub(crate) struct DaemonArgs {
    #[command(flatten)]
    pub(crate) host: HostArgs,
}

/// Options of `nic check`.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 no errors (warnings do not count); 1 errors.

Examples:
  scx_steer nic check                        the installed file
  scx_steer nic check host.toml --json | jq '.problems[].message'")]
pub(crate) struct CheckArgs {
    /// The file; without it /etc/scx_steer/host.toml.
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Print JSON instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `nic apply`.
#[derive(Debug, Args)]
#[command(after_help = "\
Writes all changes that scx_steer nic plan shows, in that order, and reads each back; if one fails,
those before it are put back. Before the first write the old values are in the journal, on disk. A
mode that was applied before is put back first. Nobody else's change is overwritten: a setting that
is neither as it was nor as scx_steer set it makes this stop.

Programs that set the same are named by scx_steer nic status; irqbalance is asked to leave the
interrupts alone that are moved.

Exit codes: 0 applied, or nothing to change; 1 an error: nothing is changed then, or all is put back.

Examples:
  sudo scx_steer nic apply --mode align
  sudo scx_steer nic apply eth0 --mode rfs
  sudo scx_steer nic apply eth0 --mode align --cpus 0-7
  sudo scx_steer nic restore")]
pub(crate) struct ApplyArgs {
    #[command(flatten)]
    pub(crate) wanted: Wanted,
    #[command(flatten)]
    pub(crate) journal: JournalArg,
}

/// Options of `nic restore`.
#[derive(Debug, Args)]
#[command(after_help = "\
What is neither as it was nor as scx_steer set it belongs to somebody else: it is named and stays. A
journal of an earlier boot is discarded, as settings do not outlive a boot.

Exit codes: 0 all is back, or there was nothing to put back; 1 something is not: it is named, and the
journal keeps it.

Examples:
  sudo scx_steer nic restore --dry-run
  sudo scx_steer nic restore")]
pub(crate) struct RestoreArgs {
    /// Say what would go back; change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Put back only what a daemon had set whose host file says on-exit = "restore": for a
    /// service's ExecStopPost.
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) after_daemon: bool,
    #[command(flatten)]
    pub(crate) journal: JournalArg,
}

/// Options of `nic watch`.
#[derive(Debug, Args)]
#[command(after_help = "\
Keeps the modes in force that scx_steer nic apply has set, also those set later, until SIGINT or
SIGTERM; the settings stay then. Drivers reset settings as a link goes up, channels change, or a CPU
comes or goes, and a NIC that comes back has none: the mode is set again then. A setting that changes
without any of these was changed by somebody else.

Exit codes: 0 stopped by a signal; 1 an error.

Examples:
  sudo scx_steer nic apply --mode align && sudo scx_steer nic watch")]
pub(crate) struct WatchArgs {
    /// Time between two looks.
    #[arg(long, value_name = "SECONDS", default_value = "1")]
    pub(crate) every: Seconds,
    #[command(flatten)]
    pub(crate) journal: JournalArg,
}
