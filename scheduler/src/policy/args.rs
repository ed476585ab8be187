//! The command lines of `scx_steer policy`.

use std::{num::NonZeroU32, path::PathBuf, str::FromStr};

use clap::{Args, Subcommand};

/// The `policy` commands.
#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Check policy files. Prints every error at once, as file:line:column. Needs no root and no
    /// sched_ext.
    Check(CheckArgs),
    /// Print the policies of this host, and the cgroups each one applies to.
    Show(ShowArgs),
    /// For a cgroup or a process, print each value, the rule that set it, and the rules it
    /// overrides.
    Explain(ExplainArgs),
    /// Print the JSON Schema of policy files, for editors and other tools.
    Schema,
    /// Print a commented policy file to start from.
    #[command(after_help = "\
Examples:
  scx_steer policy example | sudo tee /etc/scx_steer/policy.d/50-example.toml")]
    Example,
}

/// Options of `policy check`.
#[derive(Debug, Args)]
#[command(after_help = "\
Without PATHS, checks what the scheduler would load, and who can change it: a file or folder that
anybody but root and the caller can write is an error. PATHS may be a checkout, so there it is only
a warning.

Exit codes: 0 no errors (warnings do not count); 1 errors.

Examples:
  scx_steer policy check                     the installed files
  scx_steer policy check policy.d/           a folder, in CI
  scx_steer policy check --json web.toml | jq '.problems[].message'")]
pub(crate) struct CheckArgs {
    /// Files, or folders of *.toml files. They are checked as one set, in this order.
    #[arg(value_name = "PATHS", conflicts_with = "policy")]
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) policy: PolicyArg,
    /// Print JSON instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `policy show`.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 done; 1 the files have errors, or cgroups cannot be read.

Examples:
  scx_steer policy show
  scx_steer policy show --policy draft.toml
  scx_steer policy show --json | jq '.policies[] | {sets, cgroups: [.cgroups[].path]}'")]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    pub(crate) policy: PolicyArg,
    #[command(flatten)]
    pub(crate) root: RootArg,
    /// Print JSON instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `policy explain`.
#[derive(Debug, Args)]
#[command(after_help = "\
A cgroup need not exist: what would hold for it is said.

Exit codes: 0 done; 1 the files have errors, or there is no such process.

Examples:
  scx_steer policy explain 4711
  scx_steer policy explain system.slice/nginx.service
  scx_steer policy explain user.slice/user-1000.slice --process iperf3")]
pub(crate) struct ExplainArgs {
    /// A process id, or the path of a cgroup, counted from the cgroup2 root.
    #[arg(value_name = "PID|CGROUP")]
    pub(crate) target: Target,
    /// Explain for processes of this name in the cgroup.
    #[arg(long, value_name = "NAME")]
    pub(crate) process: Option<String>,
    #[command(flatten)]
    pub(crate) policy: PolicyArg,
    /// Print JSON instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The policy files to use.
#[derive(Debug, Args)]
pub(crate) struct PolicyArg {
    /// A policy file, or a folder of policy files, instead of /etc/scx_steer/policy.d.
    #[arg(long, value_name = "PATH")]
    pub(crate) policy: Option<PathBuf>,
}

/// Where to find the cgroups.
#[derive(Debug, Args)]
pub(crate) struct RootArg {
    /// The folder to use as root of the cgroup tree, instead of the cgroup2 mount.
    #[arg(long, value_name = "DIR")]
    pub(crate) cgroup_root: Option<PathBuf>,
}

/// What to explain.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Target {
    /// A process.
    Process(NonZeroU32),
    /// A cgroup: its path, without leading and trailing slashes.
    Cgroup(String),
}

impl FromStr for Target {
    type Err = String;

    /// Bare digits are a process id. A cgroup with such a name can be written with a slash.
    fn from_str(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("write a process id or the path of a cgroup; the root cgroup is /".into());
        }
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            let pid = text.parse().map_err(|_| format!("{text} cannot be a process id"))?;
            return Ok(Self::Process(pid));
        }
        Ok(Self::Cgroup(text.trim_matches('/').to_string()))
    }
}
