//! Asks the running instance, at most once a second, and keeps its answer.

use std::{
    path::PathBuf,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use anyhow::Result;
use log::warn;
use scx_stats::prelude::*;

use super::Totals;
use crate::preflight;

/// How long an answer is served. More scrapers cost the scheduler nothing.
const FRESH: Duration = Duration::from_secs(1);
/// How long the running instance may take to answer.
const PATIENCE_MS: u64 = 2000;

/// What is known of the running instance.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// Whether the kernel says that scx_steer is in force.
    pub(super) in_force: bool,
    /// What the instance answered; `None` if it did not.
    pub(super) totals: Option<Totals>,
}

/// The running instance, as seen from here.
#[derive(Debug)]
pub(super) struct Daemon {
    socket: PathBuf,
    last: Mutex<Option<(Instant, Seen)>>,
    /// Why it did not answer last. The log repeats it only when it changes.
    complaint: Mutex<Option<String>>,
}

impl Daemon {
    /// The instance that listens on `socket`.
    pub(super) fn new(socket: PathBuf) -> Self {
        Self { socket, last: Mutex::default(), complaint: Mutex::default() }
    }

    /// What is known, no older than a second.
    pub(super) fn see(&self) -> Seen {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((when, seen)) = &*last
            && when.elapsed() < FRESH
        {
            return seen.clone();
        }
        let in_force = preflight::in_force().is_some_and(|name| name.starts_with("scx_steer"));
        let asked = self.ask();
        self.complain(asked.as_ref().err().map(|error| format!("{error:#}")), in_force);
        let seen = Seen { in_force, totals: asked.ok() };
        *last = Some((Instant::now(), seen.clone()));
        seen
    }

    fn ask(&self) -> Result<Totals> {
        let target = ("target".to_owned(), "totals".to_owned());
        StatsClient::new()
            .set_path(&self.socket)
            .connect(Some(PATIENCE_MS))?
            .request("stats", vec![target])
    }

    fn complain(&self, why: Option<String>, in_force: bool) {
        let mut complaint = self.complaint.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(why) = why.as_ref().filter(|why| complaint.as_ref() != Some(why)) {
            let force = if in_force { "is in force, but" } else { "is not in force:" };
            warn!("scx_steer {force} {} gives no answer: {why}", self.socket.display());
        }
        *complaint = why;
    }
}
