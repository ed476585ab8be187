//! Runs guests, several at a time: each keeps one CPU of this machine busy. Their own time does not
//! depend on it.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use steer_ground::progress::Progress;
use steer_lab::kernel::{Kernel, Source, Wanted};

use crate::branch::{Seed, Trunk};
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

/// One sample of several that share a guest until they part.
#[derive(Debug)]
pub(crate) struct Branch {
    /// Which guest.
    pub(crate) trunk: usize,
    /// Name in messages.
    pub(crate) name: String,
    /// Its own variables.
    pub(crate) words: Vec<(&'static str, String)>,
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

    /// Runs all tasks, each in a guest of its own. Each has a key; gives `done` what it said, as
    /// they end.
    ///
    /// # Errors
    /// The first failure of a guest or of `done`, or that the budget is used up. The other guests
    /// are then ended.
    pub(crate) fn run<'a, K>(
        &self,
        tasks: impl IntoIterator<Item = (K, Task<'a>)>,
        progress: &Progress,
        done: impl FnMut(K, &str, Said) -> Result<()>,
    ) -> Result<()> {
        self.run_heard(tasks, progress, &mut |_| (), counted(progress, done))
    }

    /// The same; gives `heard` each line of a guest's console as it comes, and leaves it to that to
    /// count what is done.
    pub(crate) fn run_heard<'a, K>(
        &self,
        tasks: impl IntoIterator<Item = (K, Task<'a>)>,
        progress: &Progress,
        heard: &mut dyn FnMut(&str),
        done: impl FnMut(K, &str, Said) -> Result<()>,
    ) -> Result<()> {
        let job = |(key, task): (K, Task<'a>)| Job {
            key,
            name: task.name.clone(),
            how: How::Boots(task),
        };
        let waiting = tasks.into_iter().map(job).collect();
        Run { bench: self, trunks: Vec::new(), waiting, running: Vec::new() }
            .finish(progress, heard, done)
    }

    /// Runs all branches of these guests, each of which boots once. Otherwise as [`Self::run`].
    ///
    /// # Errors
    /// As [`Self::run`].
    pub(crate) fn run_branches<K>(
        &self,
        trunks: Vec<Task<'_>>,
        branches: Vec<(K, Branch)>,
        progress: &Progress,
        done: impl FnMut(K, &str, Said) -> Result<()>,
    ) -> Result<()> {
        let job = |(key, Branch { trunk, name, words })| Job {
            key,
            name,
            how: How::Copies { trunk, words, seed: None },
        };
        let waiting = branches.into_iter().map(job).collect();
        let trunks = trunks.into_iter().map(|task| (task, None)).collect();
        Run { bench: self, trunks, waiting, running: Vec::new() }.finish(
            progress,
            &mut |_| (),
            counted(progress, done),
        )
    }
}

/// `done`, and a step of the progress for each sample.
fn counted<K>(
    progress: &Progress,
    mut done: impl FnMut(K, &str, Said) -> Result<()>,
) -> impl FnMut(K, &str, Said) -> Result<()> {
    move |key, name, said| {
        done(key, name, said)?;
        progress.advance();
        Ok(())
    }
}

/// A sample that waits.
struct Job<'a, K> {
    key: K,
    name: String,
    how: How<'a>,
}

/// How a sample gets its guest.
enum How<'a> {
    /// It boots one.
    Boots(Task<'a>),
    /// It is a copy of this trunk, and has a seed once that boots.
    Copies { trunk: usize, words: Vec<(&'static str, String)>, seed: Option<Seed> },
}

/// What can be done next.
enum Next {
    /// Boot this trunk.
    Boot(usize),
    /// Begin the sample in this place.
    Begin(usize),
}

/// A sample that runs.
struct Sample<K> {
    key: K,
    name: String,
    guest: Guest,
    trunk: Option<usize>,
}

/// All that runs or is to run.
struct Run<'a, K> {
    bench: &'a Bench,
    /// Guests of which others are copies, once they boot.
    trunks: Vec<(Task<'a>, Option<Trunk>)>,
    waiting: Vec<Job<'a, K>>,
    running: Vec<Sample<K>>,
}

impl<K> Run<'_, K> {
    fn finish(
        mut self,
        progress: &Progress,
        heard: &mut dyn FnMut(&str),
        mut done: impl FnMut(K, &str, Said) -> Result<()>,
    ) -> Result<()> {
        while !(self.waiting.is_empty() && self.running.is_empty()) {
            while self.running.len() + self.booting()? < self.bench.at_once
                && let Some(next) = self.next()
            {
                match next {
                    Next::Boot(trunk) => self.boot(trunk, progress)?,
                    Next::Begin(at) => self.begin(at, progress)?,
                }
            }
            let mut at = 0;
            while at < self.running.len() {
                let guest = &mut self.running[at].guest;
                let ended = guest.ended();
                guest.heard()?.iter().for_each(|line| heard(line));
                match ended? {
                    Some(said) => {
                        let Sample { key, name, .. } = self.running.swap_remove(at);
                        done(key, &name, said)?;
                        self.fell();
                    }
                    None => at += 1,
                }
            }
            if self.bench.started.elapsed() > self.bench.budget
                && let Some(longest) = self.longest()
            {
                return Err(longest.stop(self.bench.budget));
            }
            thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Trunks that boot: one whose copies can begin leaves the CPU alone.
    fn booting(&mut self) -> Result<usize> {
        self.trunks
            .iter_mut()
            .filter_map(|(_, trunk)| trunk.as_mut())
            .try_fold(0, |sum, trunk| Ok(sum + usize::from(!trunk.look()?)))
    }

    fn next(&self) -> Option<Next> {
        self.waiting.iter().enumerate().find_map(|(at, job)| match &job.how {
            How::Boots(_) => Some(Next::Begin(at)),
            How::Copies { trunk, .. } => match &self.trunks[*trunk].1 {
                None => Some(Next::Boot(*trunk)),
                Some(trunk) => trunk.is_ready().then_some(Next::Begin(at)),
            },
        })
    }

    fn boot(&mut self, trunk: usize, progress: &Progress) -> Result<()> {
        let (task, place) = &mut self.trunks[trunk];
        progress.step(format!("{}: boots", task.name));
        let mut seeds = Vec::new();
        for job in &mut self.waiting {
            if let How::Copies { trunk: of, words, seed } = &mut job.how
                && *of == trunk
            {
                seeds.push(&*seed.insert(Seed::new(words, task.profile)?));
            }
        }
        *place = Some(Trunk::start(task, seeds, &self.bench.tools, &self.bench.kernel)?);
        Ok(())
    }

    /// Ends trunks of which no sample waits or runs.
    fn fell(&mut self) {
        let Self { waiting, running, .. } = self;
        for (at, (_, place)) in self.trunks.iter_mut().enumerate() {
            let waits =
                |job: &Job<'_, K>| matches!(job.how, How::Copies { trunk, .. } if trunk == at);
            if !waiting.iter().any(waits) && !running.iter().any(|it| it.trunk == Some(at)) {
                *place = None;
            }
        }
    }

    fn begin(&mut self, at: usize, progress: &Progress) -> Result<()> {
        let Job { key, name, how } = self.waiting.remove(at);
        progress.step(name.clone());
        let (guest, trunk) = match how {
            How::Boots(task) => (Guest::start(&task, &self.bench.tools, &self.bench.kernel)?, None),
            How::Copies { trunk: at, seed, .. } => {
                let (trunk, seed) = self.trunks[at].1.as_ref().zip(seed).context("no trunk")?;
                (trunk.branch(name.clone(), seed)?, Some(at))
            }
        };
        self.running.push(Sample { key, name, guest, trunk });
        Ok(())
    }

    /// Takes the guest that has run for longest.
    fn longest(&mut self) -> Option<Guest> {
        let booting =
            self.trunks.iter_mut().filter_map(|(_, place)| place.take_if(|it| !it.is_ready()));
        let running = self.running.drain(..).map(|sample| sample.guest);
        running.chain(booting.map(Trunk::into_guest)).max_by_key(Guest::age)
    }
}
