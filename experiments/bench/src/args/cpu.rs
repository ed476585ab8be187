//! The flags of `steer-bench cpu`.

use clap::Args;
use steer_ground::cpus::CpuList;
use steer_ground::units::Seconds;
use steer_measure::CpuOptions;

/// Flags of `steer-bench cpu`.
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(crate) struct CpuArgs {
    /// Measure for this long. Ctrl-C ends the measurement early, and the report covers the time so
    /// far.
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = Seconds::positive)]
    pub(crate) duration: Seconds,
    /// Open the instruments, print "ready", and start measuring this long after the start.
    #[arg(long, value_name = "SECONDS", default_value = "0")]
    pub(crate) lead: Seconds,
    /// Keep the instruments open this long after measuring, or until a signal. Opening and closing
    /// them makes the kernel patch its code. With --lead and --tail, this does not happen while a
    /// benchmark measures.
    #[arg(long, value_name = "SECONDS", default_value = "0")]
    pub(crate) tail: Seconds,
    /// Also count the events of this cgroup and the cgroups below it. The path starts at the
    /// cgroup2 root.
    #[arg(long, value_name = "PATH")]
    pub(crate) cgroup: Option<String>,
    /// Measure only these CPUs, like 0-1,4 [default: all online CPUs].
    #[arg(long, value_name = "LIST")]
    pub(crate) cpus: Option<CpuList>,
    /// Print JSON instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

impl From<CpuArgs> for CpuOptions {
    fn from(args: CpuArgs) -> Self {
        let CpuArgs { duration, lead, tail, cgroup, cpus, json } = args;
        Self { duration, lead, tail, cgroup, cpus, json }
    }
}

/// Shown by `--help`.
const HELP: &str = "\
Needs root, or CAP_PERFMON and CAP_SYSLOG. If the CPU has no counters (most virtual machines),
their values are null, the reason is given, and stacks are sampled by the clock.

Examples:
  steer-bench cpu
  steer-bench cpu --duration 10 --cpus 2-3 --json > cpu.json
  steer-bench cpu --cgroup system.slice/nginx.service

The JSON, shortened (version 1; seconds end in _s, shares go from 0 to 1, null is unknown):
  {\"version\": 1, \"duration_s\": 5.0, \"kernel\": \"6.18.15\", \"cpus\": \"0-1\",
   \"usage\": {\"cpus_used\": 1.42,
     \"total\": {\"user_s\": 0.5, \"system_s\": 3.9, \"softirq_s\": 2.6, \"irq_s\": 0.1, \"steal_s\": 0.0,
               \"iowait_s\": 0.0, \"idle_s\": 2.9},
     \"by_cpu\": {\"0\": {\"user_s\": 0.3, ...}, ...}},
   \"counters\": {\"machine\": {
       \"total\": {\"cycles\": {\"value\": null, \"running_share\": null},
                 \"context_switches\": {\"value\": 81234, \"running_share\": 1.0}, ...},
       \"by_cpu\": {\"0\": {...}, ...}},
     \"cgroup\": null,
     \"unavailable\": {\"cycles\": \"this machine has no such counter (ENOENT)\", ...}},
   \"breakdown\": {\"event\": \"cpu-clock\", \"hz\": 997, \"samples\": 7021, \"lost\": 0,
     \"user\": 0.07,
     \"kernel\": {\"data_copy\": {\"total\": 0.31, \"process\": 0.31, \"softirq\": 0.0, \"irq\": 0.0},
                \"tcp_ip\": {...}, \"netdevice\": ..., \"skb\": ..., \"memory\": ..., \"lock\": ...,
                \"scheduling\": ..., \"others\": ..., \"unclassified\": ...},
     \"top_unclassified\": [{\"symbol\": \"foo_bar\", \"share\": 0.002}]},
   \"network\": {\"interrupts_per_s\": 9120.2, \"net_rx_per_s\": 4211.0, \"pure_acks_per_s\": 87.4},
   \"warnings\": []}

Exit codes: 0 done; 1 an error, printed on stderr; 2 a bad command line.";
