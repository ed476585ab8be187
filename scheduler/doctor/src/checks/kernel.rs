//! Whether the running kernel takes a sched_ext scheduler at all.

use crate::case::{Case, Checked};
use crate::host::Host;
use crate::needs::{self, SCHED_EXT, isolated};
use crate::row::{Area, Row, Severity};

/// The first kernel with all that scx_steer uses.
const OLDEST: (u32, u32) = (6, 12);

const RELEASE: &str = "proc/sys/kernel/osrelease";
const JIT: &str = "proc/sys/net/core/bpf_jit_enable";
const LOCKDOWN_FILE: &str = "sys/kernel/security/lockdown";

pub(crate) const NO_SCHED_EXT: Row = Row {
    id: "no-sched-ext",
    area: Area::Load,
    severity: Severity::Error,
    title: "The kernel has no sched_ext, or is older than 6.12.",
    looks: "/proc/sys/kernel/osrelease, and whether there is /sys/kernel/sched_ext. The folder shows \
            it also where the kernel's configuration cannot be read.",
    why: "scx_steer is a sched_ext scheduler. Boot a kernel built with CONFIG_SCHED_CLASS_EXT=y, 6.12 \
          or later; `uname -r` shows the one that runs. `scx_steer observe` and `scx_steer nic` work \
          without.",
    source: "Documentation/scheduler/sched-ext.rst",
    fix: "",
    undo: "",
    check: |host| {
        let there = host.root.exists(SCHED_EXT);
        let found = !there || host.kernel()? < OLDEST;
        let case = Case::host()
            .saw(RELEASE, host.release()?)
            .saw(SCHED_EXT, if there { "there" } else { "absent" });
        Ok(found.then_some(case).into_iter().collect())
    },
};

pub(crate) const PREEMPT_RT: Row = Row {
    id: "preempt-rt",
    area: Area::Load,
    severity: Severity::Error,
    title: "The kernel is a real-time kernel (PREEMPT_RT).",
    looks: "/sys/kernel/realtime: 1 on such a kernel.",
    why: "A real-time kernel refuses sched_ext schedulers with EOPNOTSUPP, although it has \
          /sys/kernel/sched_ext. Boot a kernel of the same version without PREEMPT_RT.",
    source: "kernel/sched/ext.c",
    fix: "",
    undo: "",
    check: |host| switched(host, needs::REALTIME, "1", Case::host()),
};

pub(crate) const ISOLATED: Row = Row {
    id: "cpus-isolated-at-boot",
    area: Area::Load,
    severity: Severity::Error,
    title: "CPUs were isolated from the scheduler at boot (isolcpus=).",
    looks: "/sys/devices/system/cpu/isolated: the CPUs, if there are any.",
    why: "The kernel then refuses every sched_ext scheduler with EINVAL. Take `isolcpus=` from the \
          kernel's command line, and boot again; a policy with an exclusive pool keeps other threads \
          off CPUs too (`scx_steer policy example`).",
    source: "kernel/sched/ext.c: Not compatible with \"isolcpus=\" domain isolation",
    fix: "",
    undo: "",
    check: |host| {
        let Some(cpus) = isolated(&host.root)? else { return Ok(Vec::new()) };
        Ok(vec![Case::host().saw(needs::ISOLATED, cpus)])
    },
};

pub(crate) const JIT_OFF: Row = Row {
    id: "bpf-jit-off",
    area: Area::Load,
    severity: Severity::Error,
    title: "The BPF compiler is switched off.",
    looks: "/proc/sys/net/core/bpf_jit_enable: 0 is off.",
    why: "sched_ext operations must be compiled: without, loading fails with error 524 (ENOTSUPP).",
    source: "Documentation/admin-guide/sysctl/net.rst, bpf_jit_enable",
    fix: "sudo sysctl net.core.bpf_jit_enable=1",
    undo: "sudo sysctl net.core.bpf_jit_enable=0",
    check: |host| switched(host, JIT, "0", Case::host()),
};

pub(crate) const LOCKDOWN: Row = Row {
    id: "lockdown",
    area: Area::Load,
    severity: Severity::Error,
    title: "The kernel is locked down for confidentiality.",
    looks: "/sys/kernel/security/lockdown: the mode in brackets.",
    why: "In this mode BPF programs may not read kernel memory, so the telemetry does not load. The \
          mode `integrity` is no problem. The mode cannot be lowered while the kernel runs: take \
          `lockdown=confidentiality` from its command line, or switch Secure Boot's policy off.",
    source: "man 7 kernel_lockdown",
    fix: "",
    undo: "",
    check: |host| {
        let Some(modes) = host.root.text(LOCKDOWN_FILE)? else { return Ok(Vec::new()) };
        let found = modes.contains("[confidentiality]");
        Ok(found.then(|| Case::host().saw(LOCKDOWN_FILE, &modes)).into_iter().collect())
    },
};

/// Finds a file that has this value.
fn switched(host: &Host, path: &str, value: &str, case: Case) -> Checked {
    let found = host.root.text(path)?.is_some_and(|text| text == value);
    Ok(found.then(|| case.saw(path, value)).into_iter().collect())
}
