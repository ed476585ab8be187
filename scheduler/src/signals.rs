//! Flags that signals raise.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGPIPE, SIGTERM},
    flag,
};

/// A flag that a signal raises.
#[derive(Clone, Debug)]
pub(crate) struct Flag(Arc<AtomicBool>);

impl Flag {
    /// A flag that any of `signals` raises. From now on these signals do nothing else.
    fn on(signals: &[i32]) -> Result<Self> {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in signals {
            flag::register(*signal, flag.clone())
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

/// A flag that asks the program to end: SIGINT or SIGTERM.
pub(crate) fn on_shutdown() -> Result<Flag> {
    Flag::on(&[SIGINT, SIGTERM])
}

/// A flag that asks to reload the policy: SIGHUP.
pub(crate) fn on_reload() -> Result<Flag> {
    Flag::on(&[SIGHUP])
}

/// Lets the program end, as other tools do, once the reader of what it prints has gone, such as
/// `head`. By default Rust ignores SIGPIPE, and printing panics. Only for commands that have nothing
/// to undo.
pub(crate) fn end_without_reader() -> Result<()> {
    flag::register_conditional_default(SIGPIPE, Arc::new(AtomicBool::new(true)))
        .context("installing a handler for SIGPIPE")?;
    Ok(())
}

/// Sleeps for `time`, or until a signal arrives.
pub(crate) fn wait(time: Duration, shutdown: &Flag) {
    let start = Instant::now();
    while !shutdown.raised()
        && let Some(left) = time.checked_sub(start.elapsed())
    {
        thread::sleep(left.min(Duration::from_millis(100)));
    }
}
