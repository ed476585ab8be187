//! The phase of the run, which the measuring thread sets and the traffic threads follow.

use std::sync::atomic::{AtomicU8, Ordering};

/// What the traffic counts as right now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Phase {
    /// Traffic flows but isn't counted.
    WarmUp,
    /// RPCs that begin now count.
    Measure,
    /// Nothing begins any more; what is outstanding is waited for.
    Drain,
}

/// The phase as shared by all threads.
#[derive(Debug, Default)]
pub(super) struct PhaseCell(AtomicU8);

impl PhaseCell {
    /// Enters a phase.
    pub(super) fn enter(&self, phase: Phase) {
        self.0.store(phase as u8, Ordering::Release);
    }

    /// The phase of this moment.
    pub(super) fn now(&self) -> Phase {
        match self.0.load(Ordering::Acquire) {
            0 => Phase::WarmUp,
            1 => Phase::Measure,
            _ => Phase::Drain,
        }
    }
}
