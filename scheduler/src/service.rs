//! Tells a service manager (systemd) that the program is ready, and that its loop still turns.
//! Without one this does nothing.

use std::time::{Duration, Instant};

use log::debug;
use sd_notify::NotifyState;

/// The service manager's view of this program.
#[derive(Debug)]
pub(crate) struct Service {
    /// The manager kills the program if it hears nothing for this long. `None` if it never does.
    watchdog: Option<Duration>,
    fed: Instant,
    ready: bool,
}

impl Service {
    pub(crate) fn new() -> Self {
        Self { watchdog: sd_notify::watchdog_enabled(), fed: Instant::now(), ready: false }
    }

    /// The program does its work from now on; `status` says so in words.
    pub(crate) fn ready(&mut self, status: &str) {
        if self.ready {
            return;
        }
        self.ready = true;
        tell(&[NotifyState::Ready, NotifyState::Status(status)]);
    }

    /// Whether [`Service::ready`] was ever called.
    pub(crate) fn was_ready(&self) -> bool {
        self.ready
    }

    /// The loop has turned. Told four times in the manager's patience, not at each turn.
    pub(crate) fn alive(&mut self) {
        if self.watchdog.is_some_and(|patience| self.fed.elapsed() >= patience / 4) {
            self.fed = Instant::now();
            tell(&[NotifyState::Watchdog]);
        }
    }

    /// The program ends because it was asked to.
    pub(crate) fn stopping(&self) {
        tell(&[NotifyState::Stopping]);
    }
}

fn tell(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        debug!("the service manager cannot be told: {error}");
    }
}
