//! The command line of `scx_steer nic`.

use std::path::PathBuf;
use std::str::FromStr;

use anyhow::Result;
use clap::{Args, Subcommand};
use steer_nic::{Mode, Options};
use steer_policy::PolicySet;
use steer_topology::CpuSet;

use crate::cli::Seconds;
use crate::policy::{PolicyArg, load};

/// The `nic` commands.
#[derive(Debug, Subcommand)]
pub(crate) enum NicCommand {
    /// Show how NICs are set (queues, interrupts, XPS, RPS, RFS, RSS, NAPI) and which programs do it
    Status(StatusArgs),
    /// Show what a mode would change, why, and the shell lines that do and undo it. Changes nothing
    Plan(PlanArgs),
    /// Set a mode. The old values go to a journal first, so that all can be put back
    Apply(ApplyArgs),
    /// Put everything back, also the settings of a killed scx_steer
    Restore(RestoreArgs),
    /// Keep the modes of the host file in force, without loading the scheduler
    Daemon(DaemonArgs),
    /// Check a host file. Prints every error at once, as file:line:column. Needs no root
    Check(CheckArgs),
    /// Print the JSON Schema of host files, for editors and other tools
    Schema,
    /// Stay and repeat settings that drivers reset. Report changes by other programs; leave them
    Watch(WatchArgs),
}

/// Options of `nic status`.
#[derive(Debug, Args)]
#[command(after_help = "\
Reads only. Some drivers tell only root their settings.

Each queue has a row: its interrupt, the CPUs the interrupt may go to (ASKED) and goes to (NOW),
the CPUs that send through the queue (XPS), the CPUs that its packets are passed to (RPS), the
entries of its flow table (RFS), its NAPI context and how that polls. \"-\" means unknown or absent.

Examples:
  scx_steer nic status
  scx_steer nic status eth0
  scx_steer nic status --json | jq '.nics[] | {name: .device.name, irqs: [.irqs[].effective]}'
  scx_steer nic status --json | jq -e '.writers == []'      does no other program set these?")]
pub(crate) struct StatusArgs {
    /// Interfaces [default: all that have a device behind them]
    #[arg(value_name = "IFACE")]
    pub(crate) interfaces: Vec<String>,
    /// Print JSON instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The mode that is asked for, and the NICs.
#[derive(Debug, Args)]
pub(crate) struct Wanted {
    /// Interfaces [default: all that have a device behind them]
    #[arg(value_name = "IFACE")]
    pub(crate) interfaces: Vec<String>,
    /// keep: change nothing. align: one queue per NIC-local core, with its interrupt on that core,
    /// XPS to match, RPS off. rfs: align, and the kernel passes packets to the CPU that reads them.
    /// arfs: align, and the NIC sends packets there itself. rules: align, and the NIC sends packets
    /// to the ports that policy files name to the CPUs of their pools. busy-poll: align, and
    /// interrupts wait while programs poll.
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Mode,
    /// The CPUs that serve the NIC, such as 0-3,8 [default: the NIC-local CPUs]
    #[arg(long, value_name = "CPUS")]
    pub(crate) cpus: Option<CpuSet>,
    /// At most this many cores serve the NIC.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) cores: Option<u32>,
    #[command(flatten)]
    pub(crate) policy: PolicyArg,
}

impl Wanted {
    /// The policy files, if the mode needs them.
    ///
    /// # Errors
    /// All that is wrong with them.
    pub(crate) fn policies(&self) -> Result<PolicySet> {
        match self.mode {
            Mode::Rules => load::set(self.policy.policy.as_deref()),
            _ => Ok(PolicySet::default()),
        }
    }

    /// What the administrator asks for of an interface, instead of what the machine suggests.
    pub(crate) fn options(&self, policies: &PolicySet, interface: &str) -> Options {
        let cores = self.cores.map(|cores| cores as usize);
        Options { cpus: self.cpus.clone(), cores, active: None, ports: policies.ports(interface) }
    }
}

/// Options of `nic plan`.
#[derive(Debug, Args)]
#[command(after_help = "\
Pasted as root in this order, the shell lines do what scx_steer nic apply does, without its journal.
A line that begins with \"#\" is a change that no command-line tool can make.

Exit codes: 0 the mode is possible, also if nothing has to change; 1 it is not, or an error.

Examples:
  scx_steer nic plan --mode align
  scx_steer nic plan eth0 --mode rfs
  scx_steer nic plan eth0 --mode align --cpus 0-7        these CPUs serve it
  scx_steer nic plan eth0 --mode rules --policy web.toml
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

/// Options of host steering.
#[derive(Debug, Args)]
#[command(next_help_heading = "Host steering")]
pub(crate) struct HostArgs {
    /// The host file: the mode of each NIC, and whether settings are put back at exit. See
    /// scx_steer nic daemon --help [default: /etc/scx_steer/host.toml]
    #[arg(long, value_name = "FILE")]
    pub(crate) host: Option<PathBuf>,
    /// The mode of a NIC, such as eth0=align, instead of the host file's. May be repeated.
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

    fn from_str(text: &str) -> std::result::Result<Self, String> {
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
  mode = \"align\"           # keep, align, rfs, arfs, rules, busy-poll; auto needs the scheduler
  cpus = \"0-7\"             # these CPUs serve it, instead of the NIC-local ones
  cores = \"load\"           # how many cores take interrupts: a number, or as the load needs

A changed file takes effect when it is saved, or at SIGHUP; one with errors changes nothing. A
setting that another program changes is reported and left alone. After a SIGKILL, the next start
puts back the settings that the file no longer asks for. The scheduler does all this too:
scx_steer --host FILE.

Exit codes: 0 stopped by a signal; 1 an error.

Examples:
  sudo scx_steer nic daemon
  sudo scx_steer nic daemon --nic-mode eth0=align")]
pub(crate) struct DaemonArgs {
    #[command(flatten)]
    pub(crate) host: HostArgs,
    #[command(flatten)]
    pub(crate) policy: PolicyArg,
}

/// Options of `nic check`.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 no errors (warnings do not count); 1 errors.

Examples:
  scx_steer nic check                        the installed file
  scx_steer nic check host.toml --json | jq '.problems[].message'")]
pub(crate) struct CheckArgs {
    /// The file [default: /etc/scx_steer/host.toml]
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Print JSON instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `nic apply`.
#[derive(Debug, Args)]
#[command(after_help = "\
Writes all changes that scx_steer nic plan shows, in that order, and reads each back. If one fails,
the earlier ones are put back. The old values are in the journal, on disk, before the first write.
A mode that was applied before is put back first. A change by another program is never overwritten:
if a setting has neither its old value nor the one that scx_steer set, nothing is applied.

scx_steer nic status names programs that set the same things. irqbalance is asked to leave the moved
interrupts alone.

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
A setting with neither its old value nor the one that scx_steer set was changed by another program:
it is named and stays. A journal of an earlier boot is discarded, as no setting outlives a boot.

Exit codes: 0 all is back, or there was nothing to put back; 1 something could not be put back: it is
named, and stays in the journal.

Examples:
  sudo scx_steer nic restore --dry-run
  sudo scx_steer nic restore")]
pub(crate) struct RestoreArgs {
    /// Print what would be put back; change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Put back only the settings of a daemon with on-exit = "restore" in its host file: for a
    /// service's ExecStopPost.
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) after_daemon: bool,
    #[command(flatten)]
    pub(crate) journal: JournalArg,
}

/// Options of `nic watch`.
#[derive(Debug, Args)]
#[command(after_help = "\
Until SIGINT or SIGTERM, keeps the modes in force that scx_steer nic apply has set or sets meanwhile.
The settings stay when it ends. Drivers reset settings when a link goes up, channels change, or a CPU
comes or goes, and a NIC that comes back has lost them: the mode is set again then. A setting that
changes at any other time was changed by another program.

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
