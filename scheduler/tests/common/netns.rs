//! A network namespace with the pair v0, v1 of four queues each, and a folder for the journal.

use std::path::Path;
use std::process::Command;

/// The namespace. It ends with this value.
pub(crate) struct Netns {
    name: String,
    folder: tempfile::TempDir,
}

impl Netns {
    /// `None` without root or `ip`, which is said.
    pub(crate) fn new(test: &str) -> Option<Self> {
        let name = format!("steer-{test}-{}", std::process::id());
        let added = Command::new("ip").args(["netns", "add", &name]).output();
        if !added.is_ok_and(|output| output.status.success()) {
            println!("SKIPPED {test}: needs root and ip (iproute2) for network namespaces");
            return None;
        }
        let netns = Self { name, folder: tempfile::tempdir().unwrap() };
        netns.plug();
        Some(netns)
    }

    /// Adds the pair.
    pub(crate) fn plug(&self) {
        let queues = "numrxqueues 4 numtxqueues 4";
        self.shell(&format!("ip link add v0 {queues} type veth peer name v1 {queues}"));
    }

    /// A program in the namespace.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name]).args(words);
        command
    }

    /// What a shell line prints that has to succeed.
    pub(crate) fn shell(&self, line: &str) -> String {
        let output = self.command(&["sh", "-c", line]).output().unwrap();
        assert!(output.status.success(), "{line}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// The folder.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a policy file that names ports; its path.
    pub(crate) fn policy(&self, ports: &str) -> String {
        let path = self.folder().join("policy.toml");
        let rule = format!("[[rule]]\ncgroup = \"/\"\npool = \"1\"\nports = {ports}\n");
        std::fs::write(&path, rule).unwrap();
        path.display().to_string()
    }

    /// Whether settings are changed.
    pub(crate) fn has_journal(&self) -> bool {
        self.folder().join("journal").exists()
    }
}

impl Drop for Netns {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.name]).output();
    }
}
