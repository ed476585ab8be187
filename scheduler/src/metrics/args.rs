//! The command line of `scx_steer metrics`.

use std::path::PathBuf;

use clap::Args;

use super::serve::Listen;
use crate::cli::Seconds;

/// Options of `metrics`.
#[derive(Debug, Args)]
#[command(after_help = "\
Serves /metrics in the OpenMetrics format to those that ask for it, as Prometheus does, and else in
Prometheus' text format. It asks the running instance over its statistics socket, at most once a
second. This needs no privileges, only write access to that socket: root, or the group scx_steer if
the service runs. If no scheduler is in force, scx_steer_in_force is 0.

Anyone that reaches the address can read the metrics. They name NICs and count policies; they name
no process and no cgroup.

Examples:
  scx_steer metrics                                       http://127.0.0.1:9954/metrics
  scx_steer metrics --listen unix:/run/scx_steer/metrics
  scx_steer metrics --textfile /var/lib/prometheus/node-exporter/scx_steer.prom --every 15")]
pub(crate) struct MetricsArgs {
    /// Where to serve: an address and a port, or unix:PATH.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9954")]
    pub(crate) listen: Listen,
    /// Write the metrics to this file instead, for the textfile collector of node_exporter. The file
    /// is replaced at once, so that no reader sees half of it.
    #[arg(long, value_name = "PATH", conflicts_with = "listen")]
    pub(crate) textfile: Option<PathBuf>,
    /// Write the file this often, until SIGINT or SIGTERM; without it, once.
    #[arg(long, value_name = "SECONDS", requires = "textfile")]
    pub(crate) every: Option<Seconds>,
    /// The statistics socket of the running instance.
    #[arg(long, value_name = "PATH", default_value = "/run/scx/root/stats")]
    pub(crate) socket: PathBuf,
}
