//! The flags of `steer-bench ab`.

use std::path::PathBuf;

use anyhow::{Error, Result};
use clap::{Args, Parser};
use steer_ab::AbPlan;
use steer_lab::steering::Steering;
use steer_scenario::arm::Arm;

use super::choice::choice;
use super::guest::GuestArgs;
use super::host::HostArgs;
use super::rounds::RoundsArgs;
use super::setup::SetupArgs;
use super::workload::WorkloadArgs;

/// Flags of `steer-bench ab`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  steer-bench ab
  steer-bench ab --steering hash --long-tool iperf3
  steer-bench ab --steering hash --rpc-tool redis --rpc-threads 1
  steer-bench ab --steering hash --arms default,default+rfs,scx_steer
  steer-bench ab --steering hash --pairs 8 --until-interval 5 --budget 120 --a-a
  steer-bench ab --arms default,scx_steer,simple=scx_simple --with /usr/bin/scx_simple
  steer-bench ab --with old.toml --with new.toml \\
    --arms 'old=scx_steer --policy /bin/old.toml,new=scx_steer --policy /bin/new.toml'
  sudo steer-bench ab --agent 10.0.0.2:5299 --key-file steer.key --nic eth0 --arms default,scx_steer")]
pub(crate) struct AbArgs {
    #[command(flatten)]
    pub(crate) rounds: RoundsArgs,
    /// Steering modes to measure in: how the NIC and the guest choose the CPU for a packet.
    #[arg(long, alias = "worlds", value_name = "LIST", value_parser = choice(mode), value_delimiter = ',', default_value = "auto,hash,explicit")]
    pub(crate) steering: Vec<Steering>,
    /// What to compare: default, scx_steer, pinned, or NAME=COMMAND for another sched_ext
    /// scheduler, or scx_steer with a policy (bring programs and files into a guest with --with, they
    /// are in /bin). What follows a + is set for this arm's samples alone, as an operator would, and put
    /// back: default+rfs. There are +rfs; +irqbalance; +xps, each queue's interrupts and XPS on one
    /// CPU of the NIC's node; +nopause, no Ethernet pause frames; +shallow-idle, no idle state that
    /// takes longer to leave than the first that does not poll. Ratios are of scx_steer to the others;
    /// of the last arm, where it is not named.
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "default,scx_steer,pinned"
    )]
    pub(crate) arms: Vec<Arm>,
    /// Measure the first other arm a second time, as the arm `again`: its ratio to the first time
    /// shows the noise between equal arms, next to the effect.
    #[arg(long)]
    pub(crate) a_a: bool,
    /// An option for scx_steer in its arm; may be repeated.
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    pub(crate) steer_arg: Vec<String>,
    /// Seed of the order of arms and of the source ports.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Folder for result.json, report.html and the guest's console.
    #[arg(long, value_name = "DIR", default_value = "target/ab")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) setup: SetupArgs,
    #[command(flatten)]
    pub(crate) workload: WorkloadArgs,
    #[command(flatten)]
    pub(crate) guest: GuestArgs,
    #[command(flatten)]
    pub(crate) host: HostArgs,
}

impl TryFrom<AbArgs> for AbPlan {
    type Error = Error;

    fn try_from(args: AbArgs) -> Result<Self> {
        Ok(Self {
            rounds: args.rounds.into(),
            worlds: args.steering,
            arms: args.arms,
            a_a: args.a_a,
            steer_arg: args.steer_arg,
            seed: args.seed,
            out: args.out,
            setup: args.setup.into(),
            workload: args.workload.try_into()?,
            guest: args.guest.into(),
            host: args.host.options(),
        })
    }
}

/// Describes a steering mode, for the help.
fn mode(mode: Steering) -> &'static str {
    match mode {
        Steering::Auto => {
            "The driver's own spread of IRQs and XPS; the tap sends a flow to the queue the guest last \
             sent it from. The home follows the thread, as with perfect aRFS"
        }
        Steering::Hash => {
            "A hash of the flow chooses the queue, as with RSS; the queues' IRQs are pinned on their \
             NIC's node, as an operator's affinity script does"
        }
        Steering::Explicit => {
            "A rule chooses the queue (the client's port), as with ntuple filters; IRQs as for `hash`"
        }
        Steering::Spread => {
            "A hash of the flow chooses the queue, and the driver's spread of IRQs over all CPUs stays: \
             half of the homes are on the other node, and fixed there"
        }
    }
}

/// `steer-bench ab`, as a command line of its own.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, args_override_self = true)]
struct AbLine {
    #[command(flatten)]
    args: AbArgs,
}

/// What a command line of `steer-bench ab` asks for, from after the subcommand's name on.
///
/// # Errors
/// In a line, without hints for a command line that nobody typed.
pub(crate) fn plan(line: &[String]) -> Result<AbPlan> {
    let parsed =
        AbLine::try_parse_from(line).map_err(|error| Error::msg(brief(&error.to_string())))?;
    parsed.args.try_into()
}

fn brief(complaint: &str) -> String {
    let said = complaint.lines().next().unwrap_or_default();
    said.strip_prefix("error: ").unwrap_or(said).to_owned()
}
