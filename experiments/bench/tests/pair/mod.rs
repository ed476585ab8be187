//! Two hosts for tests: network namespaces, joined by a veth pair. They live as long as the
//! processes that hold them.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{ChildStderr, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use assert_cmd::cargo::cargo_bin;
use serde_json::Value;

use crate::running::Running;

pub(crate) const RUNNER: &str = "10.77.0.1";
pub(crate) const AGENT: &str = "10.77.0.2";
pub(crate) const NIC: &str = "veth0";

/// Whether the test can run here; says so if not.
pub(crate) fn can_measure(test: &str) -> bool {
    let root = rustix::process::geteuid().is_root();
    let observer = cargo_bin!("steer-bench").with_file_name("scx_steer").exists();
    if !root || !observer {
        eprintln!("SKIPPED {test}: needs root, and scx_steer built beside steer-bench");
    }
    root && observer
}

/// A network namespace with a /sys of its own, gone with the process that holds it.
pub(crate) struct Host(Running);

impl Host {
    pub(crate) fn new() -> Self {
        // It ends with its standard input, even if this process is killed.
        // A /run of its own holds its journal of settings.
        let hold = "mount -t sysfs sysfs /sys && mount -t tmpfs run /run && ip link set lo up && \
            echo ready && exec cat";
        let mut command = Command::new("unshare");
        command.args(["--net", "--mount", "sh", "-c", hold]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Self(Running(child))
    }

    pub(crate) fn id(&self) -> String {
        self.0.0.id().to_string()
    }

    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--net", "--mount", "--target", &self.id(), "--"]).arg(program);
        command
    }

    pub(crate) fn ip(&self, arguments: &str) {
        assert!(self.command("ip").args(arguments.split(' ')).status().unwrap().success());
    }

    /// Command lines of the processes on it, except the one that holds the namespace.
    pub(crate) fn processes(&self) -> Vec<String> {
        let net = |id: &str| fs::read_link(format!("/proc/{id}/ns/net")).ok();
        let here = net(&self.id());
        let ids = fs::read_dir("/proc").unwrap().flatten();
        let ids = ids.filter_map(|entry| entry.file_name().into_string().ok());
        let ids = ids.filter(|id| id.parse::<u32>().is_ok() && *id != self.id());
        let line = |id: String| fs::read_to_string(format!("/proc/{id}/cmdline")).ok();
        ids.filter(|id| net(id) == here).filter_map(line).collect()
    }
}

/// Two hosts, a cable and a key.
pub(crate) struct Pair {
    pub(crate) runner: Host,
    pub(crate) agent: Host,
    folder: tempfile::TempDir,
}

impl Pair {
    pub(crate) fn new() -> Self {
        let (runner, agent) = (Host::new(), Host::new());
        let (one, other) = (runner.id(), agent.id());
        let link = format!("link add {NIC} netns {one} type veth peer name {NIC} netns {other}");
        let mut ip = Command::new("ip");
        assert!(ip.args(link.split(' ')).status().unwrap().success());
        for (host, address) in [(&runner, RUNNER), (&agent, AGENT)] {
            host.ip(&format!("address add {address}/30 dev {NIC}"));
            host.ip(&format!("link set {NIC} up"));
        }
        let folder = tempfile::tempdir().unwrap();
        new_key(&folder.path().join("key"));
        Self { runner, agent, folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// An agent that listens, and what it says about its conversations.
    pub(crate) fn agent(&self) -> (Running, BufReader<ChildStderr>) {
        let mut command = self.agent.command(cargo_bin!("steer-bench"));
        command.args(["agent", "--listen", &format!("{AGENT}:5299"), "--max-duration", "60"]);
        command.arg("--key-file").arg(self.path("key"));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, format!("listening on {AGENT}:5299\n"));
        let said = BufReader::new(child.stderr.take().unwrap());
        (Running(child), said)
    }

    /// The run on the other host: two short rounds of two arms.
    pub(crate) fn ab(&self, key: &Path) -> Command {
        self.ab_of(key, "default,pinned")
    }

    pub(crate) fn ab_of(&self, key: &Path, arms: &str) -> Command {
        let mut command = self.runner.command(cargo_bin!("steer-bench"));
        command.args(["ab", "--agent", &format!("{AGENT}:5299"), "--nic", NIC, "--key-file"]);
        command.arg(key).arg("--out").arg(self.path("out"));
        command.args(["--arms", arms, "--pin-long", "0", "--pin-rpc", "0"]);
        command.args(["--pairs", "2", "--warmup", "1", "--duration", "2", "--no-hogs"]);
        command.args(["--long-rate", "40Mbit"]).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Starts a run and lets something happen in the middle of its second sample.
    pub(crate) fn disturbed(
        &self,
        disturb: impl FnOnce(&Running, Running),
    ) -> (ExitStatus, String) {
        let (agent, mut said) = self.agent();
        let mut runner = Running(self.ab(&self.path("key")).spawn().unwrap());
        for sample in 0..2 {
            let mut line = String::new();
            while !line.contains("2 long flows") {
                line.clear();
                assert_ne!(said.read_line(&mut line).unwrap(), 0, "sample {sample}");
            }
        }
        thread::sleep(Duration::from_secs(1));
        let disturbed = Instant::now();
        disturb(&runner, agent);
        let mut errors = String::new();
        runner.0.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        let status = runner.0.wait().unwrap();
        assert!(disturbed.elapsed() < Duration::from_secs(60), "it did not notice: {errors}");
        (status, errors)
    }

    /// Waits until only the agent runs on the two hosts.
    pub(crate) fn settles(&self) {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let (runner, agent) = (self.runner.processes(), self.agent.processes());
            if runner.is_empty() && agent.len() == 1 {
                return;
            }
            assert!(Instant::now() < deadline, "{runner:?} {agent:?}");
            thread::sleep(Duration::from_millis(200));
        }
    }

    pub(crate) fn result(&self) -> Value {
        serde_json::from_slice(&fs::read(self.path("out/result.json")).unwrap()).unwrap()
    }

    /// Checks that a run was cut short after its first sample, said why, and left nothing behind.
    pub(crate) fn assert_cut_short(&self, status: ExitStatus, errors: &str, why: &str) {
        assert_eq!(status.code(), Some(1), "{errors}");
        assert!(errors.lines().last().unwrap().contains(why), "{errors}");
        let result = self.result();
        assert_eq!(result["raw"].as_array().unwrap().len(), 1);
        let unfinished = &result["unfinished"];
        let said = unfinished["error"].as_str().unwrap();
        assert!(unfinished["planned"] == 4 && said.contains(why), "{unfinished}");
        assert_eq!(self.runner.processes(), Vec::<String>::new());
    }
}

pub(crate) fn new_key(path: &Path) {
    let mut command = Command::new(cargo_bin!("steer-bench"));
    assert!(command.args(["agent", "--new-key"]).arg(path).status().unwrap().success());
}
