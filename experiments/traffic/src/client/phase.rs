//! The phase of the run, and which connections are active in it. The measuring thread sets the
//! phase, the traffic threads follow it.

use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;
use std::time::Duration;

/// How often a flow that is silent in a stage checks whether it is active again.
const NAP: Duration = Duration::from_millis(5);

/// How the present traffic is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Traffic flows but is not counted.
    WarmUp,
    /// RPCs that begin now are counted under this stage of the load.
    Measure(u8),
    /// No RPC begins any more. Outstanding replies are awaited.
    Drain,
}

/// The phase as shared by all threads.
#[derive(Debug)]
pub(super) struct PhaseCell {
    /// 0 is the warm-up, 1 and up a stage, the largest number the drain.
    now: AtomicU8,
    /// Active long flows and RPC connections by stage.
    long_flows: Vec<u16>,
    rpc_connections: Vec<u32>,
}

impl PhaseCell {
    const DRAIN: u8 = u8::MAX;

    /// Starts with the warm-up of a run with these numbers in each stage.
    pub(super) fn new(long_flows: Vec<u16>, rpc_connections: Vec<u32>) -> Self {
        Self { now: AtomicU8::new(0), long_flows, rpc_connections }
    }

    /// Enters a phase.
    pub(super) fn enter(&self, phase: Phase) {
        let number = match phase {
            Phase::WarmUp => 0,
            Phase::Measure(stage) => stage + 1,
            Phase::Drain => Self::DRAIN,
        };
        self.now.store(number, Ordering::Release);
    }

    /// The phase of this moment.
    pub(super) fn now(&self) -> Phase {
        match self.now.load(Ordering::Acquire) {
            0 => Phase::WarmUp,
            Self::DRAIN => Phase::Drain,
            number => Phase::Measure(number - 1),
        }
    }

    /// Whether a long flow is active now.
    pub(super) fn flow_goes(&self, index: u16) -> bool {
        self.among(index, &self.long_flows)
    }

    /// Whether an RPC connection is active now.
    pub(super) fn connection_asks(&self, index: u32) -> bool {
        self.among(index, &self.rpc_connections)
    }

    /// Waits until a long flow is active. False when the run is over.
    pub(super) fn wait_for_flow(&self, index: u16) -> bool {
        while !self.flow_goes(index) {
            if self.now() == Phase::Drain {
                return false;
            }
            thread::sleep(NAP);
        }
        true
    }

    /// Whether this index is below the number that is active now.
    fn among<T: PartialOrd>(&self, index: T, by_stage: &[T]) -> bool {
        let stage = match self.now() {
            // The warm-up has the load of the first stage.
            Phase::WarmUp => 0,
            Phase::Measure(stage) => usize::from(stage),
            Phase::Drain => return false,
        };
        by_stage.get(stage).is_some_and(|count| index < *count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stage_has_its_load() {
        let cell = PhaseCell::new(vec![2, 0], vec![1, 3]);
        let load = |phase| {
            cell.enter(phase);
            assert_eq!(cell.now(), phase);
            let flows = (0..9).filter(|&index| cell.flow_goes(index)).count();
            (flows, (0..9).filter(|&index| cell.connection_asks(index)).count())
        };
        assert_eq!(load(Phase::WarmUp), (2, 1));
        assert_eq!(load(Phase::Measure(0)), (2, 1));
        assert_eq!(load(Phase::Measure(1)), (0, 3));
        assert_eq!(load(Phase::Drain), (0, 0));
        assert!(!cell.wait_for_flow(0));
    }
}
