//! The host itself as the measured machine: what the agent does in a guest, done in this process.
//! Its programs die with it, and end when it is interrupted.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;

use super::agent;
use super::jobs::Jobs;
use super::protocol::{Reply, Request};
use crate::traffic::stop::Stop;

/// For a program to end by itself; a scheduler takes a moment to unload.
const END: Duration = Duration::from_secs(30);

/// This host.
#[derive(Debug)]
pub(crate) struct Here {
    jobs: Jobs,
    /// Programs that are started by their names alone, wherever they are.
    programs: Vec<PathBuf>,
    stop: &'static Stop,
    /// Whether it goes on though the user wants an end.
    pub(super) insists: bool,
}

impl Here {
    /// A host on which these programs are known by their names.
    pub(crate) fn new(programs: Vec<PathBuf>, stop: &'static Stop) -> Self {
        Self { jobs: Jobs::leashed(), programs, stop, insists: false }
    }

    /// Does what a request asks for; fails at once when the user wants an end.
    pub(super) fn answer(&self, request: &Request) -> Result<Reply> {
        let mut request = request.clone();
        if let Request::Spawn { argv, .. } = &mut request
            && let Some(program) = argv.first_mut()
            && let Some(path) = self.programs.iter().find(|path| path.ends_with(&*program))
        {
            *program = path.to_string_lossy().into_owned();
        }
        self.may_go_on()?;
        agent::answer(request, &self.jobs, &mut || self.may_go_on())
    }

    fn may_go_on(&self) -> Result<()> {
        if self.insists { Ok(()) } else { self.stop.not_raised() }
    }

    /// Ends all programs: asks them to, and kills what does not listen.
    pub(super) fn end_all(&self) {
        let running = self.jobs.running();
        for signal in [libc::SIGTERM, libc::SIGKILL] {
            for (_, job) in &running {
                // Fails only if it has ended.
                let _ = job.signal(signal);
            }
            for (_, job) in &running {
                // The wait is bounded; a user in a hurry does not shorten it, as schedulers must go.
                let _ = job.wait(END, &mut || Ok(()));
            }
        }
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        self.end_all();
    }
}
