//! The output of the guest's serial console, kept in memory and, if wanted, in a file.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result};

/// Lines to keep. Older lines are dropped.
const KEPT: usize = 20_000;
/// Lines to show with an error.
const SHOWN: usize = 20;

/// The console of one guest. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Console {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug, Default)]
struct Shared {
    lines: VecDeque<String>,
    file: Option<File>,
}

impl Console {
    /// A console that is also written to `path`.
    pub(crate) fn logged(path: &Path) -> Result<Self> {
        let file = File::create(path).with_context(|| format!("creating {}", path.display()))?;
        let shared = Shared { file: Some(file), ..Shared::default() };
        Ok(Self { shared: Arc::new(Mutex::new(shared)) })
    }

    /// An empty console for a guest that replaces this one, written to the same file.
    pub fn anew(&self) -> Result<Self> {
        let file = self.shared().file.as_ref().map(File::try_clone).transpose();
        let file = file.context("sharing the console's file")?;
        let shared = Shared { file, ..Shared::default() };
        Ok(Self { shared: Arc::new(Mutex::new(shared)) })
    }

    /// Adds a line.
    pub fn push(&self, line: &str) {
        let mut shared = self.shared();
        if let Some(file) = &mut shared.file {
            // A full disk must not end a working run: the lines stay in memory.
            let _ = writeln!(file, "{line}");
        }
        if shared.lines.len() == KEPT {
            shared.lines.pop_front();
        }
        shared.lines.push_back(line.to_owned());
    }

    /// The last lines, for the end of an error message.
    pub fn tail(&self) -> String {
        let shared = self.shared();
        let skipped = shared.lines.len().saturating_sub(SHOWN);
        let lines: Vec<&str> = shared.lines.iter().skip(skipped).map(String::as_str).collect();
        format!("the guest's console ends with:\n{}", lines.join("\n"))
    }

    /// Whether a kept line contains `text`.
    pub fn has(&self, text: &str) -> bool {
        self.shared().lines.iter().any(|line| line.contains(text))
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_guest_said_is_not_held_against_the_next_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("console.log");
        let crashed = Console::logged(&path).unwrap();
        crashed.push("assertion failed");
        let next = crashed.anew().unwrap();
        next.push("booting");
        assert!(crashed.has("assertion") && !next.has("assertion") && next.has("booting"));
        assert_eq!(std::fs::read_to_string(path).unwrap(), "assertion failed\nbooting\n");
    }

    #[test]
    fn shows_the_last_lines_only() {
        let console = Console::default();
        (0..50).for_each(|line| console.push(&format!("line {line}")));
        let tail = console.tail();
        assert!(
            tail.ends_with("line 49") && tail.contains("line 30\n") && !tail.contains("line 29")
        );
    }
}
