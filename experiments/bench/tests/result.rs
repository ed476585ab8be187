//! Reading results from the command line: the good, the bad and the missing.
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

#[path = "../../result/tests/archived/mod.rs"]
mod archived;

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output};

use archived::DEMO;
use assert_cmd::cargo::cargo_bin;
use rustix::process::Signal;
use steer_result::archive;

fn table(path: &Path) -> Output {
    Command::new(cargo_bin!("steer-bench")).arg("table").arg(path).output().unwrap()
}

#[test]
fn a_result_is_shown() {
    let output = table(Path::new(DEMO));
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    for part in ["auto steering", "local_share", "scx_steer/default", "TCG emulation"] {
        assert!(text.contains(part), "{part}");
    }
}

#[test]
fn a_reader_that_has_gone_ends_a_table_quietly() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let table =
        Command::new(cargo_bin!("steer-bench")).args(["table", DEMO]).stdout(writer).status();
    assert_eq!(table.unwrap().signal(), Some(Signal::PIPE.as_raw()));
}

#[test]
fn bad_results_say_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let good = archive::text(Path::new(DEMO)).unwrap();
    for (name, text, message) in [
        ("empty", String::new(), "EOF while parsing a value at line 1"),
        ("garbage", "lorem ipsum".into(), "expected value at line 1"),
        ("unversioned", "{}".into(), "missing field `version`"),
        ("newer", "{\"version\": 2}".into(), "it has format version 2, this program reads 1"),
        ("cut", good[..good.len() / 2].into(), "is not a result of `steer-bench ab`"),
        ("typed", good.replacen("\"seed\":1", "\"seed\":\"x\"", 1), "expected u64 at line"),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let output = table(&path);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{name}");
        assert!(stderr.contains(name) && stderr.contains(message), "{name}: {stderr}");
    }
    let output = table(&folder.path().join("missing"));
    assert!(!output.status.success());
    assert!(String::from_utf8(output.stderr).unwrap().contains("cannot read"));
}
