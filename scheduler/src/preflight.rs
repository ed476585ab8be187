//! Checks what a command needs from the host before anything is loaded. Reports every missing
//! thing at once, each with the next step.

use std::path::Path;

use anyhow::{Result, bail};

/// What a command needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Need {
    /// To load tracing programs.
    Tracing,
    /// To load a sched_ext scheduler.
    SchedExt,
}

/// Checks this host.
///
/// # Errors
/// One message that lists everything that is missing.
pub(crate) fn check(need: Need) -> Result<()> {
    let missing = match need {
        Need::Tracing => steer_doctor::missing_for_tracing(Path::new("/")),
        Need::SchedExt => steer_doctor::missing_for_sched_ext(Path::new("/")),
    };
    match &missing[..] {
        [] if !steer_bpf::may_call_bpf() => bail!(
            "a seccomp filter forbids bpf(2) to this process, although it has the capabilities: \
             allow it (systemd: SystemCallFilter=bpf; Kubernetes: the pod's seccompProfile)"
        ),
        [] => Ok(()),
        [one] => bail!("{one}"),
        many => bail!("this host lacks {} things:\n  - {}", many.len(), many.join("\n  - ")),
    }
}

/// Name of the sched_ext scheduler in force on this host.
pub(crate) fn in_force() -> Option<String> {
    steer_doctor::in_force(Path::new("/"))
}
