//! `steer-bench ab --agent` between two hosts. Needs root, and scx_steer built beside steer-bench.
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod pair;
mod running;

use std::fs::{self, Permissions};
use std::io::{BufRead, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use assert_cmd::cargo::cargo_bin;
use serde_json::Value;

use pair::{AGENT, NIC, Pair, RUNNER, can_measure, new_key};
use running::Running;

fn refused(output: &Output, message: &str) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains(message), "{stderr}");
}

/// Whether a result has a warning of a kind.
fn warns(result: &Value, kind: &str) -> bool {
    result["warnings"].as_array().unwrap().iter().any(|warning| warning["kind"] == kind)
}

#[test]
fn a_run_between_two_hosts_gives_a_result() {
    if !can_measure("a_run_between_two_hosts_gives_a_result") {
        return;
    }
    let pair = Pair::new();
    let (_agent, said) = pair.agent();
    let output = pair.ab(&pair.path("key")).output().unwrap();
    assert!(output.status.success(), "{output:?}");

    let result = pair.result();
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/../schema/result-v1.json");
    let schema: Value = serde_json::from_slice(&fs::read(schema).unwrap()).unwrap();
    jsonschema::validate(&schema, &result).unwrap();
    assert_eq!(result["pairs"], 2);
    let samples = result["raw"].as_array().unwrap();
    assert_eq!(samples.len(), 4);
    for sample in samples {
        assert_eq!(sample["world"], "host");
        assert_eq!(sample["client"]["errors"], serde_json::json!([]));
        assert!(sample["client"]["long"]["bytes"].as_u64().unwrap() > 0, "{sample}");
        assert!(sample["client"]["rpc"]["count"].as_u64().unwrap() > 0, "{sample}");
    }
    for arm in ["default", "pinned"] {
        let p99 = &result["worlds"]["host"]["arms"][arm]["rpc_p99"]["median"];
        assert!(p99.as_f64().is_some_and(|p99| p99 > 0.0), "{arm}: {p99}");
    }
    let environment = &result["environment"];
    assert!(environment["accelerator"].is_null() && environment["nic"] == NIC, "{environment}");
    assert!(environment["nic_iommu"].is_null(), "a veth is behind no IOMMU, and not behind none");
    assert!(warns(&result, "no_nic_place"), "a veth is near no CPU");
    let topology = &result["topology"];
    for part in ["nodes", "cores"] {
        assert!(topology[part].as_array().is_some_and(|list| !list.is_empty()), "{topology}");
    }
    assert_eq!(topology["nic"], NIC);
    assert_eq!(topology["queues"], serde_json::json!({"host": []}), "a veth has no interrupts");
    assert_eq!(pair.runner.processes(), Vec::<String>::new());

    // The runner can end before the agent logs that it is done.
    let (line, log) = mpsc::channel();
    thread::spawn(move || said.lines().try_for_each(|read| line.send(read.unwrap())));
    let deadline = Instant::now() + Duration::from_secs(60);
    let done = format!("{RUNNER}: done");
    let mut lines = Vec::new();
    while !lines.iter().any(|line: &String| line.contains(&done)) {
        let left = deadline.saturating_duration_since(Instant::now());
        lines.push(log.recv_timeout(left).unwrap_or_else(|_| panic!("no {done:?} in {lines:?}")));
    }
}

#[test]
fn a_setting_that_the_nic_has_not_is_a_reason_and_no_measurement() {
    if !can_measure("a_setting_that_the_nic_has_not_is_a_reason_and_no_measurement") {
        return;
    }
    let pair = Pair::new();
    let (_agent, _said) = pair.agent();
    for (setting, why) in [
        ("nopause", "veth0 has no pause frames to turn off: "),
        ("xps", "XPS 1:1 with interrupts: veth0 has "),
    ] {
        let arms = format!("default,default+{setting}");
        let output = pair.ab_of(&pair.path("key"), &arms).output().unwrap();
        refused(&output, why);
        refused(&output, &format!("+{setting} of the arm default+{setting}"));
        assert!(!pair.path("out/result.json").exists(), "{setting}");
    }
    // The same as an experiment: the point is skipped, which is not a failure.
    let spec = pair.path("pause.toml");
    let text = "question = \"?\"\nsource = \"x\"\n[options]\narms = [\"default+nopause\"]\n";
    fs::write(&spec, text).unwrap();
    let mut run = pair.runner.command(cargo_bin!("steer-bench"));
    run.arg("run").arg(&spec).arg("--out").arg(pair.path("experiments")).arg("--");
    run.args(["--agent", &format!("{AGENT}:5299"), "--nic", NIC, "--key-file"]);
    let output = run.arg(pair.path("key")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("skipped: veth0 has no pause"), "{output:?}");
}

#[test]
fn what_a_killed_run_left_is_put_back_by_the_next() {
    if !can_measure("what_a_killed_run_left_is_put_back_by_the_next") {
        return;
    }
    let pair = Pair::new();
    let (_agent, _said) = pair.agent();
    let sh = |script: &str| {
        let output = pair.runner.command("sh").args(["-c", script]).output().unwrap();
        assert!(output.status.success(), "{script}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let setting = format!("/sys/class/net/{NIC}/queues/rx-0/rps_cpus");
    let journal = "/run/steer-bench.journal";
    let was = sh(&format!("cat {setting}"));
    let line = serde_json::json!({"file": {"path": setting, "value": was.trim()}});
    sh(&format!("echo 1 > {setting}; echo '{line}' > {journal}"));
    assert_ne!(sh(&format!("cat {setting}")), was);
    let output = pair.ab(&pair.path("key")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(sh(&format!("cat {setting} {journal}")), was, "and the journal is empty");
    assert!(warns(&pair.result(), "left_settings"));

    let gone = serde_json::json!({"file": {"path": "/sys/gone", "value": "1"}});
    sh(&format!("echo '{gone}' > {journal}"));
    let output = pair.ab(&pair.path("key")).output().unwrap();
    refused(&output, "put back by hand what /run/steer-bench.journal says, and remove it");
    refused(&output, "/sys/gone");
}

#[test]
fn an_agent_killed_mid_run_ends_it() {
    if !can_measure("an_agent_killed_mid_run_ends_it") {
        return;
    }
    let pair = Pair::new();
    let (status, errors) = pair.disturbed(|_, agent| agent.signal("-KILL"));
    pair.assert_cut_short(status, &errors, "the agent at 10.77.0.2:5299: lost");
    assert_eq!(pair.agent.processes(), Vec::<String>::new(), "its client must not outlive it");
}

#[test]
fn a_link_that_goes_down_mid_run_ends_it_on_both_sides() {
    if !can_measure("a_link_that_goes_down_mid_run_ends_it_on_both_sides") {
        return;
    }
    let pair = Pair::new();
    let mut left = None;
    let (status, errors) = pair.disturbed(|_, agent| {
        pair.agent.ip(&format!("link set {NIC} down"));
        left = Some(agent);
    });
    pair.assert_cut_short(status, &errors, &format!("{NIC} is down"));
    // The agent has noticed the silence as well, and serves the next runner.
    pair.settles();
    drop(left);
}

#[test]
fn a_disk_that_fills_up_mid_run_keeps_the_rounds_before() {
    if !can_measure("a_disk_that_fills_up_mid_run_keeps_the_rounds_before") {
        return;
    }
    let pair = Pair::new();
    let out = pair.path("out");
    fs::create_dir(&out).unwrap();
    // In the namespace of the host under test, so that it ends with it.
    let mount = "-t tmpfs -o size=4m tmpfs";
    assert!(
        pair.runner.command("mount").args(mount.split(' ')).arg(&out).status().unwrap().success()
    );
    let (_agent, _said) = pair.agent();
    let mut runner = Running(pair.ab(&pair.path("key")).spawn().unwrap());
    let shown = |name: &str| pair.runner.command("cat").arg(out.join(name)).output().unwrap();
    let deadline = Instant::now() + Duration::from_secs(120);
    while !shown("report.html").status.success() {
        assert!(
            runner.0.try_wait().unwrap().is_none(),
            "it ended before the first round was saved"
        );
        assert!(Instant::now() < deadline, "the first round is not saved");
        thread::sleep(Duration::from_millis(100));
    }
    let fill = format!("cat /dev/zero > {}", out.join("other").display());
    let full = pair.runner.command("sh").args(["-c", &fill]).output().unwrap();
    assert!(String::from_utf8_lossy(&full.stderr).contains("No space left"), "{full:?}");

    let mut errors = String::new();
    runner.0.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    assert_eq!(runner.0.wait().unwrap().code(), Some(1), "{errors}");
    let said = errors.lines().last().unwrap();
    for part in ["result.json keeps the first 2 samples", "cannot write", "No space left on device"]
    {
        assert!(said.contains(part), "{errors}");
    }
    let kept: Value = serde_json::from_slice(&shown("result.json").stdout).unwrap();
    assert_eq!(kept["raw"].as_array().unwrap().len(), 2);
    assert_eq!(kept["unfinished"]["planned"], 4, "{kept}");
    assert!(shown("report.html").stdout.ends_with(b"</html>"), "half a page");
    let left = pair.runner.command("ls").arg(&out).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&left.stdout), "other\nreport.html\nresult.json\n");
    assert_eq!(pair.runner.processes(), Vec::<String>::new());
}

#[test]
fn an_interrupted_run_ends_in_order() {
    if !can_measure("an_interrupted_run_ends_in_order") {
        return;
    }
    let pair = Pair::new();
    let mut left = None;
    let (status, errors) = pair.disturbed(|runner, agent| {
        runner.signal("-INT");
        left = Some(agent);
    });
    pair.assert_cut_short(status, &errors, "interrupted");
}

#[test]
fn a_killed_run_leaves_nothing_behind() {
    if !can_measure("a_killed_run_leaves_nothing_behind") {
        return;
    }
    let pair = Pair::new();
    let mut left = None;
    pair.disturbed(|runner, agent| {
        runner.signal("-KILL");
        left = Some(agent);
    });
    pair.settles();
}

#[test]
fn runners_that_the_agent_does_not_know_are_refused() {
    if !can_measure("runners_that_the_agent_does_not_know_are_refused") {
        return;
    }
    let pair = Pair::new();
    refused(&pair.ab(&pair.path("key")).output().unwrap(), "is `steer-bench agent` running there?");

    let (_agent, mut said) = pair.agent();
    new_key(&pair.path("other"));
    refused(&pair.ab(&pair.path("other")).output().unwrap(), "the agent refuses: wrong key");
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert!(line.contains(RUNNER) && line.contains("wrong key"), "{line}");

    let _first = Running(pair.ab(&pair.path("key")).spawn().unwrap());
    line.clear();
    while !line.contains("2 long flows") {
        line.clear();
        assert_ne!(said.read_line(&mut line).unwrap(), 0);
    }
    let second = pair.ab(&pair.path("key")).output().unwrap();
    refused(&second, &format!("the agent is busy with the runner {RUNNER}"));
}

#[test]
fn an_agent_of_another_release_is_refused() {
    if !can_measure("an_agent_of_another_release_is_refused") {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let stranger = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut length = [0; 4];
        stream.read_exact(&mut length).unwrap();
        stream.read_exact(&mut vec![0; u32::from_be_bytes(length) as usize]).unwrap();
        let nonce = [0u8; 32];
        let challenge = serde_json::json!({"challenge": {"version": "99.0.0", "nonce": nonce}});
        let challenge = challenge.to_string();
        stream.write_all(&u32::try_from(challenge.len()).unwrap().to_be_bytes()).unwrap();
        stream.write_all(challenge.as_bytes()).unwrap();
        // Wait until the runner hangs up.
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key");
    new_key(&key);
    let mut command = Command::new(cargo_bin!("steer-bench"));
    command.args(["ab", "--arms", "default", "--nic", "lo", "--agent", &address, "--out"]);
    let output = command.arg(folder.path()).arg("--key-file").arg(&key).output().unwrap();
    refused(&output, "the agent is steer-bench \"99.0.0\"");
    stranger.join().unwrap();
}

#[test]
fn a_key_file_that_others_can_read_is_refused_on_both_sides() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key");
    new_key(&key);
    fs::set_permissions(&key, Permissions::from_mode(0o644)).unwrap();
    let agent = ["agent", "--listen", "127.0.0.1:0"];
    let runner = ["ab", "--agent", "127.0.0.1:9", "--nic", "lo"];
    for arguments in [&agent[..], &runner] {
        let mut command = Command::new(cargo_bin!("steer-bench"));
        command.args(arguments).arg("--key-file").arg(&key).current_dir(folder.path());
        refused(&command.output().unwrap(), "is open to other users (mode 644)");
    }
}

#[test]
fn flags_that_do_not_fit_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key");
    new_key(&key);
    for (flags, message) in [
        ("agent", "--key-file <FILE>"),
        ("agent --key-file key --max-duration 0", "must be longer than 0"),
        ("agent --key-file key --listen nowhere", "--listen"),
        ("agent --new-key key", "cannot create the key file key"),
        ("ab --agent a:1", "--key-file <FILE>"),
        ("ab --nic eth0", "--agent <HOST:PORT>"),
        ("ab --agent a:1 --key-file key --nic lo --steering hash", "cannot be used with"),
        ("ab --agent a:1 --key-file key --nic lo --worlds hash", "cannot be used with '--steering"),
        ("ab --agent a:1 --key-file key --nic lo --setup-guest true", "cannot be used with"),
        ("ab --agent a:1 --key-file key --nic lo --long-tool iperf3", "leave out --long-tool"),
    ] {
        let mut command = Command::new(cargo_bin!("steer-bench"));
        let output = command.args(flags.split(' ')).current_dir(folder.path()).output().unwrap();
        assert!(!output.status.success(), "{flags}");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains(message), "{flags}: {stderr}");
    }
}
