//! Flags that signals raise.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// Raised by a signal.
#[derive(Clone, Debug)]
pub(crate) struct Flag(Arc<AtomicBool>);

impl Flag {
    /// Raised by any of `signals`, which from now on do nothing else.
    fn on(signals: &[i32]) -> Result<Self> {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in signals {
            signal_hook::flag::register(*signal, flag.clone())
                .with_context(|| format!("installing a handler for signal {signal}"))?;
        }
        Ok(Self(flag))
    }

    /// Whether it has been raised.
    pub(crate) fn raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Whether it has been raised since the last call.
    pub(crate) fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

/// Raised when the program is to end: by SIGINT or SIGTERM.
pub(crate) fn on_shutdown() -> Result<Flag> {
    Flag::on(&[SIGINT, SIGTERM])
}

/// Raised when the policy is to be loaded anew: by SIGHUP.
pub(crate) fn on_reload() -> Result<Flag> {
    Flag::on(&[SIGHUP])
}
