//! Everything that can go wrong here, each with what was tried and the next step.

use std::io;
use std::path::PathBuf;

use crate::setting::Setting;

/// Why host steering did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The machine itself cannot be read.
    #[error(transparent)]
    Topology(#[from] steer_topology::Error),
    /// No interface of this name.
    #[error("there is no network interface {name} here; there are: {}", known.join(", "))]
    NoInterface {
        /// The name asked for.
        name: String,
        /// Those that exist.
        known: Vec<String>,
    },
    /// The kernel did not tell or take a setting.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// The journal cannot be kept, so nothing is changed.
    #[error("cannot keep the journal {}: {cause}; nothing was changed", path.display())]
    Journal {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// The journal is damaged.
    #[error(
        "the journal {} is damaged ({why}); nothing was changed. The old values in it are \
         lost: check the settings (scx_steer nic status), then move the file away",
        path.display()
    )]
    DamagedJournal {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Another instance is at work.
    #[error("another scx_steer{} changes host settings or keeps them in force; wait until it ends, or stop it", in_brackets(*pid))]
    Busy {
        /// Its process number, where known.
        pid: Option<u32>,
    },
    /// A setting has changed since the plan read it.
    #[error("{setting} changed while this was planned; nothing was changed, try again")]
    Raced {
        /// The setting.
        setting: Setting,
    },
    /// Another program has set this since.
    #[error(
        "another program changed {setting}: scx_steer had set it, and it is {now} now. Nothing was \
         changed; find out which program sets it, then run: scx_steer nic restore"
    )]
    Foreign {
        /// The setting.
        setting: Setting,
        /// Its present value.
        now: String,
    },
    /// The journal holds changes that were interrupted during a change of channels.
    #[error("earlier changes were interrupted; put them back first: scx_steer nic restore")]
    Interrupted,
    /// A change failed and all changes before it were put back.
    #[error("{fault}; what had been changed before was put back")]
    RolledBack {
        /// The change that failed.
        fault: Fault,
    },
    /// A change failed, and so did putting something back.
    #[error("{fault}; not put back: {}; try again with: scx_steer nic restore", left.join("; "))]
    RollbackFailed {
        /// The change that failed.
        fault: Fault,
        /// What could not be put back.
        left: Vec<String>,
    },
    /// Asked to stop half-way (tests).
    #[error("stopped after step {0}")]
    Stopped(u32),
}

fn in_brackets(pid: Option<u32>) -> String {
    pid.map_or(String::new(), |pid| format!(" (process {pid})"))
}

/// The kernel refused to tell or to take a setting.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what}: {}", explain(cause))]
pub struct Fault {
    /// What was tried, such as "set eth0 rx-0 IRQ affinity to 2".
    pub what: String,
    /// What the system said.
    pub cause: io::Error,
}

impl Fault {
    /// `what` failed with `cause`.
    pub fn new(what: impl Into<String>, cause: io::Error) -> Fault {
        Fault { what: what.into(), cause }
    }

    /// Whether the same may work a moment later (kernel/irq/proc.c, drivers).
    pub fn is_transient(&self) -> bool {
        matches!(self.cause.raw_os_error(), Some(libc::EAGAIN | libc::EBUSY | libc::ENOMEM))
    }
}

/// The system's words, and what these mean here where they say too little.
fn explain(error: &io::Error) -> String {
    let meaning = match error.raw_os_error() {
        Some(libc::EROFS) => "the file system is read-only, as in a container",
        Some(libc::EACCES) => "no permission; run it as root (sudo)",
        Some(libc::EPERM) => {
            "not permitted: run it as root (sudo), with CAP_SYS_NICE for threads of NAPI; a managed \
             interrupt never moves"
        }
        Some(libc::EIO) => "the kernel does not let this interrupt move",
        Some(libc::ENOSPC) => "no interrupt vector or memory is left",
        Some(libc::EOPNOTSUPP) => "the driver cannot do it",
        _ => return error.to_string(),
    };
    meaning.to_owned()
}
