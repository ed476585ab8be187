//! redis as RPC server, driven by redis-benchmark. An instance has one thread, so there is one
//! instance per requested thread. redis-benchmark takes a number of requests, not a duration. The
//! warm-up finds the number that fills the window.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::load::{Said, Start, run, sleep_until};
use super::server::{Calls, Needed, Server};
use steer_ground::text::words;

pub(super) const NEEDED: &[Needed] = &[
    Needed { program: "redis-server", how: "apt install redis-server", in_guest: true },
    Needed { program: "redis-benchmark", how: "apt install redis-tools", in_guest: false },
];
/// Port of the first instance.
pub(super) const PORT: u16 = 6379;
/// Requests per connection in the first run, before the rate is known.
const FIRST: u64 = 10;
/// Shortest run: in a shorter one, connecting would take most of the time.
const SHORTEST: Duration = Duration::from_millis(300);

/// The instances: one per thread, but none without a connection. They save nothing to disk, because
/// saving is not what is measured.
pub(super) fn servers(calls: Calls, address: IpAddr) -> Vec<Server> {
    let server = |(port, _)| {
        let mut argv = words(&format!(
            "redis-server --port {port} --bind {address} --protected-mode no --appendonly no --save"
        ));
        argv.push(String::new());
        Server { name: format!("redis-{port}"), argv, port }
    };
    instances(calls).map(server).collect()
}

/// Port and number of connections of each instance.
pub(super) fn instances(calls: Calls) -> impl Iterator<Item = (u16, u32)> {
    let all = calls.connections.min(calls.threads.into());
    let share = move |index| calls.connections / all + u32::from(index < calls.connections % all);
    (PORT..).zip((0..all).map(share))
}

/// See [`super::RpcTool::drive`].
pub(super) fn drive(
    calls: Calls,
    server: IpAddr,
    start: Start<'_>,
    warm: Instant,
    window: Duration,
) -> Result<(Vec<Said>, Instant)> {
    let instances: Vec<(u16, u32)> = instances(calls).collect();
    let benchmark = |port: u16, rest: String| {
        words(&format!("redis-benchmark -h {server} -p {port} --csv {rest}"))
    };
    // redis-benchmark gets the key that it sets, by default one key for all connections.
    let set =
        |&(port, _): &(u16, u32)| benchmark(port, format!("-t set -n 1 -c 1 -d {}", calls.size));
    run(start, &instances.iter().map(set).collect::<Vec<_>>(), Duration::ZERO)?;
    let ask = |counts: &[u64], length| -> Result<Vec<Said>> {
        let line = |(&(port, connections), count): (&(u16, u32), &u64)| {
            benchmark(port, format!("-t get -n {count} -c {connections}"))
        };
        let lines: Vec<_> = instances.iter().zip(counts).map(line).collect();
        let texts = run(start, &lines, length)?;
        texts.iter().zip(counts).map(|(text, &count)| read(text, count)).collect()
    };
    let mut counts: Vec<u64> =
        instances.iter().map(|&(_, share)| FIRST * u64::from(share)).collect();
    let mut said = ask(&counts, SHORTEST)?;
    loop {
        let left = warm.saturating_duration_since(Instant::now());
        if left < SHORTEST {
            break;
        }
        // Runs become longer, so that the last rate is the rate of a warm server.
        let length = (slowest(&said) * 2).clamp(SHORTEST, left);
        counts = enough(&said, length, &counts);
        said = ask(&counts, length)?;
    }
    sleep_until(warm);
    let begun = Instant::now();
    let mut measured = ask(&enough(&said, window, &counts), window)?;
    // The load continues until the other windows end. The longest run counts.
    let left = (begun + window).saturating_duration_since(Instant::now());
    if left > SHORTEST {
        let further = ask(&enough(&measured, left, &counts), left)?;
        if slowest(&further) > slowest(&measured) {
            measured = further;
        }
    }
    Ok((measured, begun))
}

/// The longest of simultaneous runs.
fn slowest(said: &[Said]) -> Duration {
    said.iter().map(|said| said.length).max().unwrap_or_default()
}

/// The requests that take `length` at the last rates; as many as last time if the rate is unknown.
fn enough(said: &[Said], length: Duration, last: &[u64]) -> Vec<u64> {
    let count = |(said, &last): (&Said, &u64)| match (said.rate() * length.as_secs_f64()) as u64 {
        0 => last,
        count => count,
    };
    said.iter().zip(last).map(count).collect()
}

/// Parses the table that redis-benchmark prints: a line of names, and a line of values in
/// milliseconds.
fn read(text: &str, count: u64) -> Result<Said> {
    let row = |line: &str| -> Vec<String> {
        line.split(',').map(|cell| cell.trim_matches('"').to_owned()).collect()
    };
    let mut rows = text.lines().filter(|line| line.starts_with('"')).map(row);
    let (names, values) = (rows.next().unwrap_or_default(), rows.next().unwrap_or_default());
    let value = |name: &str| -> Result<f64> {
        let cell = names.iter().zip(&values).find(|(other, _)| *other == name);
        let value = cell.and_then(|(_, cell)| cell.parse().ok());
        value.with_context(|| format!("redis-benchmark's report has no {name}: {text:?}"))
    };
    let rate = value("rps")?;
    ensure!(rate.is_finite() && rate > 0.0, "redis-benchmark's report has a rate of {rate}");
    Ok(Said {
        count,
        length: Duration::try_from_secs_f64(count as f64 / rate)?,
        p50_us: value("p50_latency_ms")? * 1e3,
        p99_us: value("p99_latency_ms")? * 1e3,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As redis-benchmark 7.0.15 printed it.
    const TABLE: &str = r#""test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms","p99_latency_ms","max_latency_ms"
"GET","10570.83","1.427","0.056","0.575","2.495","16.719","151.807"
"#;

    #[test]
    fn the_table_is_read() {
        let said = read(TABLE, 20_000).unwrap();
        assert_eq!((said.count, said.p50_us, said.p99_us), (20_000, 575.0, 16_719.0));
        assert!((said.rate() - 10_570.83).abs() < 0.01, "{said:?}");
        for bad in
            ["", "\"test\",\"rps\"\n\"GET\",\"inf\"\n", "\"test\",\"rps\"\n\"GET\",\"fast\"\n"]
        {
            assert!(read(bad, 1).unwrap_err().to_string().contains("redis-benchmark"), "{bad}");
        }
        let cut = TABLE.replace("p99", "p98");
        assert!(read(&cut, 1).unwrap_err().to_string().contains("no p99_latency_ms"));
    }

    #[test]
    fn connections_are_shared_out() {
        let shares = |connections, threads| {
            instances(Calls { connections, size: 1, threads }).collect::<Vec<_>>()
        };
        assert_eq!(shares(5, 2), [(6379, 3), (6380, 2)]);
        assert_eq!(shares(1, 4), [(6379, 1)], "none without a connection");
        assert!(shares(0, 4).is_empty());
    }

    /// The server may be much faster or slower than at first.
    #[test]
    fn the_runs_fill_the_time() {
        let table = TABLE.replace("10570.83", "200");
        let asked = std::cell::RefCell::new(Vec::new());
        let start = |line: &[String]| {
            asked.borrow_mut().push(line.join(" "));
            let mut command = std::process::Command::new("printf");
            command.args(["%s", &table]);
            Ok(command)
        };
        let calls = Calls { connections: 2, size: 10, threads: 1 };
        let soon = Instant::now() + SHORTEST / 2;
        let second = Duration::from_secs(1);
        let (said, begun) = drive(calls, [10, 0, 0, 1].into(), &start, soon, second).unwrap();
        assert!(begun >= soon && said.len() == 1);
        let asked = asked.into_inner();
        let begins = "redis-benchmark -h 10.0.0.1 -p 6379 --csv";
        assert_eq!(asked[0], format!("{begins} -t set -n 1 -c 1 -d 10"));
        assert_eq!(asked[1], format!("{begins} -t get -n 20 -c 2"));
        assert!(asked.contains(&format!("{begins} -t get -n 200 -c 2")), "{asked:?}");
    }
}
