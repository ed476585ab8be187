//! Other sched_ext schedulers: only one can be loaded.

use crate::case::Case;
use crate::needs::loaded;
use crate::row::{Area, Row, Severity};

/// Units that load another sched_ext scheduler (github.com/sched-ext/scx).
const UNITS: [&str; 2] = ["scx.service", "scx_loader.service"];
const SYSTEMD: &str = "etc/systemd/system";

pub(crate) const LOADED: Row = Row {
    id: "other-scheduler-loaded",
    area: Area::Load,
    severity: Severity::Error,
    title: "Another sched_ext scheduler is loaded.",
    looks: "/sys/kernel/sched_ext/state and root/ops.",
    why: "The kernel takes one sched_ext scheduler at a time. Stop the other one: its service, or the \
          program that loaded it.",
    source: "Documentation/scheduler/sched-ext.rst",
    fix: "sudo systemctl stop scx.service scx_loader.service",
    undo: "sudo systemctl start {unit}",
    check: |host| {
        let Some((name, state)) = loaded(&host.root) else { return Ok(Vec::new()) };
        if name.starts_with("scx_steer") {
            return Ok(Vec::new());
        }
        let unit = if host.root.exists("etc/scx_loader.toml") { UNITS[1] } else { UNITS[0] };
        let case = Case::of(&name)
            .saw("sys/kernel/sched_ext/state", state)
            .saw("sys/kernel/sched_ext/root/ops", &name)
            .with("unit", unit);
        Ok(vec![case])
    },
};

pub(crate) const ENABLED: Row = Row {
    id: "other-scheduler-enabled",
    area: Area::Load,
    severity: Severity::Warning,
    title: "A service that loads another sched_ext scheduler is enabled.",
    looks: "scx.service and scx_loader.service in the .wants folders of /etc/systemd/system.",
    why: "At the next boot, whichever service starts first wins, and the other fails.",
    source: "Documentation/scheduler/sched-ext.rst",
    fix: "sudo systemctl disable --now {unit}",
    undo: "sudo systemctl enable --now {unit}",
    check: |host| {
        let mut found = Vec::new();
        for folder in host.root.names(SYSTEMD)?.iter().filter(|name| name.ends_with(".wants")) {
            for unit in UNITS {
                let path = format!("{SYSTEMD}/{folder}/{unit}");
                if host.root.exists(&path) {
                    found.push(Case::of(unit).saw(path, "there").with("unit", unit));
                }
            }
        }
        Ok(found)
    },
};
