//! The protocol between host and guest: JSON lines over TCP, one request at a time.

use serde::{Deserialize, Serialize};

/// Lines that come after the reason why a program ended start so: after a panic, and with `-v`.
const NOISE: [&str; 2] = ["note: run with `RUST_BACKTRACE", "[DEBUG]"];
/// Version of the protocol. Both sides come from one build, so both must be equal.
pub(super) const VERSION: u32 = 1;
/// Port of the agent.
pub(super) const PORT: u16 = 7000;

/// Host to guest.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Request {
    /// The first request: checks that both speak the same version. The answer is the guest's
    /// version.
    Hello { version: u32 },
    /// The content of a file under /proc or /sys.
    Read { path: String },
    /// Writes to a file under /proc or /sys.
    Write { path: String, value: String },
    /// The names in a folder under /proc or /sys, one per line.
    List { path: String },
    /// Starts a program under a name that no running program has.
    Spawn { name: String, argv: Vec<String> },
    /// Waits until a line of the program's output starts with `line`.
    Expect { name: String, line: String, timeout_s: f64 },
    /// Sends a signal to the program and all processes it started.
    Signal { name: String, signal: i32 },
    /// Waits until the program has ended.
    Wait { name: String, timeout_s: f64 },
}

/// Guest to host.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Reply {
    /// The request is still being processed. Sent every second, so that silence means the guest
    /// hangs.
    Alive,
    /// Done. Has the answer, if there is one.
    Done(String),
    /// The program has ended.
    Finished(Finished),
    /// The time is up and the program still runs. Has its output so far.
    Running(Finished),
    /// The request failed, for this reason.
    Failed(String),
}

/// How a program ended, and its output.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finished {
    /// Exit code; `None` when a signal killed it.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Finished {
    /// Whether the program exited with code 0.
    pub fn success(&self) -> bool {
        self.code == Some(0)
    }

    /// Its last line of output, for messages. Skips what comes after the reason that it ended.
    pub fn last_words(&self) -> &str {
        let lines = self.stderr.lines().rev().chain(self.stdout.lines().rev());
        lines
            .map(str::trim)
            .find(|line| !line.is_empty() && !NOISE.iter().any(|noise| line.starts_with(noise)))
            .unwrap_or("it printed nothing")
    }
}
