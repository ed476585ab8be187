//! Settings of the whole host, as options. Those of a cgroup's traffic are a policy file's to set.

use clap::{Args, CommandFactory, error::ErrorKind};
use steer_policy::{Classification, Placement, Settings, Time};

use crate::cli::Cli;

/// Settings of the whole host.
#[derive(Debug, Args)]
#[command(next_help_heading = "Settings of the host")]
pub(crate) struct SettingArgs {
    /// Longest time a thread runs while others wait, judged at timer ticks. 100us to 100ms. Where
    /// short-flow threads share a CPU, shorter ones lower the tail of their latency and raise its
    /// median.
    #[arg(long, value_name = "TIME", default_value_t = placement().slice.into())]
    slice: Time,

    /// How long a core stays with a long-flow thread that last woke or ran there. 1ms to 60s.
    #[arg(long, value_name = "TIME", default_value_t = placement().claim.into())]
    claim: Time,

    /// After waiting for longer, a thread gets any idle CPU it may use, a long-flow core too. 0ns
    /// to 1s.
    #[arg(long, value_name = "TIME", default_value_t = placement().lend_after.into())]
    lend_after: Time,

    /// Short bursts in a row that turn a long flow short. 1 to 255. When a burst is long or short
    /// is said in policy files, for all cgroups by a rule for "/".
    #[arg(
        long,
        value_name = "N",
        default_value_t = classification().short_bursts_to_leave_long
    )]
    short_bursts_to_leave_long: u32,

    /// Estimated CPU time that a KiB of payload costs. With the next, it weighs the long flows of a
    /// thread against its short ones. 1ns to 1ms.
    #[arg(long, value_name = "TIME", default_value_t = Time::from_ns(classification().cost_ns_per_kib))]
    cost_per_kib: Time,

    /// Estimated CPU time that a message costs beyond its payload. 0ns to 100ms.
    #[arg(long, value_name = "TIME", default_value_t = Time::from_ns(classification().cost_ns_per_message))]
    cost_per_message: Time,

    /// A thread whose recent traffic cost less has no class. 1ns to 1s.
    #[arg(long, value_name = "TIME", default_value_t = classification().floor.into())]
    floor: Time,
}

fn placement() -> Placement {
    Placement::default()
}

fn classification() -> Classification {
    Classification::default()
}

impl SettingArgs {
    /// The settings, checked. A bad one ends the program, as other mistakes on the command line do.
    pub(crate) fn settings(&self) -> Settings {
        let settings = Settings {
            classification: Classification {
                short_bursts_to_leave_long: self.short_bursts_to_leave_long,
                cost_ns_per_kib: self.cost_per_kib.ns(),
                cost_ns_per_message: self.cost_per_message.ns(),
                floor: self.floor.duration(),
                ..classification()
            },
            placement: Placement {
                slice: self.slice.duration(),
                claim: self.claim.duration(),
                lend_after: self.lend_after.duration(),
            },
        };
        if let Err(errors) = settings.validate() {
            let lines: Vec<_> = errors.iter().map(|error| format!("--{error}")).collect();
            Cli::command().error(ErrorKind::ValueValidation, lines.join("\n")).exit();
        }
        settings
    }
}
