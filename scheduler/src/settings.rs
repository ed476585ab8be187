//! Settings of the whole host, as options. Policy files set what differs by cgroup.

use clap::{Args, CommandFactory, error::ErrorKind};
use steer_policy::{Classification, Placement, Settings, Time};

use crate::cli::Cli;

/// Settings of the whole host.
#[derive(Debug, Args)]
#[command(next_help_heading = "Settings of the host")]
pub(crate) struct SettingArgs {
    /// Time slice: the longest time a thread runs while others wait, checked at timer ticks.
    /// 100us to 100ms. Where short-flow threads share a CPU, a shorter slice lowers their tail
    /// latency and raises their median latency.
    #[arg(long, value_name = "TIME", default_value_t = placement().slice.into())]
    slice: Time,

    /// How long a core stays claimed by a long-flow thread after the thread last woke or ran there.
    /// 1ms to 60s.
    #[arg(long, value_name = "TIME", default_value_t = placement().claim.into())]
    claim: Time,

    /// A thread that has waited longer than this gets any idle CPU it may use, even on a claimed
    /// core. The less traffic a claimed core has, the sooner: with a tenth of a full load, after a
    /// tenth of this time, but not before 2ms. 0ns to 1s.
    #[arg(long, value_name = "TIME", default_value_t = placement().lend_after.into())]
    lend_after: Time,

    /// The most CPUs that share one queue of waiting threads. 1 to 1024. CPUs that share a
    /// last-level cache share a queue. If they are more than this, they are divided into equal
    /// parts of whole cores, with a queue each. Fewer CPUs per queue contend less for its lock. But
    /// CPU shares are exact only within a queue. Between queues, threads move about every 100 ms,
    /// until the queues differ by less than one thread.
    #[arg(long, value_name = "N", default_value_t = placement().queue_cpus)]
    queue_cpus: u32,

    /// How many short bursts in a row turn a long flow short. 1 to 255. The sizes of short and long
    /// bursts are set in policy files; a rule for "/" sets them for all cgroups.
    #[arg(
        long,
        value_name = "N",
        default_value_t = classification().short_bursts_to_leave_long
    )]
    short_bursts_to_leave_long: u32,

    /// Estimated CPU time per KiB of payload. This and --cost-per-message weigh a thread's long
    /// flows against its short flows. 1ns to 1ms.
    #[arg(long, value_name = "TIME", default_value_t = Time::from_ns(classification().cost_ns_per_kib))]
    cost_per_kib: Time,

    /// Estimated CPU time per message, without its payload. 0ns to 100ms.
    #[arg(long, value_name = "TIME", default_value_t = Time::from_ns(classification().cost_ns_per_message))]
    cost_per_message: Time,

    /// A thread whose recent traffic cost less CPU time than this has no class. 1ns to 1s.
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
    /// The checked settings. A bad setting ends the program, like other command-line mistakes.
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
                queue_cpus: self.queue_cpus,
            },
        };
        if let Err(errors) = settings.validate() {
            let lines: Vec<_> = errors.iter().map(|error| format!("--{error}")).collect();
            Cli::command().error(ErrorKind::ValueValidation, lines.join("\n")).exit();
        }
        settings
    }
}
