//! Runs guests, several at a time: each keeps one CPU of this machine busy. Their own time does not
//! depend on it.

use std::collections::VecDeque;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use steer_ground::progress::Progress;
use steer_lab::kernel::{Kernel, Source, Wanted};

use crate::guest::{Guest, Said, Task};
use crate::tools::Tools;

/// How often to look whether a guest has ended.
const LOOK: Duration = Duration::from_millis(100);

/// How to run guests.
#[derive(Debug, Clone)]
pub struct BenchOptions {
    /// The guest's kernel.
    pub kernel: Wanted,
    /// Where kernels come from.
    pub source: Source,
    /// Guests that run at a time.
    pub at_once: usize,
    /// Real time for all of it.
    pub budget: Duration,
}

/// What all guests of a command need.
pub(crate) struct Bench {
    pub(crate) tools: Tools,
    pub(crate) kernel: Kernel,
    at_once: usize,
    budget: Duration,
    started: Instant,
}

impl Bench {
    /// Builds and fetches what is missing. The budget counts from then on.
    ///
    /// # Errors
    /// Names what cannot be built or fetched.
    pub(crate) fn new(options: &BenchOptions, progress: &Progress) -> Result<Self> {
        let tools = Tools::build(progress)?;
        let kernel = options.source.get(&options.kernel, progress)?;
        let (at_once, budget) = (options.at_once, options.budget);
        Ok(Self { tools, kernel, at_once, budget, started: Instant::now() })
    }

    /// Runs all tasks. Each has a key; gives `done` what it said, as they end.
    ///
    /// # Errors
    /// The first failure of a guest or of `done`, or that the budget is used up. The other guests
    /// are then ended.
    pub(crate) fn run<'a, K>(
        &self,
        tasks: impl IntoIterator<Item = (K, Task<'a>)>,
        progress: &Progress,
        mut done: impl FnMut(K, Task<'a>, Said) -> Result<()>,
    ) -> Result<()> {
        self.run_heard(tasks, progress, &mut |_| (), |key, task, said| {
            done(key, task, said)?;
            progress.advance();
            Ok(())
        })
    }

    /// The same; gives `heard` each line of a guest's console as it comes, and leaves it to that to
    /// count what is done.
    pub(crate) fn run_heard<'a, K>(
        &self,
        tasks: impl IntoIterator<Item = (K, Task<'a>)>,
        progress: &Progress,
        heard: &mut dyn FnMut(&str),
        mut done: impl FnMut(K, Task<'a>, Said) -> Result<()>,
    ) -> Result<()> {
        let mut waiting: VecDeque<_> = tasks.into_iter().collect();
        let mut running: Vec<(K, Task<'a>, Guest)> = Vec::new();
        while !(waiting.is_empty() && running.is_empty()) {
            while running.len() < self.at_once
                && let Some((key, task)) = waiting.pop_front()
            {
                progress.step(task.name.clone());
                let guest = Guest::start(&task, &self.tools, &self.kernel)?;
                running.push((key, task, guest));
            }
            let mut at = 0;
            while at < running.len() {
                let ended = running[at].2.ended();
                running[at].2.heard()?.iter().for_each(|line| heard(line));
                match ended? {
                    Some(said) => {
                        let (key, task, _) = running.swap_remove(at);
                        done(key, task, said)?;
                    }
                    None => at += 1,
                }
            }
            if self.started.elapsed() > self.budget
                && let Some((.., longest)) = running.drain(..).max_by_key(|(.., it)| it.age())
            {
                return Err(longest.stop(self.budget));
            }
            thread::sleep(LOOK);
        }
        Ok(())
    }
}
