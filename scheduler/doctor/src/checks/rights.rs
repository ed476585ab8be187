//! Whether this process, or one started by sudo, may load BPF programs.

use crate::case::{Case, Unchecked};
use crate::host::Host;
use crate::needs::lacking_capabilities;
use crate::row::{Area, Row, Severity};

const STATUS: &str = "proc/self/status";
const USERS: &str = "proc/self/uid_map";

pub(crate) const BOUNDED: Row = Row {
    id: "capabilities-out-of-reach",
    area: Area::Load,
    severity: Severity::Error,
    title: "No process here can have the capabilities that loading needs, not even root.",
    looks: "CapBnd in /proc/self/status: CAP_BPF and CAP_PERFMON; and \
            /proc/self/uid_map, which shows a user namespace.",
    why: "Containers and services often run with fewer capabilities than the host, and capabilities \
          of a user namespace do not count for BPF. Run scx_steer on the host, or give the container \
          these capabilities.",
    source: "man 7 capabilities, CAP_BPF and CAP_PERFMON",
    fix: "",
    undo: "",
    check: |host| {
        let mut case = Case::host();
        let lacking = lacking(host, "CapBnd")?;
        if !lacking.is_empty() {
            case = case.saw(STATUS, format!("CapBnd without {}", lacking.join(", ")));
        }
        let users = host.root.text(USERS)?.unwrap_or_default();
        // the first namespace maps all numbers to themselves
        let first: Vec<&str> = users.split_whitespace().collect();
        if !users.is_empty() && first != ["0", "0", "4294967295"] {
            case = case.saw(USERS, users.replace('\n', "; "));
        }
        Ok((!case.evidence.is_empty()).then_some(case).into_iter().collect())
    },
};

pub(crate) const NOT_ROOT: Row = Row {
    id: "not-root",
    area: Area::Load,
    severity: Severity::Note,
    title: "This user may not load BPF programs; root may.",
    looks: "CapEff in /proc/self/status.",
    why: "Loading needs CAP_BPF and CAP_PERFMON: run scx_steer with sudo, or as a \
          service.",
    source: "man 7 capabilities, CAP_BPF and CAP_PERFMON",
    fix: "",
    undo: "",
    check: |host| {
        let effective = lacking(host, "CapEff")?;
        let reachable = lacking(host, "CapBnd")?.is_empty();
        let case = || Case::host().saw(STATUS, format!("CapEff without {}", effective.join(", ")));
        Ok((reachable && !effective.is_empty()).then(case).into_iter().collect())
    },
};

fn lacking(host: &Host, set: &str) -> Result<Vec<&'static str>, Unchecked> {
    let unread = || Unchecked(format!("/{STATUS} has no {set}"));
    lacking_capabilities(&host.root, set).ok_or_else(unread)
}
