//! The programs that the agent runs. Each has a name and its own process group, and its output is
//! kept.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process_group};

use super::protocol::Finished;
use steer_ground::tool;

/// How often a waiting call reports that it is alive.
const BEAT: Duration = Duration::from_secs(1);
/// How long to collect output after a program's end, from children that it left behind.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// All programs by name. Ended ones stay until their name is used again.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    jobs: Mutex<HashMap<String, Arc<Job>>>,
    leashed: bool,
}

impl Jobs {
    /// Programs that die with the thread that starts them, even by SIGKILL.
    pub(super) fn leashed() -> Self {
        Self { leashed: true, ..Self::default() }
    }

    /// The programs that have not ended.
    pub(super) fn running(&self) -> Vec<(String, Arc<Job>)> {
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let running = jobs.iter().filter(|(_, job)| job.state().status.is_none());
        running.map(|(name, job)| (name.clone(), Arc::clone(job))).collect()
    }

    /// Starts a program.
    pub(super) fn spawn(&self, name: &str, argv: &[String]) -> Result<()> {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let busy = jobs.get(name).is_some_and(|job| job.state().status.is_none());
        ensure!(!busy, "a program named {name} is already running");
        jobs.insert(name.to_owned(), Job::start(argv, self.leashed)?);
        Ok(())
    }

    /// The program with this name.
    pub(super) fn get(&self, name: &str) -> Result<Arc<Job>> {
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.get(name).cloned().with_context(|| format!("no program is named {name}"))
    }
}

/// One program.
#[derive(Debug)]
pub(super) struct Job {
    group: Pid,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    stdout: String,
    stderr: String,
    /// Output streams that are still open.
    open: usize,
    /// `None` while it runs, `Some(None)` if a signal killed it, otherwise its exit code.
    status: Option<Option<i32>>,
}

impl Job {
    fn start(argv: &[String], leashed: bool) -> Result<Arc<Self>> {
        let (program, arguments) = argv.split_first().context("no program given")?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        if leashed {
            tool::die_with_us(&mut command);
        }
        let mut child = command.spawn().with_context(|| format!("starting {program}"))?;
        let stdout = child.stdout.take().context("no standard output")?;
        let stderr = child.stderr.take().context("no standard error")?;
        let job = Arc::new(Self {
            group: Pid::from_child(&child),
            state: Mutex::new(State { open: 2, ..State::default() }),
            changed: Condvar::new(),
        });
        job.collect(stdout, |state| &mut state.stdout)?;
        job.collect(stderr, |state| &mut state.stderr)?;
        let ended = Arc::clone(&job);
        thread::Builder::new().name("wait".to_owned()).spawn(move || {
            let status = child.wait();
            let code = status.ok().and_then(|status| status.code());
            ended.change(|state| state.status = Some(code));
        })?;
        Ok(job)
    }

    /// Reads one of the program's streams to its end.
    fn collect(
        self: &Arc<Self>,
        stream: impl Read + Send + 'static,
        into: fn(&mut State) -> &mut String,
    ) -> Result<()> {
        let job = Arc::clone(self);
        thread::Builder::new().name("output".to_owned()).spawn(move || {
            for line in BufReader::new(stream).split(b'\n').map_while(Result::ok) {
                let line = String::from_utf8_lossy(&line);
                job.change(|state| into(state).extend([&*line, "\n"]));
            }
            job.change(|state| state.open -= 1);
        })?;
        Ok(())
    }

    /// Sends a signal to the program and all processes it started.
    pub(super) fn signal(&self, signal: i32) -> Result<()> {
        let signal = Signal::from_named_raw(signal).context("no such signal")?;
        ensure!(self.state().status.is_none(), "the program has ended already");
        kill_process_group(self.group, signal).context("sending the signal")
    }

    /// Waits until a line of the output starts with `line`.
    pub(super) fn expect(&self, line: &str, timeout: Duration, alive: Alive<'_>) -> Result<()> {
        let said = |state: &State| {
            let mut lines = state.stdout.lines().chain(state.stderr.lines());
            lines.any(|said| said.starts_with(line))
        };
        // After a program's end, the line may still be in its streams until these are read to the
        // end.
        let over = |state: &State| state.status.is_some() && state.open == 0;
        self.wait_until(timeout, alive, |state| said(state) || over(state))?;
        if said(&self.state()) {
            return Ok(());
        }
        let last = self.finished();
        match self.state().status {
            Some(code) => {
                bail!("it ended (code {code:?}) before it printed {line:?}: {}", last.last_words())
            }
            None => bail!("it did not print {line:?} within {timeout:?}: {}", last.last_words()),
        }
    }

    /// Waits until the program has ended. False when the time is up first.
    pub(super) fn wait(&self, timeout: Duration, alive: Alive<'_>) -> Result<bool> {
        let ended = self.wait_until(timeout, &mut *alive, |state| state.status.is_some())?;
        if ended {
            self.wait_until(LAST_WORDS, alive, |state| state.open == 0)?;
        }
        Ok(ended)
    }

    /// How the program ended, if it has, and its output so far.
    pub(super) fn finished(&self) -> Finished {
        let state = self.state();
        Finished {
            code: state.status.flatten(),
            stdout: state.stdout.clone(),
            stderr: state.stderr.clone(),
        }
    }

    /// Waits for `condition`. False when the time is up.
    fn wait_until(
        &self,
        timeout: Duration,
        alive: Alive<'_>,
        condition: impl Fn(&State) -> bool,
    ) -> Result<bool> {
        let deadline = Instant::now() + timeout;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let state = self.state();
            let (state, _) = self
                .changed
                .wait_timeout_while(state, left.min(BEAT), |state| !condition(state))
                .unwrap_or_else(PoisonError::into_inner);
            if condition(&state) {
                return Ok(true);
            }
            drop(state);
            if left <= BEAT {
                return Ok(false);
            }
            alive()?;
        }
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Called once a second during a wait.
pub(super) type Alive<'a> = &'a mut dyn FnMut() -> Result<()>;

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(jobs: &Jobs, script: &str) -> Arc<Job> {
        jobs.spawn("job", &["sh".to_owned(), "-c".to_owned(), script.to_owned()]).unwrap();
        jobs.get("job").unwrap()
    }

    const SOON: Duration = Duration::from_secs(20);

    #[test]
    fn keeps_output_and_exit_code() {
        let job = sh(&Jobs::default(), "echo out; echo err >&2; exit 3");
        assert!(job.wait(SOON, &mut || Ok(())).unwrap());
        let finished = job.finished();
        let expected = Finished { code: Some(3), stdout: "out\n".into(), stderr: "err\n".into() };
        assert_eq!(finished, expected);
        assert_eq!(finished.last_words(), "err");
    }

    #[test]
    fn signals_reach_what_the_program_started() {
        let jobs = Jobs::default();
        let job = sh(&jobs, "sleep 1000 & echo ready; wait");
        job.expect("ready", SOON, &mut || Ok(())).unwrap();
        assert!(jobs.spawn("job", &["true".to_owned()]).is_err(), "the name is taken");
        job.signal(9).unwrap();
        assert!(job.wait(SOON, &mut || Ok(())).unwrap());
        assert_eq!(job.finished().code, None);
    }

    #[test]
    fn says_why_an_expected_line_did_not_come() {
        let job = sh(&Jobs::default(), "echo broken >&2; exit 1");
        let error = job.expect("ready", SOON, &mut || Ok(())).unwrap_err().to_string();
        assert!(error.contains("ended (code Some(1))") && error.contains("broken"), "{error}");
    }

    #[test]
    fn waiting_is_bounded_and_shows_that_it_is_alive() {
        let job = sh(&Jobs::default(), "sleep 1000");
        let mut beats = 0;
        let waited = job.wait(Duration::from_millis(1500), &mut || {
            beats += 1;
            Ok(())
        });
        job.signal(9).unwrap();
        assert!(!waited.unwrap());
        assert_eq!(beats, 1);
    }
}
