//! The traffic end to end: server, client and hogs as processes on the loopback device.
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod running;
mod serving;

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use assert_cmd::cargo::cargo_bin;
use serde_json::Value;

use running::Running;
use serving::{Ports, client, json, server, stderr};

/// Flags for two flows of 8 Mbit/s in chunks of 64 KiB, measured for a second, and more.
fn paced(more: &'static str) -> Vec<&'static str> {
    const FLAGS: &str =
        "--long-flows 2 --long-rate 8Mbit --long-chunk 64KiB --warmup 0.3 --duration 1";
    FLAGS.split(' ').chain(more.split(' ')).collect()
}

/// Checks that flows with the flags of [`paced`] moved what they should, in either direction.
fn assert_long_flows_kept_their_rate(report: &Value) {
    assert_eq!(report["errors"], serde_json::json!([]));
    let seconds = report["duration_s"].as_f64().unwrap();
    assert!(seconds >= 1.0);
    let flows = report["long"]["per_flow_bytes"].as_array().unwrap();
    assert_eq!(flows.len(), 2);
    for bytes in flows {
        let due = 1e6 * seconds;
        // One chunk may be under way at each end of the measured time; a busy machine may be late.
        let expected = due / 2.0..=due + 2.0 * 65_536.0;
        let bytes = bytes.as_f64().unwrap();
        assert!(expected.contains(&bytes), "{bytes}, expected {expected:?}");
    }
}

#[test]
fn traffic_flows_and_is_counted() {
    let ports = Ports::free();
    let server = server(&ports, &["--rpc-threads", "2", "--pin-long", "0", "--pin-rpc", "0"]);
    let hog = Running::start(&["hog", "--cpus", "0"]);
    let output = client(&ports, &paced("--rpc-connections 3")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(stderr(&output).lines().any(|line| line == "warm"), "{output:?}");

    let report = json(&output);
    assert_eq!(report["version"], 1);
    assert!(report["long"]["zerocopy"].is_null(), "{report}");
    assert_long_flows_kept_their_rate(&report);
    assert_eq!(report["rpc"]["connections"], 3);
    assert_eq!(report["rpc"]["size"], 4096);
    assert!(report["rpc"]["count"].as_u64().unwrap() > 0);
    let [p50, p99] = ["p50_us", "p99_us"].map(|name| report["rpc"][name].as_f64().unwrap());
    assert!(0.0 < p50 && p50 <= p99);
    assert!(report["rpc"]["rtt_us"].as_f64() > Some(0.0));
    assert!(report["long"]["fairness"].as_f64() > Some(0.5));

    assert!(server.thread_names().contains(&"rpc-1".into()));
    assert!(hog.thread_names().contains(&"hog-0".into()));
    assert_eq!(hog.stop("-TERM"), Some(0));
    assert_eq!(server.stop("-INT"), Some(0));
}

#[test]
fn threads_share_the_long_flows() {
    let ports = Ports::free();
    let server = server(&ports, &["--long-threads", "3", "--rpc-threads", "1"]);
    let output = client(&ports, &paced("--rpc-connections 0")).output().unwrap();
    assert_long_flows_kept_their_rate(&json(&output));
    let names = server.thread_names();
    let long = names.iter().filter(|name| name.starts_with("long-")).count();
    assert_eq!(long, 3, "not a thread for each flow: {names:?}");
}

#[test]
fn a_load_that_shifts_is_counted_stage_by_stage() {
    let ports = Ports::free();
    let _server = server(&ports, &["--rpc-threads", "1"]);
    let flags = "--long-flows 2 --long-rate 8Mbit --long-chunk 64KiB --rpc-connections 2 --warmup 0.3 \
                 --duration 3 --stage long-flows=0 --stage rpc-connections=0 --stage";
    let flags: Vec<&str> =
        flags.split_whitespace().chain(["long-flows=3 rpc-connections=4"]).collect();
    let report = json(&client(&ports, &flags).output().unwrap());
    assert_eq!(report["errors"], serde_json::json!([]));
    let stages = report["stages"].as_array().unwrap();
    let number = |stage: usize, name: &str| stages[stage][name].as_f64().unwrap();
    let loads = [(0.0, 2.0), (2.0, 0.0), (3.0, 4.0)];
    for (stage, load) in loads.into_iter().enumerate() {
        assert_eq!((number(stage, "long_flows"), number(stage, "rpc_connections")), load);
        assert!((0.9..2.0).contains(&number(stage, "duration_s")), "{report}");
    }
    // What was under way as a stage ended arrives in the next one.
    assert!(number(0, "long_bytes") == 0.0, "{report}");
    for (stage, flows) in [(1, 2.0), (2, 3.0)] {
        // A flow does not make up for the time in which it was silent.
        let most = flows * (1e6 * number(stage, "duration_s") + 2.0 * 65_536.0);
        let bytes = number(stage, "long_bytes");
        assert!(0.0 < bytes && bytes <= most, "{bytes} of {most}: {report}");
    }
    assert!(number(0, "rpc_count") > 0.0 && number(2, "rpc_count") > 0.0, "{report}");
    assert!(number(1, "rpc_count") <= 2.0, "{report}");
    assert!(stages[0]["rpc_p99_us"].as_f64() > Some(0.0));
    let sum: u64 = stages.iter().map(|stage| stage["long_bytes"].as_u64().unwrap()).sum();
    assert_eq!(report["long"]["bytes"].as_u64(), Some(sum));
    let sum: u64 = stages.iter().map(|stage| stage["rpc_count"].as_u64().unwrap()).sum();
    assert_eq!(report["rpc"]["count"].as_u64(), Some(sum));
}

/// Many connections, most of them idle: too many for one port of the server, and too many for one
/// table of open files if the client cannot raise the limit.
#[test]
fn a_crowd_asks_in_turns() {
    // The kernel must not choose this port: the second RPC port follows from it.
    let rpc = "14202".to_owned();
    let ports = Ports { rpc, ..Ports::free() };
    let _server = server(&ports, &["--rpc-threads", "2", "--rpc-connections", "5000"]);
    let flags = "--long-flows 0 --rpc-connections 5000 --rpc-rate 1000 --rpc-size 64 --rpc-threads 3 \
                 --source-port 24000 --connect-within 4 --warmup 1 --duration 2";
    let begun = Instant::now();
    let client = client(&ports, &flags.split_whitespace().collect::<Vec<_>>());
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -n 3000; exec \"$0\" \"$@\""]);
    let output = limited.arg(client.get_program()).args(client.get_args()).output().unwrap();
    assert!(begun.elapsed() >= Duration::from_secs(7), "what connecting leaves is warm-up");
    let report = json(&output);
    assert_eq!(report["errors"], serde_json::json!([]));
    let rpc = &report["rpc"];
    assert_eq!(rpc["connections"], 5000);
    // Requests that were due in the window, and late ones of a thread that was delayed at its
    // start.
    let (count, seconds) = (rpc["count"].as_f64().unwrap(), report["duration_s"].as_f64().unwrap());
    assert!(count > 0.0 && count <= 1000.0 * seconds + 5000.0, "{count} in {seconds} s");
    assert!(rpc["rtt_us"].is_null(), "none has asked often enough to know it: {rpc}");
}

#[test]
fn hogs_come_and_go_and_say_what_they_did() {
    let mut hog = Command::new(cargo_bin!("steer-bench"));
    let flags = ["hog", "--cpus", "0", "--stages", "0,1,0", "--lead", "0.2", "--duration", "1.5"];
    let mut child = hog.args(flags).stdout(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(2500));
    let kill = Command::new("kill").arg(child.id().to_string()).status().unwrap();
    assert!(kill.success());
    let mut said = String::new();
    child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(child.wait().unwrap().success());
    let spins = said.lines().find_map(|line| line.strip_prefix("spins: ")).unwrap();
    assert!(spins.parse::<u64>().unwrap() > 0, "{said}");
}

#[test]
fn the_server_sends_long_flows_to_clients_that_ask() {
    let ports = Ports::free();
    let server = server(&ports, &["--pin-long", "0"]);
    let flags = paced("--long-direction out --rpc-connections 1");
    let mut running = client(&ports, &flags).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(running.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "warm\n");
    assert!(server.thread_names().contains(&"long-out-1".into()), "{:?}", server.thread_names());
    let report = json(&running.wait_with_output().unwrap());
    assert_long_flows_kept_their_rate(&report);
    assert!(report["rpc"]["count"].as_u64().unwrap() > 0);
    // Its threads see that the client has left, at the next chunk.
    let deadline = Instant::now() + Duration::from_secs(10);
    while server.thread_names().iter().any(|name| name.starts_with("long-out")) {
        assert!(Instant::now() < deadline, "{:?}", server.thread_names());
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn unlimited_flows_move_bytes_both_ways() {
    let ports = Ports::free();
    let _server = server(&ports, &[]);
    for direction in ["in", "out"] {
        let flags = ["--long-direction", direction, "--rpc-connections", "0"];
        let more = ["--warmup", "0.1", "--duration", "0.3"];
        let report = json(&client(&ports, &[flags, more].concat()).output().unwrap());
        assert_eq!(report["errors"], serde_json::json!([]), "{direction}");
        let flows = report["long"]["per_flow_bytes"].as_array().unwrap();
        assert!(flows.iter().all(|bytes| bytes.as_u64().unwrap() > 0), "{direction}: {flows:?}");
    }
}

#[test]
fn however_the_sink_reads_the_same_bytes_arrive() {
    for reads in ["copy", "touch", "discard"] {
        let ports = Ports::free();
        let _server = server(&ports, &["--long-reads", reads]);
        let output = client(&ports, &paced("--rpc-connections 0")).output().unwrap();
        assert_long_flows_kept_their_rate(&json(&output));
    }
}

#[test]
fn zero_copy_moves_the_same_bytes_and_says_what_was_copied() {
    let ports = Ports::free();
    let receiver = server(&ports, &[]);
    let flags = paced("--rpc-connections 0 --long-zerocopy");
    let report = json(&client(&ports, &flags).output().unwrap());
    assert_long_flows_kept_their_rate(&report);
    let zerocopy = &report["long"]["zerocopy"];
    assert!(zerocopy["sends"].as_u64().unwrap() > 10, "{zerocopy}");
    assert_eq!(zerocopy["sends"], zerocopy["copied"], "loopback copies");
    assert_eq!(receiver.last_words(), "", "it sends nothing");

    let sender = server(&ports, &["--long-zerocopy"]);
    let flags = paced("--rpc-connections 0 --long-direction out");
    let report = json(&client(&ports, &flags).output().unwrap());
    assert_long_flows_kept_their_rate(&report);
    assert!(report["long"]["zerocopy"].is_null(), "the client sends nothing");
    // Its threads count the last sends once they have seen that the client has left.
    std::thread::sleep(Duration::from_secs(1));
    let words = sender.last_words();
    let counts: Vec<u64> = words.split(' ').filter_map(|word| word.trim().parse().ok()).collect();
    assert!(matches!(counts[..], [sends, copied] if sends > 10 && copied == sends), "{words}");
}

#[test]
fn messages_larger_than_any_buffer_arrive() {
    let ports = Ports::free();
    let _server = server(&ports, &[]);
    let flags = ["--long-flows", "0", "--rpc-connections", "2", "--rpc-size", "3MiB"];
    let output = client(&ports, &[&flags[..], &["--warmup", "0", "--duration", "0.5"]].concat());
    let report = json(&{ output }.output().unwrap());
    assert!(report["long"].is_null());
    assert!(report["rpc"]["count"].as_u64().unwrap() > 0, "{report}");
    assert_eq!(report["errors"], serde_json::json!([]));
}

/// No core does the multiplications of this work in less than a millisecond.
#[test]
fn a_reply_can_take_work() {
    let ports = Ports::free();
    let _server = server(&ports, &["--rpc-work", "64MiB"]);
    let flags =
        ["--long-flows", "0", "--rpc-connections", "1", "--warmup", "0", "--duration", "0.5"];
    let report = json(&client(&ports, &flags).output().unwrap());
    assert!(report["rpc"]["p50_us"].as_f64() >= Some(1000.0), "{report}");
}

#[test]
fn source_ports_are_fixed_and_free_again_at_once() {
    let ports = Ports::free();
    let server = server(&ports, &[]);
    // Below the range the kernel hands out, so that no other connection has them.
    let flags = ["--source-port", "20000", "--long-rate", "1Mbit", "--rpc-connections", "2"];
    let more = ["--warmup", "0", "--duration", "0.4"];
    for _ in 0..3 {
        let mut child = client(&ports, &[&flags[..], &more].concat()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "warm\n");
        let connections = std::fs::read_to_string("/proc/net/tcp").unwrap();
        for port in [20_000, 20_001, 21_000, 21_001] {
            assert!(connections.contains(&format!("0100007F:{port:04X} ")), "{port}");
        }
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    drop(server);
}

#[test]
fn connections_go_to_several_addresses_in_turns() {
    let ports = Ports::free();
    let _server = Running::start(&[&["server"][..], &ports.flags()].concat());
    let flags = "--server 127.0.0.2 --source-port 20100 --long-flows 3 --long-rate 1Mbit \
                 --rpc-connections 2 --warmup 0 --duration 0.4";
    let flags: Vec<&str> = flags.split_whitespace().collect();
    let mut child = client(&ports, &flags).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "warm\n");
    let connections = std::fs::read_to_string("/proc/net/tcp").unwrap();
    for (from, to) in [(20_100, 1), (20_100, 2), (20_101, 1), (21_100, 1), (21_100, 2)] {
        let connection = format!("0100007F:{from:04X} 0{to}00007F:");
        assert!(connections.contains(&connection), "{connection} in {connections}");
    }
    assert!(child.wait_with_output().unwrap().status.success());
}
