//! Checks what a command needs from the host before anything is loaded. Reports every missing
//! thing at once, each with the next step.

use std::path::Path;

use anyhow::{Result, bail};
use log::warn;

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
        Need::SchedExt => {
            let mut missing = steer_doctor::missing_for_sched_ext(Path::new("/"));
            missing.extend(core_scheduling());
            missing
        }
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

/// What is wrong if programs use core scheduling and the kernel can hang by that. If none was seen to use
/// it, this is a warning.
fn core_scheduling() -> Option<String> {
    let users = steer_doctor::core_scheduling_users()?;
    if users.is_empty() {
        warn!(
            "this kernel can hang if a program uses core scheduling: \
             `scx_steer doctor --explain core-scheduling-hangs`"
        );
        return None;
    }
    Some(format!(
        "this kernel can hang under sched_ext while programs use core scheduling: stop {} \
         (`scx_steer doctor --explain core-scheduling-in-use`)",
        users.join(", ")
    ))
}

/// Name of the sched_ext scheduler in force on this host.
pub(crate) fn in_force() -> Option<String> {
    steer_doctor::in_force(Path::new("/"))
}
