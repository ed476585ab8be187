//! What the microbenchmarks print (`guest/calibrate.c`): a line of JSON each. Times are nanoseconds
//! of the guest's clock unless a name says otherwise.

use serde::Deserialize;

/// One measurement.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "test", rename_all = "lowercase")]
pub(super) enum Measured {
    /// CPUs that count down at once, and the time of each.
    Spin { ns: Vec<f64> },
    /// Sleeps, and what they took on average.
    Sleep { us: f64, mean_us: f64 },
    /// A load that waits for the one before.
    Chase { cpu: usize, node: usize, kib: usize, ns: f64 },
    /// A load that waits for the one before, of a line that another CPU's L2 has.
    Shared { peer: usize, ns: f64 },
    /// A load that waits for none.
    Gather { node: usize, ns: f64 },
    /// Loads in order, by so many CPUs together.
    Stream { threads: usize, node: usize, gbs: f64 },
    /// Stores in order.
    Write { node: usize, gbs: f64 },
    /// A line that two CPUs write in turns, a round.
    Bounce { cpus: [usize; 2], ns: f64 },
    /// Two threads that wake each other, a round.
    Pipe { cpus: [usize; 2], ns: f64 },
    /// The shortest system call.
    Syscall { ns: f64 },
}
