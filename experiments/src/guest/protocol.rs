//! What host and guest say to each other: JSON lines over TCP, one request at a time.

use serde::{Deserialize, Serialize};

/// Version of the protocol; both sides come from one build, so they must be equal.
pub(super) const VERSION: u32 = 1;
/// Port of the agent.
pub(super) const PORT: u16 = 7000;

/// Host to guest.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Request {
    /// First of all: do we speak the same version? Answered with the guest's.
    Hello { version: u32 },
    /// The content of a file under /proc or /sys.
    Read { path: String },
    /// Writes to a file under /proc or /sys.
    Write { path: String, value: String },
    /// The names in a folder under /proc or /sys, one per line.
    List { path: String },
    /// Starts a program under a name that no running program has.
    Spawn { name: String, argv: Vec<String> },
    /// Waits until a line of its output starts with `line`.
    Expect { name: String, line: String, timeout_s: f64 },
    /// Sends a signal to it and all it started.
    Signal { name: String, signal: i32 },
    /// Waits until it has ended.
    Wait { name: String, timeout_s: f64 },
}

/// Guest to host.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Reply {
    /// Still at it; sent every second, so that silence means the guest hangs.
    Alive,
    /// Done, with what was asked for, if anything.
    Done(String),
    /// The program has ended.
    Finished(Finished),
    /// The time is up and the program still runs; what it has said so far.
    Running(Finished),
    /// It did not work.
    Failed(String),
}

/// How a program ended and what it said.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Finished {
    /// Exit code; `None` when a signal ended it.
    pub(crate) code: Option<i32>,
    /// Standard output.
    pub(crate) stdout: String,
    /// Standard error.
    pub(crate) stderr: String,
}

impl Finished {
    /// Whether the program exited with code 0.
    pub(crate) fn success(&self) -> bool {
        self.code == Some(0)
    }

    /// The last line it said, for messages; what a panic was, not how to trace it.
    pub(crate) fn last_words(&self) -> &str {
        let lines = self.stderr.lines().rev().chain(self.stdout.lines().rev());
        lines
            .map(str::trim)
            .find(|line| !line.is_empty() && !line.starts_with("note: run with `RUST_BACKTRACE"))
            .unwrap_or("it said nothing")
    }
}
