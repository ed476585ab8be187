//! The load generators on the host: our client and, beside it or instead of it, iperf3 for the long
//! flows and a program's own load tool for the RPCs.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::rpc_tool::{Calls, RpcTool};
use super::workload::Workload;
use steer_lab::net;
use steer_lab::net::Net;
use steer_traffic::client::{ClientReport, LongReport};
use steer_traffic::generator::{Client, Generator};

/// Time allowed beyond warm-up and sample for connecting, draining and exchanging results.
const GRACE: Duration = Duration::from_secs(40);

/// The generators of one sample.
pub struct Generators {
    /// Our client; absent if other programs send everything.
    client: Option<Client>,
    iperf: Vec<Generator>,
    /// The load tool for the RPCs of another program.
    rpc: Option<(RpcTool, Calls)>,
    /// When the warm-up should be over, and the length of the window.
    warm: Instant,
    window: Duration,
    deadline: Instant,
}

impl Generators {
    /// Starts the generators in the lab's network.
    pub fn start(
        net: &Net,
        workload: &Workload,
        warmup: Duration,
        source_port: u16,
    ) -> Result<Self> {
        let (warm, window) = (Instant::now() + warmup, workload.duration());
        let guests = net.guests();
        // iperf3 takes whole seconds only.
        let omitted = warmup.as_secs_f64().round();
        let how_long = format!("--omit {omitted} --time {} --json", window.as_secs());
        let iperf = workload.iperf_clients(&guests, &how_long, source_port);
        let start = |argv: &Vec<String>| Generator::start(command(net, argv)?);
        let iperf = iperf.iter().map(start).collect::<Result<Vec<_>>>()?;
        let rpc = workload.calls_of_tool().map(|calls| (workload.rpc_tool, calls));
        let load = workload.load(warmup, source_port);
        let idle = load.is_none() && (rpc.is_some() || !iperf.is_empty());
        let client = if idle {
            None
        } else {
            let mut command = net.command(std::env::current_exe()?);
            command.args(load.arguments(&guests)).args(workload.client_flags());
            Some(Client::start(command)?)
        };
        Ok(Self { client, iperf, rpc, warm, window, deadline: warm + window + GRACE })
    }

    /// Runs the load tool in the same network, if there is one, and waits for the end of all
    /// traffic. Returns the client's report, and when the last of the windows began.
    pub fn finish(self, net: &Net) -> Result<(ClientReport, Instant)> {
        let start = |argv: &[String]| command(net, argv);
        let rpc = self.rpc.map(|(tool, calls)| {
            tool.drive(calls, net::GUEST.into(), &start, self.warm, self.window)
        });
        let rpc = rpc.transpose()?;
        let (mut report, warm) = match self.client {
            Some(client) => {
                let (text, warm) = client.finish(self.deadline)?;
                let report: ClientReport =
                    serde_json::from_str(&text).context("reading the client's report")?;
                (report, warm.context("the client never reported the end of its warm-up")?)
            }
            None => (ClientReport::of_others(self.window), self.warm),
        };
        let mut begun = warm;
        if let Some((rpc, asked)) = rpc {
            report.rpc = Some(rpc);
            // A tool that starts late has a later window, even if our client was punctual.
            begun = begun.max(asked);
        }
        if !self.iperf.is_empty() {
            let reports = self
                .iperf
                .into_iter()
                .map(|generator| generator.finish(self.deadline).context("iperf3 failed"))
                .collect::<Result<Vec<_>>>()?;
            report.long = Some(long_of_iperf(&reports)?);
        }
        Ok((report, begun))
    }
}

/// A command that runs in the lab's network.
fn command(net: &Net, argv: &[String]) -> Result<Command> {
    let (program, arguments) = argv.split_first().context("no program")?;
    let mut command = net.command(program);
    command.args(arguments);
    Ok(command)
}

/// Combines the reports of several iperf3 clients into the form of our client's `long`.
fn long_of_iperf(reports: &[String]) -> Result<LongReport> {
    let mut per_flow = Vec::new();
    let mut rate = 0.0;
    for report in reports {
        let report: Value = serde_json::from_str(report).context("reading iperf3's report")?;
        if let Some(error) = report["error"].as_str() {
            bail!("iperf3: {error}");
        }
        // The receiver's sum: what arrived, not what was sent.
        let sum = &report["end"]["sum_received"];
        let number = |name: &str| {
            sum[name]
                .as_f64()
                .with_context(|| format!("iperf3's report has no sum_received.{name}"))
        };
        per_flow.push(number("bytes")? as u64);
        rate += number("bits_per_second")? / 8.0;
    }
    Ok(LongReport {
        flows: per_flow.len(),
        bytes: per_flow.iter().sum(),
        bytes_per_s: rate,
        per_flow_bytes: per_flow,
        fairness: None,
        zerocopy: None,
        source: Some("iperf3".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sums_up_what_iperf3_clients_report() {
        let report = |bytes: u64| {
            json!({"end": {"sum_received": {"bytes": bytes, "bits_per_second": 80.0}}}).to_string()
        };
        let long = long_of_iperf(&[report(10), report(20)]).unwrap();
        assert_eq!((long.bytes, long.bytes_per_s), (30, 20.0));
        assert_eq!(long.per_flow_bytes, [10, 20]);
        let error = long_of_iperf(&[json!({"error": "refused"}).to_string()]).unwrap_err();
        assert_eq!(error.to_string(), "iperf3: refused");
    }
}
