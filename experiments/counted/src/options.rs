//! The options of a run of the deterministic tier.

use steer_ground::cpus::CpuList;
use steer_ground::word::Word;
use steer_lab::guest::GuestOptions;

/// Name of the kernel's own scheduler.
pub(super) const DEFAULT: &str = "default";

/// Name of the kernel's own scheduler with the server's threads pinned by hand.
pub(super) const PINNED: &str = "pinned";

/// One run.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// Seed of the run: shifts the start against the timer ticks, and chooses the source ports.
    pub seed: u32,
    /// The scheduler: scx_steer, default (the kernel's own), pinned (the kernel's own, with the
    /// server's threads pinned by hand: long flows near the NIC, RPCs elsewhere), or a program
    /// added by --with.
    pub scheduler: String,
    /// What runs in the guest.
    pub workload: Workload,
    /// The CPUs of the cpuset in which the workload runs; all if there is none.
    pub cpus: Option<CpuList>,
    /// Whether to report also what each BPF program costs, from the kernel's bpf_stats.
    pub bpf_stats: bool,
    /// What watches the scheduler meanwhile.
    pub watchers: Vec<Watcher>,
    /// The guest.
    pub guest: GuestOptions,
}

/// What an operator runs beside a scheduler, to see what it does. Each is a function of `det.sh`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watcher {
    /// `scx_steer --monitor`.
    Stats,
    /// `scx_steer metrics`.
    Metrics,
    /// `scx_steer top`, with its own tracepoints.
    Top,
}

impl Word for Watcher {
    const ALL: &'static [Self] = &[Self::Stats, Self::Metrics, Self::Top];

    fn word(self) -> &'static str {
        match self {
            Self::Stats => "stats",
            Self::Metrics => "metrics",
            Self::Top => "top",
        }
    }
}

/// What runs in the guest. Each is a function of `det.sh`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workload {
    /// Long flows, RPCs and a hog per node, from one NIC of the guest to the other.
    Traffic,
    /// As traffic, without long flows: the instructions of an RPC where there is nothing to steer.
    Rpcs,
    /// As traffic, with three more hogs per CPU, some of them nice: how long a thread must wait.
    Overload,
    /// Two processes that wake each other: the instructions of one loop, that is, two wake-ups.
    Pipe,
    /// As pipe, while 200 threads wait that may use the first two CPUs only: what their waiting
    /// costs the others.
    Bound,
}

impl Word for Workload {
    const ALL: &'static [Self] =
        &[Self::Traffic, Self::Rpcs, Self::Overload, Self::Pipe, Self::Bound];

    fn word(self) -> &'static str {
        match self {
            Self::Traffic => "traffic",
            Self::Rpcs => "rpcs",
            Self::Overload => "overload",
            Self::Pipe => "pipe",
            Self::Bound => "bound",
        }
    }
}

impl Workload {
    /// Does it count wake-ups without a network?
    pub(super) fn is_pipe(self) -> bool {
        matches!(self, Self::Pipe | Self::Bound)
    }

    /// The reports to print without `--json`.
    pub(super) fn main_reports(self) -> &'static [&'static str] {
        match self {
            Self::Traffic | Self::Rpcs => &["observe", "instructions"],
            Self::Overload => &["hogs"],
            Self::Pipe | Self::Bound => &["pipe"],
        }
    }
}
