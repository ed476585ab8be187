//! `scx_steer nic daemon`: host steering as it runs beside the scheduler, on a veth pair in a network
//! namespace of its own. Needs root; without, the tests print that and pass.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

const PROGRAM: &str = env!("CARGO_BIN_EXE_scx_steer");
const RPS: &str = "/sys/class/net/v0/queues/rx-0/rps_cpus";
const ALIGN: &str = "[nic.v0]\nmode = \"align\"\ncpus = \"0\"\n";

/// A daemon is killed after this long, so that a test which waits for a message fails.
const PATIENCE: Duration = Duration::from_secs(60);

#[path = "common/netns.rs"]
mod netns;

use netns::Netns as Host;

impl Host {
    /// A host whose pair is up.
    fn up(test: &str) -> Option<Host> {
        Host::new(test).inspect(Host::raise)
    }

    /// Sets the pair up, and a value to lose.
    fn raise(&self) {
        self.shell(&format!("ip link set v1 up; ip link set v0 up; echo 3 > {RPS}"));
    }

    fn file(&self) -> PathBuf {
        self.folder().join("host.toml")
    }

    /// Writes the host file as an editor does.
    fn write(&self, text: &str) {
        let new = self.folder().join("host.toml.new");
        fs::write(&new, text).unwrap();
        fs::rename(new, self.file()).unwrap();
    }

    fn nic(&self, words: &[&str]) -> Command {
        let mut command = self.command(&[PROGRAM, "nic"]);
        command.args(words).arg("--journal").arg(self.folder());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn daemon(&self) -> Daemon {
        self.start(&["daemon", "--host", &self.file().display().to_string()])
    }

    fn start(&self, words: &[&str]) -> Daemon {
        let mut child = self.nic(words).spawn().unwrap();
        let log = BufReader::new(child.stderr.take().unwrap());
        let pid = Pid::from_child(&child);
        thread::spawn(move || {
            thread::sleep(PATIENCE);
            let _ = kill_process(pid, Signal::KILL);
        });
        Daemon { child, log, said: String::new() }
    }

    /// Channels in use and RPS of the first queue.
    fn now(&self) -> (String, String) {
        let channels = self.shell("ethtool -l v0 | grep RX: | tail -n1");
        (channels.trim_start_matches("RX:").trim().to_owned(), self.shell(&format!("cat {RPS}")))
    }
}

struct Daemon {
    child: Child,
    log: BufReader<ChildStderr>,
    said: String,
}

impl Daemon {
    /// Waits until its log has this.
    fn says(&mut self, text: &str) {
        while !self.said.contains(text) {
            let read = self.log.read_line(&mut self.said).unwrap();
            assert!(read > 0, "it ended without saying {text:?}: {}", self.said);
        }
        self.said.clear();
    }

    fn end(mut self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // it has ended, unless a test failed
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn before() -> (String, String) {
    ("4".into(), "3".into())
}

fn aligned() -> (String, String) {
    ("1".into(), "0".into())
}

#[test]
fn a_mode_is_in_force_until_the_daemon_ends() {
    let Some(host) = Host::up("life") else { return };
    host.write(ALIGN);
    let mut daemon = host.daemon();
    daemon.says("NIC v0: mode align is in force, ");
    assert_eq!(host.now(), aligned());
    let other = host.nic(&["apply", "v0", "--mode", "align", "--cpus", "0"]).output().unwrap();
    let said = String::from_utf8(other.stderr).unwrap();
    assert!(said.contains("another scx_steer (process"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    daemon.end(Signal::TERM);
    assert_eq!(host.now(), before());
    assert!(!host.has_journal());
}

#[test]
fn on_exit_keep_leaves_it_until_restore() {
    let Some(host) = Host::up("keep") else { return };
    host.write(&format!("on-exit = \"keep\"\n{ALIGN}"));
    let mut daemon = host.daemon();
    daemon.says("is in force, ");
    daemon.end(Signal::TERM);
    assert_eq!(host.now(), aligned());
    let after = host.nic(&["restore", "--after-daemon"]).output().unwrap();
    assert!(after.status.success(), "{after:?}");
    assert_eq!(host.now(), aligned(), "its host file wants it kept");
    assert!(host.nic(&["restore"]).output().unwrap().status.success());
    assert_eq!(host.now(), before());
}

#[test]
fn what_a_killed_daemon_left_goes_back_at_the_next_start_or_by_restore() {
    let Some(host) = Host::up("sigkill") else { return };
    host.write(ALIGN);
    let mut daemon = host.daemon();
    daemon.says("is in force, ");
    daemon.end(Signal::KILL);
    assert_eq!(host.now(), aligned());
    // nothing is wanted any longer
    host.write("");
    let mut daemon = host.daemon();
    daemon.says("the settings of mode align go back");
    daemon.end(Signal::TERM);
    assert_eq!(host.now(), before());

    host.write(ALIGN);
    let mut daemon = host.daemon();
    daemon.says("is in force, ");
    daemon.end(Signal::KILL);
    let after = host.nic(&["restore", "--after-daemon"]).output().unwrap();
    assert!(after.status.success(), "{after:?}");
    assert_eq!(host.now(), before());
}

#[test]
fn a_changed_file_takes_effect_and_a_bad_one_changes_nothing() {
    let Some(host) = Host::up("reload") else { return };
    host.write(ALIGN);
    let mut daemon = host.daemon();
    daemon.says("is in force, ");
    host.write("[nic.v0]\nmode = \"allign\"\n");
    daemon.says("host.toml:2:8: mode: \"allign\" is unknown");
    assert_eq!(host.now(), aligned());
    host.write("[nic.v0]\nmode = \"busy-poll\"\ncpus = \"0\"\n");
    daemon.says("mode busy-poll is in force, ");
    let defer = "cat /sys/class/net/v0/napi_defer_hard_irqs";
    assert_eq!(host.shell(defer), "100");
    host.write("");
    daemon.says("go back");
    // the next look has seen them
    host.write(ALIGN);
    daemon.says("mode align is in force, ");
    assert_eq!(host.shell(defer), "0");
    daemon.end(Signal::TERM);
    assert_eq!(host.now(), before());
}

#[test]
fn ports_of_policy_files_are_followed() {
    let Some(host) = Host::up("ports") else { return };
    host.write("[nic.v0]\nmode = \"rules\"\ncpus = \"0-1\"\n");
    let policy = host.policy("[\"tcp/0\"]");
    let file = host.file().display().to_string();
    let words = ["daemon", "--host", &file, "--policy", &policy];
    let refused = host.nic(&words).output().unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(
        said.contains("the policy files are refused") && said.contains(":4:9: ports"),
        "{said}"
    );
    fs::write(&policy, "").unwrap();
    let mut daemon = host.start(&words);
    daemon.says("no policy file has a rule with ports for it");
    host.policy("[\"tcp/443\"]");
    // no device here takes rules
    daemon.says("cannot have the mode rules: its driver takes no ntuple filters");
    host.policy("443");
    daemon.says("the ports that were named before stay in force");
    daemon.end(Signal::TERM);
    assert_eq!(host.now(), before());
}

#[test]
fn a_mode_is_set_again_after_the_link_the_channels_or_the_nic_itself() {
    let Some(host) = Host::up("again") else { return };
    host.write(ALIGN);
    let mut daemon = host.daemon();
    daemon.says("is in force, ");
    // it has to have seen the NIC once, as it is now
    std::thread::sleep(std::time::Duration::from_secs(3));
    host.shell(&format!("ip link set v0 down; ip link set v0 up; echo 2 > {RPS}"));
    daemon.says("settings were set again");
    assert_eq!(host.now(), aligned());
    host.shell("ip link del v0");
    host.plug();
    host.raise();
    daemon.says("its mode align is set again");
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert_eq!(host.now(), aligned());
    daemon.end(Signal::TERM);
    assert_eq!(host.now(), before());
}

#[test]
fn watch_hears_of_a_link_long_before_it_looks_by_itself() {
    let Some(host) = Host::up("hears") else { return };
    let apply = host.nic(&["apply", "v0", "--mode", "align", "--cpus", "0"]).output().unwrap();
    assert!(apply.status.success(), "{apply:?}");
    let mut watch = host.start(&["watch", "--every", "3600"]);
    // it has to have seen the NIC once, as it is now
    thread::sleep(Duration::from_secs(1));
    host.shell(&format!("echo 2 > {RPS}; ip link set v0 down; ip link set v0 up"));
    watch.says("settings were set again");
    assert_eq!(host.now(), aligned());
    watch.end(Signal::TERM);
    assert!(host.nic(&["restore"]).output().unwrap().status.success());
    assert_eq!(host.now(), before());
}

#[test]
fn what_cannot_be_had_is_said_and_changes_nothing() {
    let Some(host) = Host::up("cannot") else { return };
    for (nic, mode, message) in [
        ("nope", "align", "NIC nope: there is no such network interface here; there are: v0, v1"),
        ("v0", "arfs", "v0 cannot have the mode arfs: its driver takes no ntuple filters"),
        ("v0", "rfs", "v0 cannot have the mode rfs: the RFS table belongs to the host"),
    ] {
        host.write(&format!("[nic.{nic}]\nmode = \"{mode}\"\ncpus = \"0\"\n"));
        let mut daemon = host.daemon();
        daemon.says(message);
        daemon.end(Signal::TERM);
        assert_eq!(host.now(), before());
        assert!(!host.has_journal());
    }
}

#[test]
fn a_bad_host_file_or_no_root_is_one_message() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("host.toml");
    fs::write(&file, "[nic.eth0]\nmode = \"fast\"\n").unwrap();
    let file = file.display().to_string();
    for words in [&["nic", "check", &file][..], &["nic", "daemon", "--host", &file]] {
        let root = rustix::process::geteuid().is_root();
        let output = Command::new(PROGRAM).args(words).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1));
        if root || words[1] == "check" {
            assert!(
                said.contains("host.toml:2:8: mode: \"fast\" is unknown; allowed: \"keep\""),
                "{said}"
            );
        } else {
            assert!(said.contains("needs root: run it with sudo"), "{said}");
        }
    }
    let missing = Command::new(PROGRAM).args(["nic", "check", "no-such-file"]).output().unwrap();
    let said = String::from_utf8(missing.stderr).unwrap();
    assert!(said.starts_with("no-such-file: cannot be read"), "{said}");
    let bad = Command::new(PROGRAM).args(["--nic-mode", "eth0"]).output().unwrap();
    assert_eq!(bad.status.code(), Some(2));
    assert!(String::from_utf8(bad.stderr).unwrap().contains("write IFACE=MODE"));
}
