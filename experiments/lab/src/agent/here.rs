//! The host itself as the measured machine: this process does what the agent does in a guest. Its
//! programs die with it, and end when it is interrupted.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;

use super::jobs::Jobs;
use super::protocol::{Reply, Request};
use super::serve as agent;
use steer_ground::cpus::joined;
use steer_ground::stop::Stop;

/// Time for a program to end by itself. A scheduler takes a moment to unload.
const END: Duration = Duration::from_secs(30);

/// This host.
#[derive(Debug)]
pub struct Here {
    jobs: Jobs,
    /// Programs that are started by name only, wherever their files are.
    programs: Vec<PathBuf>,
    /// The CPUs of its programs; `None`: those of this process.
    cpus: Option<String>,
    stop: &'static Stop,
    /// Whether to go on although the user asked to stop.
    pub(super) insists: bool,
}

impl Here {
    /// This host, where these programs can be started by name.
    pub fn new(programs: Vec<PathBuf>, stop: &'static Stop) -> Self {
        Self { jobs: Jobs::leashed(), programs, cpus: None, stop, insists: false }
    }

    /// The same, with its programs on these CPUs.
    pub(crate) fn on(mut self, cpus: &[usize]) -> Self {
        self.cpus = Some(joined(cpus));
        self
    }

    /// Executes a request. Fails at once when the user asked to stop.
    pub(super) fn answer(&self, request: &Request) -> Result<Reply> {
        let mut request = request.clone();
        if let Request::Spawn { argv, .. } = &mut request
            && let Some(program) = argv.first_mut()
            && let Some(path) = self.programs.iter().find(|path| path.ends_with(&*program))
        {
            *program = path.to_string_lossy().into_owned();
        }
        if let (Request::Spawn { argv, .. }, Some(cpus)) = (&mut request, &self.cpus) {
            argv.splice(0..0, ["taskset", "-c", cpus].map(str::to_owned));
        }
        self.may_go_on()?;
        agent::answer(request, &self.jobs, &mut || self.may_go_on())
    }

    fn may_go_on(&self) -> Result<()> {
        if self.insists { Ok(()) } else { self.stop.not_raised() }
    }

    /// Ends all programs: asks them to end, and kills those that do not.
    pub(super) fn end_all(&self) {
        let running = self.jobs.running();
        for signal in [libc::SIGTERM, libc::SIGKILL] {
            for (_, job) in &running {
                // Fails only if the program has ended.
                let _ = job.signal(signal);
            }
            for (_, job) in &running {
                // The wait is bounded. A second Ctrl-C does not shorten it: schedulers must be
                // unloaded.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::Link;

    #[test]
    fn its_programs_get_its_cpus() {
        let stop = Box::leak(Box::new(Stop::never().unwrap()));
        let mut link = Link::here(Here::new(Vec::new(), stop).on(&[0]));
        let allowed = ["grep", "Cpus_allowed_list", "/proc/self/status"];
        let said = link.run(&allowed, Duration::from_secs(20)).unwrap();
        assert_eq!(said.stdout.split_whitespace().last(), Some("0"), "{said:?}");
    }
}
