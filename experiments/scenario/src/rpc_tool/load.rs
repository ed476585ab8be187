//! Runs load tools, and collects what they report.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use steer_traffic::generator::Generator;

/// Time allowed beyond the expected length of a run: the tool connects first, and the guest may
/// stall.
const GRACE: Duration = Duration::from_secs(40);

/// What one run of a load tool reported.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Said {
    pub(super) count: u64,
    pub(super) length: Duration,
    pub(super) p50_us: f64,
    pub(super) p99_us: f64,
}

impl Said {
    /// Answers per second.
    pub(super) fn rate(&self) -> f64 {
        self.count as f64 / self.length.as_secs_f64()
    }
}

/// Starts a command where the load comes from.
pub type Start<'a> = &'a dyn Fn(&[String]) -> Result<Command>;

/// Runs some commands at the same time, to their ends. Each should take about `length`. Returns
/// what they print.
pub(super) fn run(
    start: Start<'_>,
    lines: &[Vec<String>],
    length: Duration,
) -> Result<Vec<String>> {
    let deadline = Instant::now() + length + GRACE;
    let generators = lines.iter().map(|line| Generator::start(start(line)?));
    let generators: Vec<Generator> = generators.collect::<Result<_>>()?;
    let finish = |(generator, line): (Generator, &Vec<String>)| {
        generator.finish(deadline).with_context(|| format!("{} failed", line[0]))
    };
    generators.into_iter().zip(lines).map(finish).collect()
}

/// Sleeps until a moment, unless it has passed.
pub(super) fn sleep_until(moment: Instant) {
    thread::sleep(moment.saturating_duration_since(Instant::now()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_that_fails_is_named_with_what_it_said() {
        let sh = |line: &[String]| {
            let mut command = Command::new("sh");
            command.args(["-c", &line[1]]);
            Ok(command)
        };
        let lines = |script: &str| vec![vec!["wrk".to_owned(), script.to_owned()]];
        let second = Duration::from_secs(1);
        assert_eq!(run(&sh, &lines("echo yes"), second).unwrap(), ["yes\n"]);
        let error = format!("{:#}", run(&sh, &lines("echo no >&2; exit 1"), second).unwrap_err());
        assert!(error.contains("wrk failed") && error.contains("no"), "{error}");
    }
}
