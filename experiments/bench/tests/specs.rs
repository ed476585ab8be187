//! Spec files on the command line: ours give runs, and bad ones give an error before anything runs.
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use assert_cmd::cargo::cargo_bin;

const OURS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../specs");

fn dry_run(path: &Path, more: &[&str]) -> Output {
    let mut command = Command::new(cargo_bin!("steer-bench"));
    command.arg("run").arg(path).arg("--dry-run").args(more).output().unwrap()
}

#[test]
fn every_spec_of_ours_comes_to_runs() {
    let specs = fs::read_dir(OURS).unwrap().flatten();
    let specs = specs.filter(|file| file.path().extension().is_some_and(|end| end == "toml"));
    let specs = specs.count();
    let lines = |more: &[&str]| {
        let output = dry_run(Path::new(OURS), more);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let (all, smoke) = (lines(&[]), lines(&["--smoke"]));
    assert!(
        all.lines().count() > specs && all.lines().all(|run| run.starts_with("steer-bench ab --"))
    );
    assert_eq!(smoke.lines().count(), specs, "in small, one run each");
    assert!(smoke.lines().all(|run| run.contains("--pairs=1")), "{smoke}");
    assert!(lines(&["--", "--kernel", "7.2"]).lines().all(|run| run.ends_with("--kernel 7.2")));
}

#[test]
fn bad_specs_say_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text, message) in [
        ("empty", "", "missing field `question`"),
        ("garbage", "question", "TOML parse error at line 1, column"),
        (
            "option",
            "[options]\nlong-flws = 1",
            "option, point all: unexpected argument '--long-flws'",
        ),
        ("value", "[options]\npairs = 0", "invalid value '0' for '--pairs <N>'"),
        ("arm", "[options]\narms = [\"fast\"]", "\"fast\" is not an arm"),
        ("twice", "[options]\narms = [\"default\", \"default\"]", "--arms names default twice"),
        ("node", "[options]\nshape = \"1x4\"", "use a --shape with two nodes"),
        ("nics", "[options]\nnics = \"each-node\"", "with --nics each-node there is none"),
        (
            "reads",
            "[options]\nlong-direction = \"out\"\nlong-reads = \"touch\"",
            "--long-reads applies to the measured machine",
        ),
        (
            "tool",
            "[options]\nlong-tool = \"iperf3\"\nlong-zerocopy = true",
            "--long-tool iperf3 sends to the measured machine, and reads, in its own way",
        ),
        (
            "rpc-tool",
            "[options]\nrpc-tool = \"redis\"\nstage = [\"rpc-connections=1\", \"hogs=0\"]",
            "--stage: the number of RPC connections can change only with steer-bench's own RPCs",
        ),
        ("stage", "[options]\nstage = [\"flows=1\"]", "\"flows\" cannot be set in a stage"),
        ("stages", "[options]\nstage = \"hogs=1\"", "a single --stage does not shift the load"),
        (
            "shift",
            "[options]\nlong-tool = \"iperf3\"\nstage = [\"long-flows=1\", \"hogs=0\"]",
            "--stage: the number of long flows can change only with steer-bench's default long flows",
        ),
        ("point", "[[point]]\nname = \"../x\"", "a name has letters, digits, - _ and . only"),
    ] {
        let header = if text.starts_with('[') { "question = \"?\"\nsource = \"x\"\n" } else { "" };
        let path = folder.path().join(name).with_extension("toml");
        fs::write(&path, format!("{header}{text}")).unwrap();
        let output = dry_run(&path, &[]);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{name}");
        assert!(stderr.contains(name) && stderr.contains(message), "{name}: {stderr}");
    }
    let output = dry_run(&folder.path().join("missing.toml"), &[]);
    assert!(String::from_utf8(output.stderr).unwrap().contains("reading"));
}
