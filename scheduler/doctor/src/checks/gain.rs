//! Where long flows run now, measured by `scx_steer observe`, and which rules would act. No figure
//! here is a forecast.

use crate::case::{Case, Unchecked};
use crate::host::Host;
use crate::observed::Observed;
use crate::row::{Area, Row, Severity};

/// Shares at or above this leave a rule little to do.
const MOST: f64 = 0.9;
/// The share of mixed CPU time below which a rule has little to do.
const LITTLE: f64 = 0.05;
/// Bytes of long flows below which shares say nothing.
const ENOUGH: u64 = 1 << 20;

pub(crate) const FAR: Row = Row {
    id: "long-flows-far-from-nic",
    area: Area::Gain,
    severity: Severity::Note,
    title: "Long flows are copied on CPUs far from their NIC: scx_steer would move their threads.",
    looks: "`local_share` of ten seconds of `scx_steer observe`: below 0.9.",
    why: "scx_steer sends a long-flow thread to the CPU where its packets are processed if that is \
          near the NIC; otherwise to a core near the NIC, if its packets follow (aRFS, RFS). With \
          plain RSS, move the interrupts as well: `scx_steer nic apply --mode align`.",
    source: "host-network-stack paper, section 3.1; ARCHITECTURE.md, How a packet's thread is placed",
    fix: "sudo scx_steer",
    undo: "# Ctrl-C unloads it",
    check: |host| below(host, "local_share", |seen| seen.local_share),
};

pub(crate) const MIXED: Row = Row {
    id: "long-and-short-flows-mixed",
    area: Area::Gain,
    severity: Severity::Note,
    title: "Long flows share CPUs with RPCs: scx_steer would keep them apart.",
    looks: "`mixed_share` of ten seconds of `scx_steer observe`: 0.05 or more.",
    why: "On one core, a long flow fell from 42 to 20 Gb/s beside 16 RPC connections, and these from \
          6.15 to 2.6 Gb/s, in the host-network-stack paper. scx_steer gives RPC threads cores that no \
          long flow has claimed.",
    source: "host-network-stack paper, section 3.7",
    fix: "sudo scx_steer",
    undo: "# Ctrl-C unloads it",
    check: |host| {
        let (seen, enough) = measured(host)?;
        let share = seen.mixed_share.filter(|share| enough && *share >= LITTLE);
        Ok(share.map(|share| case(seen, "mixed_share", share)).into_iter().collect())
    },
};

pub(crate) const SPLIT: Row = Row {
    id: "packets-and-threads-on-different-cpus",
    area: Area::Gain,
    severity: Severity::Note,
    title: "Long flows are copied on another CPU than the one that processed their packets.",
    looks: "`home_share` of ten seconds of `scx_steer observe`: below 0.9.",
    why: "On the same core, the data is still in its first cache. scx_steer runs long-flow threads on \
          their home CPU until that is full, then on a CPU that shares its cache.",
    source: "multicore paper, sections 4.1 and 4.5; host-network-stack paper, section 3.1",
    fix: "sudo scx_steer",
    undo: "# Ctrl-C unloads it",
    check: |host| below(host, "home_share", |seen| seen.home_share),
};

pub(crate) const QUIET: Row = Row {
    id: "no-long-flows-seen",
    area: Area::Gain,
    severity: Severity::Note,
    title: "There was hardly any long flow while the doctor looked.",
    looks: "Bytes of long flows in ten seconds of `scx_steer observe`: below 1 MiB.",
    why: "Then scx_steer changes nothing. Run the doctor again under the usual load.",
    source: "README.md, When it helps, and when it does not",
    fix: "",
    undo: "",
    check: |host| {
        let (seen, enough) = measured(host)?;
        let bytes = seen.long.bytes_received + seen.long.bytes_sent;
        let case = || case(seen, "bytes of long flows", bytes);
        Ok((!enough).then(case).into_iter().collect())
    },
};

fn below(
    host: &Host,
    name: &str,
    share: fn(&Observed) -> Option<f64>,
) -> Result<Vec<Case>, Unchecked> {
    let (seen, enough) = measured(host)?;
    let share = share(seen).filter(|share| enough && *share < MOST);
    Ok(share.map(|share| case(seen, name, share)).into_iter().collect())
}

/// The measurement, and whether long flows moved enough for shares to mean something.
fn measured(host: &Host) -> Result<(&Observed, bool), Unchecked> {
    let seen = host.observed()?;
    Ok((seen, seen.long.bytes_received + seen.long.bytes_sent >= ENOUGH))
}

fn case(seen: &Observed, name: &str, value: impl ToString) -> Case {
    let command = format!("scx_steer observe --duration {:.0}", seen.duration_s);
    let rpcs = seen.short.messages as f64 / seen.duration_s.max(f64::MIN_POSITIVE);
    Case::of(format!("under {}", seen.scheduler))
        .asked(command, format!("{name} {}, {rpcs:.0} RPCs/s", short(&value.to_string())))
}

/// A number with at most three digits after the point.
fn short(text: &str) -> String {
    match text.parse::<f64>() {
        Ok(number) if text.contains('.') => format!("{number:.3}"),
        _ => text.to_owned(),
    }
}
