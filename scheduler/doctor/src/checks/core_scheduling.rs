//! Kernels that hang if core scheduling is used under a sched_ext scheduler.

use crate::case::{Case, Checked};
use crate::host::Host;
use crate::row::{Area, Row, Severity};

const LOOKS: &str = "The kernel's answer to prctl PR_SCHED_CORE_GET for each thread, its release, and whether its \
          /sys/kernel/btf/vmlinux has `lock_drop_seq`, which the repair has added.";
const SOURCE: &str = "sched-ext/scx issue 3715; Linux commits 4c95380701f5 (6.19), f2da9587118d and d954004205c1 (7.3)";

pub(crate) const USED: Row = Row {
    id: "core-scheduling-in-use",
    area: Area::Load,
    severity: Severity::Error,
    title: "Programs use core scheduling, with which this kernel can hang.",
    looks: LOOKS,
    why: "Since Linux 6.19, a thread with a core scheduling cookie can hang the whole host if it runs \
          under a sched_ext scheduler, whichever that is, on a machine with SMT. So scx_steer does not \
          load. Stop the programs, or start them without: `cloud-hypervisor --cpus \
          core_scheduling=off`. Or boot Linux 7.3, a newer 7.2, or 6.18.",
    source: SOURCE,
    fix: "",
    undo: "",
    check: |host| cases(host, true),
};

pub(crate) const HANGS: Row = Row {
    id: "core-scheduling-hangs",
    area: Area::Load,
    severity: Severity::Warning,
    title: "This kernel can hang if a program uses core scheduling.",
    looks: LOOKS,
    why: "Since Linux 6.19, a thread with a core scheduling cookie can hang the whole host if it runs \
          under a sched_ext scheduler, whichever that is, on a machine with SMT. No program was \
          seen to use it (without root, not all are seen). Some that run virtual machines do: \
          `cloud-hypervisor` unless told otherwise. Do not start one while scx_steer is loaded, or \
          boot Linux 7.3, a newer 7.2, or 6.18.",
    source: SOURCE,
    fix: "",
    undo: "",
    check: |host| cases(host, false),
};

/// A kernel that can hang, with or without programs that use it.
fn cases(host: &Host, used: bool) -> Checked {
    let Some(users) = host.facts.core_scheduling.as_ref().filter(|it| it.is_empty() != used) else {
        return Ok(Vec::new());
    };
    let users = if used { users.join(", ") } else { "none".into() };
    let case = Case::host().saw("proc/sys/kernel/osrelease", host.release()?);
    Ok(vec![case.asked("programs seen to use core scheduling", users)])
}
