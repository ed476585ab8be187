//! The priced tier from outside: what cannot be measured gives one clear error, before anything is
//! built or started. Tests that boot a guest need STEER_LAB=1.

use std::fs;
use std::path::Path;
use std::process::Command;

use assert_cmd::prelude::*;
use predicates::prelude::*;

use crate::guests::lab;

/// A command of the tier, in the project's folder.
fn priced(flags: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_steer-bench"));
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    command.arg("priced").args(flags.split_whitespace());
    command
}

/// What it says when it fails.
fn refuses(flags: &str, said: &str) {
    priced(flags).assert().failure().stderr(predicate::str::contains(said));
}

#[test]
fn a_machine_must_exist_and_be_possible() {
    refuses("calibrate --machine xeon", "there is no machine \"xeon\": choose one of epyc-7763,");
    refuses("flow --machine no.toml", "cannot read the machine no.toml");
    let bad = "experiments/priced/tests/bad/below-range.toml";
    let said = format!("{bad}:4: core.clock_ghz is a number from 0.5 to 10, not 0");
    refuses(&format!("calibrate --machine {bad}"), &said);
    refuses(&format!("flow --machine {bad}"), &said);
}

#[test]
fn a_comparison_needs_what_the_model_can_hold_and_the_guest_has() {
    refuses("ab --arms default+rfs", "of the settings of arms, the priced tier has align only");
    refuses("ab --arms default,default", "--arms names default twice");
    refuses("ab --arms simple=scx_simple", "the guest has no scx_simple: name it with --with");
    refuses("ab --shape 1x4", "the pinned arm puts RPCs on a node without a NIC");
    refuses("ab --nics each-node", "the pinned arm puts RPCs on a node without a NIC");
    refuses("adapt --long-tool iperf3", "leave out --long-tool,");
    refuses(
        "ab --long-tool iperf3 --long-threads 2",
        "--long-threads applies to flows that steer-",
    );
    refuses("ab --arms default --with /no/such", "/no/such does not exist");
    refuses("ab --long-rate fast", "--long-rate");
    refuses("ab --warmup 0", "write seconds from 0.01 to 60");
    refuses("profile --cpus 3,4", "--cpus 4: the measured CPUs of the shape 2x2x1 end at 3");
    refuses("neutral --arms default,pinned", "there is nothing to pin or tune");
    refuses("neutral --arms default,simple=scx_simple", "the guest has no scx_simple");
    refuses("neutral --shape 2x16x2", "the model holds 32 CPUs, not 64");
    refuses("neutral --programs chess", "possible values: pipe, messaging, compile");
    refuses("flow --budget 0", "write minutes above 0");
    refuses("fidelity --seeds 0", "0 is not in 1..=100");
    refuses("fidelity --out /dev/null/no", "making /dev/null/no");
}

#[test]
fn another_folder_than_the_projects_is_told() {
    let elsewhere = tempfile::tempdir();
    let elsewhere = elsewhere.as_ref().map(|folder| folder.path()).unwrap_or(Path::new("/"));
    priced("calibrate")
        .current_dir(elsewhere)
        .assert()
        .failure()
        .stderr(predicate::str::contains("run this in the project's folder"));
}

#[test]
fn a_sample_does_not_depend_on_those_beside_it() {
    if !lab("a_sample_does_not_depend_on_those_beside_it") {
        return;
    }
    let alone = first_sample(&["--seeds", "1"]);
    assert!(alone["client"].is_object(), "{alone}");
    assert_eq!(alone, first_sample(&["--seeds", "2"]));
}

/// The scheduler hands the CPU over in a pipe. The default scheduler wakes another CPU for each turn.
#[test]
fn a_pipe_takes_less_time_than_under_the_default_scheduler() {
    if !lab("a_pipe_takes_less_time_than_under_the_default_scheduler") {
        return;
    }
    let took = made("neutral.json", "neutral --programs pipe --seeds 1 --shape 2x2", &[]);
    for figure in ["ms", "cpu_ms"] {
        let [ours, others] = ["scx_steer", "default"].map(|arm| &took[arm]["pipe"][figure]);
        let least = ours[0].as_f64().unwrap();
        assert!(0.0 < least && least < others[0].as_f64().unwrap(), "{figure}: {ours}, {others}");
    }
}

/// RPCs and a thread that only computes share two CPUs, of which the RPCs need one. They spare that
/// thread, so that it has the other: before they did, it got 0.7 of what it gets by default.
#[test]
fn rpcs_spare_a_thread_that_only_computes() {
    if !lab("rpcs_spare_a_thread_that_only_computes") {
        return;
    }
    let busy = "ab --seeds 1 --shape 2x2 --steering hash --duration 0.1 --rpc-rate 60000 \
                --arms default,scx_steer";
    let arms = &made("result.json", busy, &[])["worlds"]["hash"]["arms"];
    let [ours, others] =
        ["scx_steer", "default"].map(|arm| arms[arm]["hog_rate"]["median"].as_f64().unwrap());
    assert!(ours > 0.8 * others, "{ours}, {others}");
}

/// Other programs than ours take the traffic, on a NIC of each node, without GRO. With those of the
/// client, the guest has 18 CPUs: the emulator moves its table of them at the 17th.
#[test]
fn other_programs_nics_and_settings_are_what_was_asked_for() {
    if !lab("other_programs_nics_and_settings_are_what_was_asked_for") {
        return;
    }
    let flags = ["--seeds=1", "--shape=2x6", "--nics=each-node", "--long-tool=iperf3"];
    let setup = ["--rpc-connections", "0", "--setup-guest", "ethtool -K eth1 gro off"];
    let sample = first_sample(&[&flags[..], &setup].concat());
    let nics = sample["observe"]["nics"].as_array().unwrap();
    let nics: Vec<_> = nics.iter().map(|nic| (&nic["name"], &nic["local_cpus"])).collect();
    assert_eq!(nics, [(&"eth0".into(), &"0-5".into()), (&"eth1".into(), &"6-11".into())]);
    // One of two flows arrives by eth1, at 4 Gbit/s each.
    let long = &sample["client"]["long"];
    assert_eq!((&long["flows"], &long["source"]), (&2.into(), &"the observer".into()));
    assert!((0.8e9..1.2e9).contains(&long["bytes_per_s"].as_f64().unwrap()), "{long}");
    let sizes = sample["observe"]["skb_size"]["histogram"].as_array().unwrap();
    let packets = |from: fn(f64) -> bool| -> u64 {
        let some = sizes.iter().filter(|it| from(it["from_bytes"].as_f64().unwrap()));
        some.map(|it| it["packets"].as_u64().unwrap()).sum()
    };
    let (small, large) = (packets(|bytes| bytes < 1500.0), packets(|bytes| bytes > 9000.0));
    assert!(small > 1000 && large > 10, "{sizes:?}");
}

/// The first sample of a short run under the default scheduler.
fn first_sample(flags: &[&str]) -> serde_json::Value {
    let short = "ab --arms default --no-hogs --warmup 0.05 --duration 0.02";
    made("result.json", short, flags)["raw"][0].clone()
}

/// The file that a command makes in its `--out` folder.
fn made(file: &str, command: &str, flags: &[&str]) -> serde_json::Value {
    let out = tempfile::tempdir().unwrap();
    priced(command).args(flags).arg("--out").arg(out.path()).assert().success();
    let text = fs::read_to_string(out.path().join(file)).unwrap();
    serde_json::from_str(&text).unwrap()
}
