//! The traffic end to end: server, client and hogs as processes on the loopback device.
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use assert_cmd::cargo::cargo_bin;
use serde_json::Value;

/// A process that said `ready`; killed when dropped.
struct Running(Child);

impl Running {
    fn start(args: &[&str]) -> Self {
        let mut command = Command::new(cargo_bin!("steer-bench"));
        let mut child = command.args(args).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Self(child)
    }

    fn thread_names(&self) -> Vec<String> {
        let tasks = format!("/proc/{}/task", self.0.id());
        let name = |task: std::fs::DirEntry| {
            std::fs::read_to_string(task.path().join("comm")).map(|name| name.trim().to_string())
        };
        let mut names: Vec<_> =
            std::fs::read_dir(tasks).unwrap().filter_map(|task| name(task.unwrap()).ok()).collect();
        names.sort();
        names
    }

    fn stop(mut self, signal: &str) -> Option<i32> {
        self.signal(signal);
        self.0.wait().unwrap().code()
    }

    /// Ends it; gives what it said after `ready`.
    fn last_words(mut self) -> String {
        self.signal("-TERM");
        let mut words = String::new();
        self.0.stdout.as_mut().unwrap().read_to_string(&mut words).unwrap();
        words
    }

    fn signal(&self, signal: &str) {
        let id = self.0.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Where a server listens.
struct Ports {
    long: String,
    long_out: String,
    rpc: String,
}

impl Ports {
    /// Ports nobody uses right now.
    fn free() -> Self {
        let listeners = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let [long, long_out, rpc] =
            listeners.map(|listener| listener.local_addr().unwrap().port().to_string());
        Self { long, long_out, rpc }
    }

    fn flags(&self) -> [&str; 6] {
        let Self { long, long_out, rpc } = self;
        ["--long-port", long, "--long-out-port", long_out, "--rpc-port", rpc]
    }
}

fn server(ports: &Ports, more: &[&str]) -> Running {
    Running::start(&[&["server", "--bind", "127.0.0.1"][..], &ports.flags(), more].concat())
}

fn client(ports: &Ports, more: &[&str]) -> Command {
    let mut command = Command::new(cargo_bin!("steer-bench"));
    command.args(["client", "--server", "127.0.0.1", "--json"]).args(ports.flags()).args(more);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn json(output: &Output) -> Value {
    let stdout = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Flags for two flows of 8 Mbit/s in chunks of 64 KiB, measured for a second, and more.
fn paced(more: &'static str) -> Vec<&'static str> {
    const FLAGS: &str =
        "--long-flows 2 --long-rate 8Mbit --long-chunk 64KiB --warmup 0.3 --duration 1";
    FLAGS.split(' ').chain(more.split(' ')).collect()
}

/// That flows as [`paced`] asks for them moved what they should have, whichever way.
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
        // A flow makes up for nothing that it left out while it was silent.
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

/// A crowd, most of it idle: more than one port of the server holds, and than the client may have open
/// in one table of files, where it cannot raise the limit.
#[test]
fn a_crowd_asks_in_turns() {
    // Not of the kernel's own choice, as the second RPC port follows from the first.
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
    // What was due in the window, and what a thread that was held up at its begin made up for.
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
fn the_server_sends_long_flows_to_who_asks() {
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

#[test]
fn an_unreachable_server_is_one_clear_error() {
    let output = client(&Ports::free(), &[]).output().unwrap();
    assert!(!output.status.success());
    assert!(output.stdout.is_empty());
    let stderr = stderr(&output);
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(stderr.contains("cannot connect long flow 0 to 127.0.0.1"), "{stderr}");
    assert!(stderr.contains("is `steer-bench server` running there?"), "{stderr}");
}

#[test]
fn a_server_killed_mid_run_leaves_a_partial_result() {
    let ports = Ports::free();
    let server = server(&ports, &[]);
    let mut child = client(&ports, &["--warmup", "0.2", "--duration", "60"]).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let killed = Instant::now();
    server.stop("-KILL");
    let output = child.wait_with_output().unwrap();
    assert!(killed.elapsed() < Duration::from_secs(30), "the client did not notice");
    assert_eq!(output.status.code(), Some(1));
    let report = json(&output);
    assert!(!report["errors"].as_array().unwrap().is_empty());
    assert!(report["duration_s"].as_f64().unwrap() < 60.0);
    assert!(report["rpc"]["count"].as_u64().unwrap() > 0, "what was measured is kept: {report}");
    assert!(stderr(&output).contains("the run is incomplete"), "{output:?}");
}

#[test]
fn a_server_that_never_answers_does_not_hang_the_client() {
    // Connections are completed by the kernel's backlog; nobody ever accepts or replies.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port().to_string();
    let flags = ["--rpc-connections", "2", "--warmup", "0", "--duration", "0.3"];
    let ports = Ports { long: port.clone(), long_out: port.clone(), rpc: port };
    let output = client(&ports, &flags).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let errors = json(&output)["errors"].to_string();
    assert!(errors.contains("had no reply"), "{errors}");
}

#[test]
fn strangers_do_not_disturb_the_service() {
    let ports = Ports::free();
    let _server = server(&ports, &["--rpc-threads", "1"]);
    let mut stranger = TcpStream::connect(format!("127.0.0.1:{}", ports.rpc)).unwrap();
    stranger.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    // The server hangs up; reset or end of stream depends on what it had read.
    let _ = stranger.read(&mut [0; 64]);
    let flags = ["--long-flows", "0", "--warmup", "0", "--duration", "0.3"];
    assert!(client(&ports, &flags).status().unwrap().success());
}

#[test]
fn demands_that_make_no_sense_are_refused() {
    const UNLIMITED: u64 = 0;
    let demand = |magic: &[u8; 8], bits: u64, chunk: u64, first_us: u64| {
        let numbers = [bits, chunk, first_us].map(u64::to_le_bytes).concat();
        [&magic[..], &numbers].concat()
    };
    let ports = Ports::free();
    let _server = server(&ports, &[]);
    let ask = |bytes: &[u8]| {
        let mut stream = TcpStream::connect(format!("127.0.0.1:{}", ports.long_out)).unwrap();
        stream.write_all(bytes).unwrap();
        let mut answer = [0; 64];
        // The server hangs up; reset or end of stream depends on what it had read.
        stream.read(&mut answer).unwrap_or_default()
    };
    for (what, bytes) in [
        ("a stranger", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec()),
        ("another version", demand(b"steerlg0", UNLIMITED, 4096, 0)),
        ("no chunk", demand(b"steerlg1", UNLIMITED, 0, 0)),
        ("an endless chunk", demand(b"steerlg1", UNLIMITED, u64::MAX, 0)),
        ("an endless pause", demand(b"steerlg1", 1, 65_536, 0)),
        ("an endless delay", demand(b"steerlg1", UNLIMITED, 4096, u64::MAX)),
    ] {
        assert_eq!(ask(&bytes), 0, "{what}");
    }
    assert!(ask(&demand(b"steerlg1", UNLIMITED, 4096, 0)) > 0, "the others are served on");
}

#[test]
fn bad_flags_say_what_is_wrong() {
    for (args, message) in [
        ("client", "--server <ADDR>"),
        ("client --server x --long-rate 40M", "no unit; write a rate in bits per second"),
        ("client --server x --long-chunk 1GiB", "at most 67108864 bytes"),
        ("client --server x --rpc-size 0", "at least 1 byte"),
        ("client --server x --rpc-size 17MiB", "at most 16777216 bytes"),
        ("client --server x --duration 0", "must be longer than 0"),
        ("client --server x --warmup=-1", "between 0 and 86400"),
        ("client --server x --long-rate 1kbit", "is the most: raise the rate"),
        ("client --server x --long-direction up", "[possible values: in, out]"),
        (
            "client --server x --long-direction out --long-zerocopy",
            "with --long-direction out give it to the server",
        ),
        ("client --server x --stage hogs=1 --stage hogs=2", "hogs are the measured machine's"),
        ("client --server x --stage long-flows=1", "name two at least"),
        (
            "client --server x --stage long-flows=1 --stage long-flows=1001",
            "at most 1000 long flows",
        ),
        ("client --server x --stage rpc=1", "\"rpc\" is nothing that shifts"),
        (
            "client --server x --long-zerocopy --stage long-flows=1 --stage long-flows=0",
            "without --long-zerocopy",
        ),
        ("client --server x --source-port 0", "0 is not in 1..=65535"),
        ("client --server x --long-flows 0 --rpc-connections 0", "nothing to do"),
        ("client --server 127.0.0.1 --source-port 65535 --long-flows 2", "leaves no room"),
        ("client --server no.such.host.invalid", "--server no.such.host.invalid"),
        ("server --pin-long 2-1", "\"2-1\" is no CPU or range"),
        ("server --pin-rpc 1000", "--pin-rpc: cannot run on CPUs 1000"),
        ("server --rpc-threads 0", "0 is not in 1..=1024"),
        ("server --long-reads twice", "[possible values: copy, touch, discard]"),
        ("server --bind nowhere", "--bind"),
        ("hog", "--cpus <LIST>"),
        ("hog --cpus 1000", "--cpus: cannot run on CPUs 1000"),
        ("hog --cpus 0 --stages 1,2", "--stages needs --duration"),
        ("dance", "unrecognized subcommand"),
    ] {
        let output =
            Command::new(cargo_bin!("steer-bench")).args(args.split(' ')).output().unwrap();
        assert!(!output.status.success(), "{args}");
        assert!(stderr(&output).contains(message), "{args}: {}", stderr(&output));
    }
}

#[test]
fn a_taken_port_names_its_flag() {
    let ports = Ports::free();
    let _taken = TcpListener::bind(format!("127.0.0.1:{}", ports.rpc)).unwrap();
    let args = ["server", "--bind", "127.0.0.1"];
    let mut command = Command::new(cargo_bin!("steer-bench"));
    let output = command.args(args).args(ports.flags()).output().unwrap();
    assert!(!output.status.success());
    assert!(stderr(&output).contains("--rpc-port changes it"), "{output:?}");
}
