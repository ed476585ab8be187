//! `steer-bench cpu` as a process: what it refuses, and, with root and performance events, what it
//! sees of real traffic.
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use assert_cmd::cargo::cargo_bin;
use serde_json::Value;

/// A bulk transfer on the loopback device; ends when dropped.
struct Traffic {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Traffic {
    fn start() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut receiver, _) = listener.accept().unwrap();
        let stopped = Arc::clone(&stop);
        let send = thread::spawn(move || {
            let chunk = vec![7; 256 << 10];
            while !stopped.load(Ordering::Relaxed) && sender.write_all(&chunk).is_ok() {}
        });
        let receive = thread::spawn(move || {
            let mut chunk = vec![0; 256 << 10];
            // 0 once the sender hung up.
            while receiver.read(&mut chunk).is_ok_and(|bytes| bytes > 0) {}
        });
        Self { stop, threads: vec![send, receive] }
    }
}

impl Drop for Traffic {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn cpu(flags: &[&str]) -> Command {
    let mut command = Command::new(cargo_bin!("steer-bench"));
    command.arg("cpu").args(flags);
    command
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Whether the test can run here; says so if not.
fn can_measure(test: &str) -> bool {
    let root = rustix::process::geteuid().is_root();
    let events = Path::new("/proc/sys/kernel/perf_event_paranoid").exists();
    if !root || !events {
        eprintln!("SKIPPED {test}: needs root and a kernel with performance events");
    }
    root && events
}

fn share(report: &Value, category: &str) -> f64 {
    report["breakdown"]["kernel"][category]["total"].as_f64().unwrap()
}

#[test]
fn a_bulk_transfer_is_seen_for_what_it_is() {
    if !can_measure("a_bulk_transfer_is_seen_for_what_it_is") {
        return;
    }
    let traffic = Traffic::start();
    let output = cpu(&["--duration", "2", "--json"]).output().unwrap();
    drop(traffic);
    assert!(output.status.success(), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["version"], 1);

    let breakdown = &report["breakdown"];
    assert!(breakdown["samples"].as_u64().unwrap() > 100, "{breakdown}");
    for category in ["data_copy", "tcp_ip"] {
        assert!(share(&report, category) > 0.0, "{category}: {breakdown}");
    }
    let kernel = breakdown["kernel"].as_object().unwrap();
    assert_eq!(kernel.len(), 9, "eight categories, and what none of them has");
    let sum: f64 = kernel.keys().map(|category| share(&report, category)).sum();
    assert!((sum + breakdown["user"].as_f64().unwrap() - 1.0).abs() < 1e-6, "{breakdown}");
    assert!(breakdown["kernel"]["tcp_ip"]["softirq"].as_f64().unwrap() > 0.0, "{breakdown}");
    assert!(breakdown["kernel"]["data_copy"]["process"].as_f64().unwrap() > 0.0, "{breakdown}");

    // The example in the help shows what is printed.
    let help = String::from_utf8(cpu(&["--help"]).output().unwrap().stdout).unwrap();
    let json = String::from_utf8(output.stdout).unwrap();
    let keys =
        help.split('"').zip(help.split('"').skip(1)).filter(|(_, after)| after.starts_with(':'));
    for key in keys.map(|(key, _)| key).filter(|key| !["symbol", "share"].contains(key)) {
        assert!(json.contains(&format!("\"{key}\":")), "{key}: {json}");
    }

    let cpus = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap();
    assert_eq!(report["cpus"], cpus.trim());
    assert!(report["usage"]["cpus_used"].as_f64().unwrap() > 0.1, "{report}");
    let counters = &report["counters"];
    assert!(counters["machine"]["total"]["context_switches"]["value"].as_u64().unwrap() > 0);
    assert!(counters["cgroup"].is_null());
    // Hardware events are measured or have a reason; they are never made up.
    for event in ["cycles", "instructions", "llc_loads", "node_load_misses"] {
        let is_known = !counters["machine"]["total"][event]["value"].is_null();
        assert!(is_known || counters["unavailable"][event].is_string(), "{event}: {counters}");
    }
}

#[test]
fn a_cgroup_is_counted_beside_the_machine_and_text_shows_both() {
    if !can_measure("a_cgroup_is_counted_beside_the_machine_and_text_shows_both") {
        return;
    }
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap();
    if !mounts.contains(" cgroup2 ") {
        eprintln!("SKIPPED a_cgroup_is_counted_beside…: cgroup2 is not mounted");
        return;
    }
    let output = cpu(&["--duration", "0.3", "--cgroup", "/", "--cpus", "0"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    for part in ["on CPUs 0,", "softirq", "data copy", "TCP/IP", "context_switches", "cpu_time_ns"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn what_cannot_be_measured_says_why() {
    if !can_measure("what_cannot_be_measured_says_why") {
        return;
    }
    for (flags, code, message) in [
        (["--cpus", "0,999"], 1, "--cpus: CPU 999 is not online here"),
        (["--cgroup", "no/such.slice"], 1, "--cgroup: there is no cgroup no/such.slice below"),
        (["--cgroup", "../../etc"], 1, "--cgroup: there is no cgroup"),
        (["--duration", "0"], 2, "must be longer than 0"),
        (["--cpus", "2-1"], 2, "is not a CPU or a range"),
    ] {
        let output = cpu(&flags).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        assert!(output.stdout.is_empty(), "{output:?}");
        assert!(stderr(&output).contains(message), "{flags:?}: {}", stderr(&output));
    }
}

#[test]
fn a_user_without_rights_is_told_what_is_missing() {
    const TEST: &str = "a_user_without_rights_is_told_what_is_missing";
    const NOBODY: u32 = 65_534;
    let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
    let Ok(paranoid) = paranoid.unwrap_or_default().trim().parse::<i32>() else {
        eprintln!("SKIPPED {TEST}: this kernel has no performance events");
        return;
    };
    if !rustix::process::geteuid().is_root() || paranoid <= 0 {
        eprintln!("SKIPPED {TEST}: needs root, to become nobody, and perf_event_paranoid above 0");
        return;
    }
    // Run a copy that any user may start, whatever the rights on the build's folder are.
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("steer-bench");
    std::fs::copy(cargo_bin!("steer-bench"), &program).unwrap();
    let rights = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path(), rights).unwrap();
    let mut command = Command::new(program);
    let output =
        command.args(["cpu", "--duration", "0.1"]).uid(NOBODY).gid(NOBODY).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let message = stderr(&output);
    for part in [&format!("kernel.perf_event_paranoid is {paranoid}"), "CAP_PERFMON", "root"] {
        assert!(message.contains(part), "{part}: {message}");
    }
}
