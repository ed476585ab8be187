//! Who else sets interrupts and packet steering on this host.

use steer_nic::{Writer, writers};

use crate::case::{Case, Evidence};
use crate::host::Host;
use crate::row::{Area, Row, Severity};

pub(crate) const TWO: Row = Row {
    id: "several-writers",
    area: Area::Host,
    severity: Severity::Warning,
    title: "Several programs or files set interrupts and packet steering.",
    looks: "Processes (irqbalance, tuned and others) and lines in systemd units, .link files and udev \
            rules that set IRQ affinity, channels, RSS, XPS, RPS or RFS.",
    why: "They undo each other's settings, and which holds depends on who wrote last. Keep one.",
    source: "RHEL 7.2 article, Death by Interrupts (irqbalance disabled for measurements)",
    fix: "",
    undo: "",
    check: |host| {
        let found = found(host);
        Ok(if found.len() > 1 { found } else { Vec::new() })
    },
};

pub(crate) const ONE: Row = Row {
    id: "another-writer",
    area: Area::Host,
    severity: Severity::Note,
    title: "A program or file sets interrupts or packet steering on this host.",
    looks: "The same as several-writers; a finding if there is exactly one.",
    why: "`scx_steer nic` asks irqbalance to leave its interrupts alone, and keeps off settings that \
          others change. Know who it is before you look for the reason of a setting.",
    source: "RHEL 7.2 article, Death by Interrupts",
    fix: "",
    undo: "",
    check: |host| {
        let found = found(host);
        Ok(if found.len() == 1 { found } else { Vec::new() })
    },
};

fn found(host: &Host) -> Vec<Case> {
    let folder = format!("{}/", host.root.folder().display());
    let case = |writer: Writer| {
        // name files by their path on the host, also in a recorded tree
        let seen = match writer.seen.strip_prefix(&folder) {
            Some(path) => format!("/{path}"),
            None => writer.seen,
        };
        let mut case = Case::of(writer.name);
        let value = format!("sets {}; {}", writer.sets, writer.advice);
        case.evidence.push(Evidence { read: seen, value });
        case
    };
    writers(host.root.folder()).into_iter().map(case).collect()
}
