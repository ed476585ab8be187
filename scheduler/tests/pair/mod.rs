//! A network namespace with a veth pair, for tests of host steering.

use std::process::{Command, Output};

/// A network namespace with the pair v0, v1 of four queues each, and a folder for the journal.
pub(crate) struct Pair {
    name: String,
    pub(crate) folder: tempfile::TempDir,
}

impl Pair {
    /// `None` without root or `ip`, which is said.
    pub(crate) fn new(test: &str) -> Option<Self> {
        let name = format!("steer-{test}-{}", std::process::id());
        let added = Command::new("ip").args(["netns", "add", &name]).output();
        if !added.is_ok_and(|output| output.status.success()) {
            println!("skipped: needs root and ip (iproute2) for network namespaces");
            return None;
        }
        let pair = Self { name, folder: tempfile::tempdir().unwrap() };
        pair.plug();
        Some(pair)
    }

    /// Adds the devices.
    pub(crate) fn plug(&self) {
        let queues = "numrxqueues 4 numtxqueues 4";
        self.shell(&format!("ip link add v0 {queues} type veth peer name v1 {queues}"));
    }

    /// A command in the namespace.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name]).args(words);
        command
    }

    /// `scx_steer nic` with the journal in this pair's folder.
    pub(crate) fn nic(&self, words: &[&str]) -> Command {
        let mut command = self.command(&[env!("CARGO_BIN_EXE_scx_steer"), "nic"]);
        command.args(words).arg("--journal").arg(self.folder.path());
        command
    }

    /// What a line of shell prints in the namespace.
    pub(crate) fn shell(&self, line: &str) -> String {
        let output: Output = self.command(&["sh", "-c", line]).output().unwrap();
        assert!(output.status.success(), "{line}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    pub(crate) fn has_journal(&self) -> bool {
        self.folder.path().join("journal").exists()
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.name]).output();
    }
}
