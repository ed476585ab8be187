//! The command line: one variant per subcommand. Each is passed to the crate that does the work.

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::args::agent::AgentArgs;
use crate::args::archive::ArchiveArgs;
use crate::args::client::ClientArgs;
use crate::args::cpu::CpuArgs;
use crate::args::hog::{ContendArgs, HogArgs, WakeArgs};
use crate::args::report::{CompareArgs, ReportArgs, TableArgs};
use crate::args::results::ResultsArgs;
use crate::args::server::ServerArgs;
use crate::lab::LabCommand;
use steer_archive::{command as archive, results};
use steer_traffic::{client, contend, hog, server, wake};

/// A/B benchmarks of CPU schedulers on network traffic.
#[derive(Debug, Parser)]
#[command(version, about)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Every subcommand of `steer-bench`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve long flows and RPCs: the measured side.
    Server(ServerArgs),
    /// Drive long flows and RPCs against a server, and time them.
    Client(ClientArgs),
    /// Drive traffic for `steer-bench ab --agent` on another host: the driving side.
    Agent(AgentArgs),
    /// Keep CPUs busy, as other work on the host does.
    Hog(HogArgs),
    /// Keep all CPUs busy for a while; print each thread's CPU time and its longest pause.
    Contend(ContendArgs),
    /// Time how long a thread waits whose waker goes on working.
    Wake(WakeArgs),
    /// Measure what the CPUs do, system-wide, under any scheduler.
    Cpu(CpuArgs),
    /// Print a result as tables.
    Table(TableArgs),
    /// Keep a run for good, in little space, with its commands and versions.
    Archive(ArchiveArgs),
    /// Make docs/results.md from the archived runs.
    Results(ResultsArgs),
    /// Compare two results, for instance of two versions or two machines.
    Compare(CompareArgs),
    /// Turn a result into one self-contained HTML page, into Markdown or into CSV.
    Report(ReportArgs),
    /// Print the JSON Schema of results.
    Schema,
    /// The virtual lab and the A/B runs in it.
    #[command(flatten)]
    Lab(LabCommand),
}

impl Command {
    /// Whether the command does nothing but read results and print.
    pub(crate) fn only_prints(&self) -> bool {
        matches!(self, Self::Table(_) | Self::Compare(_) | Self::Report(_) | Self::Schema)
    }

    /// Runs the subcommand to its end.
    pub(crate) fn run(self) -> Result<()> {
        match self {
            Self::Server(args) => server::run(args.into()),
            Self::Client(args) => client::run(args.into()),
            Self::Agent(args) => args.run(),
            Self::Hog(args) => hog::run(args.into()),
            Self::Contend(args) => contend::run(&args.into()),
            Self::Wake(args) => wake::run(&args.into()),
            Self::Cpu(args) => steer_measure::run(&args.into()),
            Self::Table(args) => args.run(),
            Self::Archive(args) => archive::run(&args.into()),
            Self::Results(args) => results::run(&args.into()),
            Self::Compare(args) => args.run(),
            Self::Report(args) => steer_report::run(&args.into()),
            Self::Schema => {
                print!("{}", steer_result::schema()?);
                Ok(())
            }
            Self::Lab(command) => command.run(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steer_traffic::load::Load;
    use steer_traffic::long::Direction;

    fn load(long_direction: Direction, long_zerocopy: bool) -> Load {
        Load {
            long_flows: 2,
            long_rate: Some(40_000_000),
            long_direction,
            long_zerocopy,
            rpc_connections: 16,
            rpc_rate: 2000,
            rpc_size: 4096,
            stages: ["long-flows=0", "rpc-connections=32"].map(|text| text.parse().unwrap()).into(),
            connect_s: 3.0,
            warmup_s: 2.0,
            duration_s: 8.0,
            source_port: 20_000,
        }
    }

    #[test]
    fn the_client_has_the_flags_that_it_is_given() {
        for load in
            [load(Direction::In, false), load(Direction::In, true), load(Direction::Out, false)]
        {
            let arguments = load.arguments(&[1, 2].map(|last| [127, 0, 0, last].into()));
            let command = ["steer-bench".to_owned()].into_iter().chain(arguments);
            let parsed = Cli::try_parse_from(command).unwrap();
            let parsed = format!("{parsed:?}");
            let direction = format!("long_direction: {:?}", load.long_direction);
            let zerocopy = format!("long_zerocopy: {}", load.long_zerocopy);
            let stages = format!("stages: {:?}", load.stages);
            let rate = "rpc_rate: 2000".to_owned();
            let connect = "connect_within: Some(Seconds(3s))".to_owned();
            let servers = "server: [\"127.0.0.1\", \"127.0.0.2\"]".to_owned();
            for expected in [direction, zerocopy, stages, rate, connect, servers] {
                assert!(parsed.contains(&expected), "{parsed}");
            }
        }
    }
}
