//! The load generators on the host: our client, and iperf3 beside it if that sends the long flows.

use std::io::{BufRead, BufReader, Read};
use std::process::Command;
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::workload::WorkloadArgs;
use crate::lab::net::Net;
use crate::lab::tool::Running;

/// Time beyond warm-up and sample for connecting, draining and the exchange of results.
const GRACE: Duration = Duration::from_secs(40);

/// The generators of one sample.
pub(super) struct Generators {
    client: Generator,
    iperf: Vec<Generator>,
    /// When the client's window began.
    warm: Receiver<Instant>,
    deadline: Instant,
}

impl Generators {
    /// Starts them in the lab's network.
    pub(super) fn start(
        net: &Net,
        workload: &WorkloadArgs,
        warmup: Duration,
        source_port: u16,
    ) -> Result<Self> {
        let deadline = Instant::now() + warmup + workload.duration() + GRACE;
        let start = |argv: &[String]| {
            let (program, arguments) = argv.split_first().context("no program")?;
            let mut command = net.command(program);
            command.args(arguments);
            Generator::start(command)
        };
        let iperf = workload.iperf_clients(warmup, source_port);
        let iperf = iperf.iter().map(|argv| start(argv)).collect::<Result<Vec<_>>>()?;
        let mut command = net.command(std::env::current_exe()?);
        command.args(workload.client(warmup, source_port));
        let mut client = Generator::start(command)?;
        let (sender, warm) = mpsc::channel();
        let stderr = client.child.stderr.take().context("the client has no standard error")?;
        client.errors = Some(thread::spawn(move || {
            let mut said = String::new();
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                if line == "warm" {
                    // Nobody may be listening any more; the line is not an error either way.
                    let _ = sender.send(Instant::now());
                } else {
                    said.extend([&line, "\n"]);
                }
            }
            said
        }));
        Ok(Self { client, iperf, warm, deadline })
    }

    /// Waits for the end of the traffic; gives the client's report and when its window began.
    pub(super) fn finish(self) -> Result<(Value, Instant)> {
        let text = self.client.finish(self.deadline).context("the client failed")?;
        let mut report: Value =
            serde_json::from_str(&text).context("reading the client's report")?;
        let warm = self.warm.try_recv().context("the client never said that it is warm")?;
        if !self.iperf.is_empty() {
            let reports = self
                .iperf
                .into_iter()
                .map(|generator| generator.finish(self.deadline).context("iperf3 failed"))
                .collect::<Result<Vec<_>>>()?;
            report["long"] = long_of_iperf(&reports)?;
        }
        Ok((report, warm))
    }
}

/// What several iperf3 clients report, in the form of our client's `long`.
fn long_of_iperf(reports: &[String]) -> Result<Value> {
    let mut per_flow = Vec::new();
    let mut rate = 0.0;
    for report in reports {
        let report: Value = serde_json::from_str(report).context("reading iperf3's report")?;
        if let Some(error) = report["error"].as_str() {
            bail!("iperf3: {error}");
        }
        // What arrived, not what was sent: the receiver's sum.
        let sum = &report["end"]["sum_received"];
        let number = |name: &str| {
            sum[name]
                .as_f64()
                .with_context(|| format!("iperf3's report has no sum_received.{name}"))
        };
        per_flow.push(number("bytes")? as u64);
        rate += number("bits_per_second")? / 8.0;
    }
    let bytes: u64 = per_flow.iter().sum();
    Ok(json!({
        "flows": per_flow.len(), "bytes": bytes, "bytes_per_s": rate, "per_flow_bytes": per_flow
    }))
}

/// One generator; killed when dropped.
pub(super) struct Generator {
    child: Running,
    output: Option<JoinHandle<String>>,
    errors: Option<JoinHandle<String>>,
}

impl Generator {
    pub(super) fn start(mut command: Command) -> Result<Self> {
        let mut child = Running::start(&mut command)?;
        let output = child.stdout.take().map(|mut stream| {
            thread::spawn(move || {
                let mut text = String::new();
                // An unreadable report shows when it is parsed.
                let _ = stream.read_to_string(&mut text);
                text
            })
        });
        Ok(Self { child, output, errors: None })
    }

    /// Its standard output, once it has ended well.
    pub(super) fn finish(mut self, deadline: Instant) -> Result<String> {
        let status = loop {
            if let Some(status) = self.child.try_wait()? {
                break status;
            }
            ensure!(Instant::now() < deadline, "it did not end in time");
            thread::sleep(Duration::from_millis(50));
        };
        let text = |stream: Option<JoinHandle<String>>| {
            stream.and_then(|stream| stream.join().ok()).unwrap_or_default()
        };
        let output = text(self.output.take());
        ensure!(status.success(), "{status}: {} {output}", text(self.errors.take()).trim());
        Ok(output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_up_what_iperf3_clients_report() {
        let report = |bytes: u64| {
            json!({"end": {"sum_received": {"bytes": bytes, "bits_per_second": 80.0}}}).to_string()
        };
        let long = long_of_iperf(&[report(10), report(20)]).unwrap();
        assert_eq!(long["bytes"], 30);
        assert_eq!(long["bytes_per_s"], 20.0);
        assert_eq!(long["per_flow_bytes"], json!([10, 20]));
        let error = long_of_iperf(&[json!({"error": "refused"}).to_string()]).unwrap_err();
        assert_eq!(error.to_string(), "iperf3: refused");
    }
}
