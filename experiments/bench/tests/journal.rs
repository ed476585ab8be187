//! `steer-bench lab journal`: a few trials in namespaces of this host. They find nothing, and they
//! find a program that does not put things back.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The program under test, which a build of the workspace puts beside steer-bench.
fn scx_steer() -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_steer-bench")).with_file_name("scx_steer")
}

fn trials(program: &Path, trials: u32) -> Option<Output> {
    let tools = Command::new("ethtool").arg("--version").output().is_ok();
    if !rustix::process::geteuid().is_root() || !tools || !program.is_file() {
        println!("SKIPPED: needs root, ethtool and target/release/scx_steer");
        return None;
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_steer-bench"));
    command.args(["lab", "journal", "--in-guest", "0", "--seed", "7"]);
    command.args(["--trials", &trials.to_string()]).arg("--scx-steer").arg(program);
    Some(command.output().unwrap())
}

#[test]
fn no_setting_is_lost_and_nothing_foreign_overwritten() {
    let Some(output) = trials(&scx_steer(), 40) else { return };
    let said = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(said.contains("0 settings lost, 0 foreign values overwritten"), "{said}");
}

#[test]
fn a_restore_that_only_forgets_is_found_out() {
    let folder = tempfile::tempdir().unwrap();
    let forgetful = folder.path().join("scx_steer");
    let script = format!(
        "#!/bin/sh\nfor last; do :; done\nif [ \"$2\" = restore ]; then rm -f \"$last/journal\"; exit \
         0; fi\nexec {} \"$@\"\n",
        scx_steer().display()
    );
    fs::write(&forgetful, script).unwrap();
    fs::set_permissions(&forgetful, fs::Permissions::from_mode(0o755)).unwrap();
    if !scx_steer().is_file() {
        println!("SKIPPED: needs target/release/scx_steer");
        return;
    }
    let Some(output) = trials(&forgetful, 10) else { return };
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("channels is 1, not"), "{said}");
}
