//! nginx as RPC server, driven by wrk. Connections stay open, and all requests get one file of a
//! file system in memory.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::load::{Said, Start, run, sleep_until};
use super::server::{Calls, Needed, Server};
use steer_ground::text::words;

pub(super) const NEEDED: &[Needed] = &[
    Needed { program: "nginx", how: "apt install nginx", in_guest: true },
    Needed { program: "wrk", how: "apt install wrk", in_guest: false },
];
pub(super) const PORT: u16 = 8080;
/// Script that writes the configuration and the file, and becomes nginx.
const SCRIPT: &str = include_str!("../../nginx.sh");
/// Threads of wrk. They are few because this machine has other work.
const ASKERS: u16 = 2;
/// Seconds after which wrk counts a late reply as an error. Its default of 2 s is too short for an
/// emulated guest.
const LATE: u16 = 10;

/// The server, with one worker process per thread; empty if there are no connections.
pub(super) fn servers(calls: Calls, address: IpAddr) -> Vec<Server> {
    let arguments = [address.to_string(), PORT.to_string()];
    let numbers = [calls.threads.to_string(), calls.size.to_string()];
    let mut argv = ["sh", "-ec", SCRIPT, "nginx.sh"].map(str::to_owned).to_vec();
    argv.extend(arguments.into_iter().chain(numbers));
    let server = Server { name: "nginx".to_owned(), argv, port: PORT };
    (calls.connections > 0).then_some(server).into_iter().collect()
}

/// See [`super::RpcTool::drive`].
pub(super) fn drive(
    calls: Calls,
    server: IpAddr,
    start: Start<'_>,
    warm: Instant,
    window: Duration,
) -> Result<(Vec<Said>, Instant)> {
    let ask = |seconds: u64| -> Result<Said> {
        let line = words(&format!(
            "wrk --threads {} --connections {} --duration {seconds}s --timeout {LATE}s \
             --latency http://{server}:{PORT}/rpc",
            calls.connections.min(ASKERS.into()),
            calls.connections
        ));
        let said = run(start, &[line], Duration::from_secs(seconds))?;
        read(&said[0])
    };
    // wrk takes whole seconds, so wait for the fraction before starting it.
    let whole = warm.saturating_duration_since(Instant::now()).as_secs();
    if whole > 0 {
        sleep_until(warm - Duration::from_secs(whole));
        ask(whole)?;
    }
    sleep_until(warm);
    let begun = Instant::now();
    Ok((vec![ask(window.as_secs())?], begun))
}

/// Parses what wrk prints.
fn read(text: &str) -> Result<Said> {
    let missing = |what: &str| format!("wrk's report has no {what}: {text:?}");
    let failed = text.lines().map(str::trim).find(|line| {
        line.starts_with("Socket errors:") || line.starts_with("Non-2xx or 3xx responses:")
    });
    ensure!(failed.is_none(), "wrk: {}", failed.unwrap_or_default());
    let quantile = |name: &str| {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(name));
        line.and_then(|rest| span(rest.trim())).with_context(|| missing(name))
    };
    let sum = text.lines().find_map(|line| line.trim().split_once(" requests in "));
    let (count, rest) = sum.with_context(|| missing("sum"))?;
    let length = rest.split_once(',').and_then(|(length, _)| span(length));
    let length = length.filter(|length| !length.is_zero()).with_context(|| missing("length"))?;
    Ok(Said {
        count: count.parse().with_context(|| missing("count"))?,
        length,
        p50_us: quantile("50%")?.as_secs_f64() * 1e6,
        p99_us: quantile("99%")?.as_secs_f64() * 1e6,
    })
}

/// Parses a time as wrk writes it: 635.91us, 1.04ms, 2.01s, 1.50m.
fn span(text: &str) -> Option<Duration> {
    const UNITS: [(&str, f64); 5] =
        [("us", 1e-6), ("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
    let (number, unit) = UNITS
        .iter()
        .find_map(|(name, unit)| Some((text.strip_suffix(name)?.parse::<f64>().ok()?, unit)))?;
    Duration::try_from_secs_f64(number * unit).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As wrk 4.1.0 printed it.
    const REPORT: &str = "\
Running 2s test @ http://127.0.0.1:17480/rpc
  2 threads and 16 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency    91.60ms   77.22ms 387.88ms   61.95%
    Req/Sec   103.74    145.29   800.00     94.29%
  Latency Distribution
     50%  635.91us
     75%  123.92ms
     90%  172.21ms
     99%    1.04s
  373 requests in 2.01s, 460.42KB read
Requests/sec:    185.11
Transfer/sec:    228.50KB
";

    #[test]
    fn the_report_is_read() {
        let said = read(REPORT).unwrap();
        assert_eq!((said.count, said.length), (373, Duration::from_millis(2010)));
        assert!(
            (said.p50_us - 635.91).abs() < 0.01 && (said.p99_us - 1.04e6).abs() < 1.0,
            "{said:?}"
        );
        for (change, to, message) in [
            ("  373", "  Non-2xx or 3xx responses: 301\n  373", "Non-2xx or 3xx responses: 301"),
            (
                "  373",
                "  Socket errors: connect 0, read 3\n  373",
                "Socket errors: connect 0, read 3",
            ),
            ("99%", "98%", "no 99%"),
            ("373 requests", "373 answers", "no sum"),
            ("2.01s", "0us", "no length"),
            ("373 ", "-1 ", "no count"),
        ] {
            let error = format!("{:#}", read(&REPORT.replace(change, to)).unwrap_err());
            assert!(error.contains(message), "{message}: {error}");
        }
    }

    #[test]
    fn times_have_units() {
        assert_eq!(span("1.50m"), Some(Duration::from_secs(90)));
        assert_eq!(span("250.00ms"), Some(Duration::from_millis(250)));
        for bad in ["", "ms", "7", "-1s", "infs", "1d"] {
            assert_eq!(span(bad), None, "{bad}");
        }
    }
}
