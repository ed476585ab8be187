//! `scx_steer nic` on real settings: those of a veth pair in a network namespace of its own, and
//! what a user sees who gives it bad input. Needs root; without, the tests print that and pass.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::path::Path;
use std::process::{Command, Output};

use predicates::{prelude::*, str::contains};

#[path = "common/netns.rs"]
mod netns;

use netns::Netns as Host;

impl Host {
    fn run(&self, environment: &[(&str, u32)], words: &[&str]) -> Output {
        let variables = environment.iter().map(|(name, value)| (*name, value.to_string()));
        self.command(words).envs(variables).output().unwrap()
    }

    /// `scx_steer nic` with the journal in this host's folder.
    fn nic(&self, environment: &[(&str, u32)], words: &[&str]) -> Output {
        let journal = self.folder().display().to_string();
        let program = [env!("CARGO_BIN_EXE_scx_steer"), "nic"];
        let mut all: Vec<&str> = program.iter().chain(words).copied().collect();
        all.extend(["--journal", &journal]);
        self.run(environment, &all)
    }

    fn align(&self, environment: &[(&str, u32)]) -> Output {
        self.nic(environment, &["apply", "v0", "--mode", "align", "--cpus", "0"])
    }

    /// All settings of v0, as JSON.
    fn status(&self) -> serde_json::Value {
        let program = env!("CARGO_BIN_EXE_scx_steer");
        let output = self.run(&[], &[program, "nic", "status", "v0", "--json"]);
        assert!(output.status.success(), "{output:?}");
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        report["nics"].clone()
    }
}

/// What it says on stderr as it fails.
fn complaint(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn says(output: &Output, text: &str) {
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(said.contains(text), "{said}");
}

#[test]
fn a_mode_is_applied_read_back_and_put_back() {
    let Some(host) = Host::new("mode") else { return };
    host.shell("echo 1 > /sys/class/net/v0/queues/rx-3/rps_cpus");
    host.shell("echo 1 > /sys/class/net/v0/queues/rx-0/rps_cpus");
    let before = host.status();
    says(&host.align(&[]), "settings written");
    let during = host.status();
    assert_eq!(during[0]["channels"]["now"]["rx"], 1);
    assert_eq!(during[0]["rx"][0]["rps"], "");
    assert!(host.has_journal());
    says(&host.align(&[]), "nothing to change");
    says(&host.nic(&[], &["restore", "--dry-run"]), "v0 channels: back to 4 rx, 4 tx");
    assert_eq!(host.status(), during, "--dry-run changes nothing");
    says(&host.nic(&[], &["restore"]), "went back");
    assert_eq!(host.status(), before, "of a queue that was out of use, too");
    assert!(!host.has_journal());
    says(&host.nic(&[], &["restore"]), "nothing to put back");
}

#[test]
fn a_kill_at_any_step_loses_nothing() {
    let Some(host) = Host::new("kill") else { return };
    host.shell("echo 1 > /sys/class/net/v0/queues/rx-3/rps_cpus");
    host.shell("echo 1 > /sys/class/net/v0/queues/rx-0/rps_cpus");
    let before = host.status();
    let mut kills = 0;
    for step in 1.. {
        let applied = host.align(&[("SCX_STEER_NIC_DIE_AT", step)]);
        // killed again as it puts things back
        for step in 1..4 {
            host.nic(&[("SCX_STEER_NIC_DIE_AT", step)], &["restore"]);
        }
        says(&host.nic(&[], &["restore"]), " back");
        assert_eq!(host.status(), before, "killed at step {step}");
        assert!(!host.has_journal());
        if applied.status.success() {
            break;
        }
        kills += 1;
    }
    assert!(kills >= 5, "the steps before, amid and after the writes: {kills}");
}

#[test]
fn a_write_that_fails_takes_those_before_it_back() {
    let Some(host) = Host::new("fail") else { return };
    host.shell("echo 1 > /sys/class/net/v0/queues/rx-0/rps_cpus");
    let before = host.status();
    let mut failures = 0;
    for step in 1..12 {
        let applied = host.align(&[("SCX_STEER_NIC_FAIL_AT", step)]);
        if !applied.status.success() {
            failures += 1;
            assert!(complaint(&applied).contains("what had been changed before was put back"));
            assert!(!host.has_journal());
        }
        host.nic(&[], &["restore"]);
        assert_eq!(host.status(), before);
    }
    assert!(failures >= 2, "{failures}");
}

#[test]
fn what_somebody_else_sets_stays() {
    let Some(host) = Host::new("foreign") else { return };
    says(&host.align(&[]), "settings written");
    host.shell("echo 5 > /sys/class/net/v0/queues/rx-0/rps_flow_cnt");
    host.shell("echo 3 > /sys/class/net/v0/queues/rx-0/rps_cpus");
    let refused = complaint(&host.align(&[]));
    assert!(refused.contains("another program changed v0 rx-0 RPS"), "{refused}");
    says(&host.nic(&[], &["restore"]), "v0 rx-0 RPS: is CPU 0-1");
    let after = host.status();
    assert_eq!(after[0]["rx"][0]["rps"], "0-1");
    assert_eq!(after[0]["rx"][0]["rfs_flows"], 8, "as the kernel rounds it");
    assert_eq!(after[0]["channels"]["now"]["rx"], 4);
}

#[test]
fn a_device_that_left_took_its_settings_with_it() {
    let Some(host) = Host::new("gone") else { return };
    says(&host.align(&[]), "settings written");
    host.shell("ip link del v0");
    host.plug();
    host.shell("echo 3 > /sys/class/net/v0/queues/rx-0/rps_cpus");
    let fresh = host.status();
    says(&host.nic(&[], &["restore"]), "v0 channels: its device left");
    assert_eq!(host.status(), fresh);
    assert!(!host.has_journal());
}

#[test]
fn journals_of_other_boots_and_damaged_ones_change_nothing() {
    let Some(host) = Host::new("journal") else { return };
    says(&host.align(&[]), "settings written");
    let path = host.folder().join("journal");
    let journal = std::fs::read(&path).unwrap();
    std::fs::write(&path, &journal[..journal.len() / 2]).unwrap();
    let during = host.status();
    for words in [&["restore"][..], &["apply", "v0", "--mode", "align", "--cpus", "0"]] {
        assert!(complaint(&host.nic(&[], words)).contains("is damaged"));
    }
    assert_eq!(host.status(), during);
    std::fs::write(&path, &journal).unwrap();
    says(&host.nic(&[], &["restore"]), "went back");
}

#[test]
fn a_journal_that_cannot_be_written_prevents_every_change() {
    let Some(host) = Host::new("full") else { return };
    let before = host.status();
    let program = env!("CARGO_BIN_EXE_scx_steer");
    let folder = host.folder().display();
    // a file system without room, seen by this command alone
    let line = format!(
        "mount -t tmpfs -o size=4k none {folder} && cat /dev/zero > {folder}/filler 2>/dev/null; \
         {program} nic apply v0 --mode align --cpus 0 --journal {folder}"
    );
    let output = host.run(&[], &["unshare", "-m", "sh", "-c", &line]);
    assert!(complaint(&output).contains("cannot keep the journal"), "{output:?}");
    assert_eq!(host.status(), before);
}

#[test]
fn only_one_changes_settings_at_a_time() {
    let Some(host) = Host::new("lock") else { return };
    let lock = host.folder().join("lock");
    std::fs::write(&lock, "4711\n").unwrap();
    let program = env!("CARGO_BIN_EXE_scx_steer");
    let folder = host.folder().display();
    let line = format!("{program} nic restore --journal {folder}");
    let output = host.run(&[], &["flock", &lock.display().to_string(), "sh", "-c", &line]);
    assert!(complaint(&output).contains("another scx_steer (process 4711) changes host settings"));
}

#[test]
fn bad_input_gets_one_message() {
    let Some(host) = Host::new("bad") else { return };
    for (words, message) in [
        (&["plan", "nope", "--mode", "align"][..], "no network interface nope here"),
        (&["plan", "v0", "--mode", "align"], "it is unknown which CPUs are near it"),
        (&["plan", "v0", "--mode", "rfs", "--cpus", "0"], "cannot be seen from this network"),
        (&["plan", "v0", "--mode", "arfs", "--cpus", "0"], "takes no ntuple filters"),
        (&["plan", "v0", "--mode", "align", "--cpus", "4000"], "none of the CPUs 4000 is online"),
        (&["plan", "--mode", "align"], "no network interface with a device behind it"),
    ] {
        let program = env!("CARGO_BIN_EXE_scx_steer");
        let all: Vec<&str> = [program, "nic"].iter().chain(words).copied().collect();
        let said = complaint(&host.run(&[], &all));
        assert!(contains(message).eval(&said), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    let refused = |ports: &str| {
        let words = ["apply", "v0", "--mode", "rules", "--cpus", "0", "--policy"];
        let policy = host.policy(ports);
        complaint(&host.nic(&[], &[&words[..], &[&policy]].concat()))
    };
    assert!(refused("[\"tcp/443\"]").contains("takes no ntuple filters"));
    let said = refused("[\"tcp/0\"]");
    assert!(said.contains("policy.toml:4:9: ports: \"tcp/0\" has no port from 1"), "{said}");
    let none = host.folder().join("none.toml");
    std::fs::write(&none, "").unwrap();
    let none = none.display().to_string();
    let words = ["apply", "v0", "--mode", "rules", "--cpus", "0", "--policy", &none];
    let said = complaint(&host.nic(&[], &words));
    assert!(said.contains("no policy file has a rule with ports for it"), "{said}");
}

/// The rows of these devices in docs/host-steering.md.
#[test]
fn devices_say_which_modes_they_cannot_have() {
    let Some(host) = Host::new("kinds") else { return };
    host.shell(
        "ip link add br0 type bridge; ip link add br1 type bridge; ip link set v1 master br1; \
         ip link add link v0 name mv0 type macvlan; ip tuntap add tap0 mode tap multi_queue",
    );
    const NO_FILTERS: &str = "takes no ntuple filters (fixed off)";
    const NOTHING: &str = "there is nothing to align";
    const NO_PORT: &str = "there is none below this one";
    let policy = host.policy("[\"tcp/443\"]");
    for (device, align, filters, busy_poll) in [
        ("br0", NO_PORT, NO_PORT, NO_PORT),
        ("tap0", NOTHING, NO_FILTERS, ""),
        ("br1", "name these instead: v1", "name these instead: v1", "name these instead: v1"),
        ("mv0", "name these instead: v0", "name these instead: v0", "name these instead: v0"),
        ("v1", "", NO_FILTERS, ""),
    ] {
        for (mode, refusal) in
            [("align", align), ("arfs", filters), ("rules", filters), ("busy-poll", busy_poll)]
        {
            let program = env!("CARGO_BIN_EXE_scx_steer");
            let mut words = vec![program, "nic", "plan", device, "--mode", mode, "--cpus", "0-1"];
            words.extend(["--policy", &policy]);
            let output = host.run(&[], &words);
            match refusal {
                "" => assert!(output.status.success(), "{device} {mode}: {output:?}"),
                refusal => {
                    let said = complaint(&output);
                    assert!(said.contains(refusal), "{device} {mode}: {said}");
                    assert_eq!(said.lines().count(), 1, "{said}");
                }
            }
        }
    }
}

#[test]
fn without_root_nothing_is_changed_and_status_works() {
    let nobody = |words: &[&str]| {
        let program = env!("CARGO_BIN_EXE_scx_steer");
        let id = ["--reuid=65534", "--regid=65534", "--clear-groups", "--"];
        Command::new("setpriv").args(id).arg(program).args(words).output()
    };
    if !rustix::process::geteuid().is_root() || !Path::new("/usr/bin/setpriv").exists() {
        println!("skipped: needs root and setpriv to become nobody");
        return;
    }
    for words in [&["nic", "apply", "--mode", "align"][..], &["nic", "restore"]] {
        assert!(complaint(&nobody(words).unwrap()).contains("needs root: run it with sudo"));
    }
}

#[test]
fn unknown_modes_and_numbers_exit_2() {
    for (words, message) in [
        (&["nic", "plan"][..], "--mode <MODE>"),
        (&["nic", "plan", "--mode", "fast"], "there are: keep, align, rfs, arfs, rules, busy-poll"),
        (&["nic", "plan", "--mode", "align", "--cores", "0"], "0 is not in 1.."),
        (&["nic", "plan", "--mode", "align", "--cpus", "x"], "\"x\" is not a CPU number"),
    ] {
        let mut command = assert_cmd::Command::cargo_bin("scx_steer").unwrap();
        command.args(words).assert().code(2).stderr(contains(message));
    }
}
