//! The command line: one variant per subcommand, each handed to the module that does the work.

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::compare::{self, CompareArgs};
use crate::cpu::{self, CpuArgs};
use crate::lab::LabCommand;
use crate::remote::{self, AgentArgs};
use crate::report::{self, ReportArgs};
use crate::result::cli::{self as result, TableArgs};
use crate::traffic::client::{self, ClientArgs};
use crate::traffic::contend::{self, ContendArgs};
use crate::traffic::hog::{self, HogArgs};
use crate::traffic::server::{self, ServerArgs};

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
    /// Spin CPUs, as other work on the host does.
    Hog(HogArgs),
    /// Spin all CPUs for a while; print what CPU time each thread had, and its longest pause.
    Contend(ContendArgs),
    /// Measure what the CPUs do, system-wide, under any scheduler.
    Cpu(CpuArgs),
    /// Print a result as tables.
    Table(TableArgs),
    /// Compare two results, of two versions or two machines.
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
    /// Runs the subcommand to its end.
    pub(crate) fn run(self) -> Result<()> {
        match self {
            Self::Server(args) => server::run(args),
            Self::Client(args) => client::run(args),
            Self::Agent(args) => remote::agent(&args),
            Self::Hog(args) => hog::run(args),
            Self::Contend(args) => contend::run(&args),
            Self::Cpu(args) => cpu::run(&args),
            Self::Table(args) => result::table(&args),
            Self::Compare(args) => compare::run(&args),
            Self::Report(args) => report::run(&args),
            Self::Schema => result::schema(),
            Self::Lab(command) => command.run(),
        }
    }
}
