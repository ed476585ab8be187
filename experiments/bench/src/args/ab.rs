//! The flags of `steer-bench ab`.

use std::path::PathBuf;

use anyhow::{Error, Result};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, CommandFactory, FromArgMatches, Parser};
use steer_ab::AbPlan;
use steer_lab::steering::Steering;
use steer_result::spec::Options;
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
    /// scheduler, or for scx_steer with a policy. --with puts programs and files into the guest's
    /// /bin. A setting after a + applies to the samples of this arm only, and is put back
    /// afterwards: default+rfs. The settings: +rfs; +irqbalance; +xps (each queue's interrupts and
    /// XPS on one CPU of the NIC's node); +align (scx_steer nic apply --mode align); +nopause (no
    /// Ethernet pause frames); +shallow-idle (no idle state with a longer exit latency than the
    /// first one that does not poll). Ratios compare scx_steer with the other arms. Without an arm called scx_steer, they compare the last arm
    /// with the others.
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "default,scx_steer,pinned"
    )]
    pub(crate) arms: Vec<Arm>,
    /// Measure the first other arm a second time, as the arm `again`. Its ratio to the first time
    /// shows the noise between equal arms, beside the effect.
    #[arg(long)]
    pub(crate) a_a: bool,
    /// An option for scx_steer in its arm. May be repeated.
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    pub(crate) steer_arg: Vec<String>,
    /// Seed for the order of arms and for the source ports.
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
            modes: args.steering,
            arms: args.arms,
            a_a: args.a_a,
            steer_arg: args.steer_arg,
            seed: args.seed,
            out: args.out,
            setup: args.setup.into(),
            workload: args.workload.try_into()?,
            guest: args.guest.into(),
            host: args.host.options(),
            options: Options::default(),
        })
    }
}

/// Describes a steering mode, for the help.
pub(super) fn mode(mode: Steering) -> &'static str {
    match mode {
        Steering::Auto => {
            "A flow's packets follow its thread, as with perfect aRFS: the tap sends a flow to the queue \
             that the guest last sent it from. IRQs and XPS stay as the driver sets them"
        }
        Steering::Hash => {
            "A hash of the flow chooses the queue, as with RSS. The queues' IRQs are pinned to CPUs of \
             the NIC's node, as an operator's script would do"
        }
        Steering::Explicit => {
            "A rule on the client's port chooses the queue, as with ntuple filters. IRQs as in `hash`"
        }
        Steering::Spread => {
            "As `hash`, but the IRQs stay spread over all CPUs, as the driver sets them. So half of the \
             flows are processed on the other node, and stay there"
        }
    }
}

/// The flags of `steer-bench ab`, without the program's name.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, args_override_self = true)]
struct AbLine {
    #[command(flatten)]
    args: AbArgs,
}

/// The plan of a command line of `steer-bench ab`. The line starts after the subcommand's name.
///
/// # Errors
/// One line, without clap's hints: nobody typed this command line.
pub(crate) fn plan(line: &[String]) -> Result<AbPlan> {
    let parsed = |line| {
        let matches = AbLine::command().try_get_matches_from(line)?;
        let AbLine { args } = AbLine::from_arg_matches(&matches)?;
        Ok((args, options(&AbLine::command(), &matches)))
    };
    let (args, options) =
        parsed(line).map_err(|error: clap::Error| Error::msg(brief(&error.to_string())))?;
    Ok(AbPlan { options, ..args.try_into()? })
}

/// The options that were given, for the result.
pub(super) fn options(command: &Command, matches: &ArgMatches) -> Options {
    let given = command.get_arguments().filter_map(|arg| {
        let id = arg.get_id().as_str();
        let (source, name) = (matches.value_source(id)?, arg.get_long()?);
        let lists = matches.get_raw_occurrences(id).filter(|_| arg.get_action().takes_values());
        let values = lists.into_iter().flatten().map(|list| {
            // A list stays one text, as it was given.
            list.map(|value| value.to_string_lossy()).collect::<Vec<_>>().join(",")
        });
        let values = values.collect();
        (source == ValueSource::CommandLine).then(|| (name.to_owned(), values))
    });
    Options::recorded(given)
}

fn brief(complaint: &str) -> String {
    let said = complaint.lines().next().unwrap_or_default();
    said.strip_prefix("error: ").unwrap_or(said).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_options_are_recorded_as_they_were_given() {
        let line = "--pairs 5 --worlds=auto,hash --no-hogs --arms default --arms=scx_steer --out x";
        let line: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let expected = [
            "--arms=default",
            "--arms=scx_steer",
            "--no-hogs",
            "--pairs=5",
            "--steering=auto,hash",
        ];
        assert_eq!(plan(&line).unwrap().options.arguments(), expected);
    }
}
