//! The messages when traffic cannot be served, or flags make no sense.
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod running;
mod serving;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use assert_cmd::cargo::cargo_bin;

use serving::{Ports, client, json, server, stderr};

#[test]
fn an_unreachable_server_is_one_clear_error() {
    let output = client(&Ports::free(), &[]).output().unwrap();
    assert!(!output.status.success());
    assert!(output.stdout.is_empty());
    let stderr = stderr(&output);
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(stderr.contains("cannot connect long flow 0 to 127.0.0.1"), "{stderr}");
    assert!(stderr.contains("is the server running there?"), "{stderr}");
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
    // The kernel's backlog completes connections; nobody accepts or replies.
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
        ("client --server x --long-rate 1kbit", "at most 60s are allowed: raise the rate"),
        ("client --server x --long-direction up", "[possible values: in, out]"),
        (
            "client --server x --long-direction out --long-zerocopy",
            "with --long-direction out, give it to the server",
        ),
        ("client --server x --stage hogs=1 --stage hogs=2", "hogs run on the measured machine"),
        ("client --server x --stage long-flows=1", "give at least two"),
        (
            "client --server x --stage long-flows=1 --stage long-flows=1001",
            "at most 1000 long flows",
        ),
        ("client --server x --stage rpc=1", "\"rpc\" cannot be set in a stage"),
        (
            "client --server x --long-zerocopy --stage long-flows=1 --stage long-flows=0",
            "without --long-zerocopy",
        ),
        ("client --server x --source-port 0", "0 is not in 1..=65535"),
        ("client --server x --long-flows 0 --rpc-connections 0", "nothing to do"),
        ("client --server 127.0.0.1 --source-port 65535 --long-flows 2", "leaves no room"),
        ("client --server no.such.host.invalid", "--server no.such.host.invalid"),
        ("server --pin-long 2-1", "\"2-1\" is not a CPU or a range"),
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
