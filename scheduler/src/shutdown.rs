//! One flag that SIGINT, SIGTERM and SIGHUP raise.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use anyhow::{Context, Result};

/// Raised when the program should end.
#[derive(Clone, Debug)]
pub(crate) struct Shutdown(Arc<AtomicBool>);

impl Shutdown {
    /// Has it been raised?
    pub(crate) fn requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The flag, from now on raised by signals. Call once.
pub(crate) fn on_signal() -> Result<Shutdown> {
    let flag = Arc::new(AtomicBool::new(false));
    let raised = flag.clone();
    ctrlc::set_handler(move || raised.store(true, Ordering::Relaxed))
        .context("installing the signal handler")?;
    Ok(Shutdown(flag))
}
