//! Programs that poll for packets, and NICs that still interrupt them.

use crate::case::{Case, Checked, each};
use crate::host::Host;
use crate::row::{Area, Row, Severity};

const SYSCTLS: [&str; 2] = ["proc/sys/net/core/busy_poll", "proc/sys/net/core/busy_read"];
/// Servers whose event loops poll if these settings say so (/proc/PID/comm).
const SERVERS: [&str; 6] = ["nginx", "envoy", "haproxy", "memcached", "redis-server", "varnishd"];

pub(crate) const UNPREPARED: Row = Row {
    id: "busy-poll-without-napi-settings",
    area: Area::Host,
    severity: Severity::Warning,
    title: "Programs poll for packets, but the NIC's interrupts are not deferred for them.",
    looks: "/proc/sys/net/core/busy_poll and busy_read above 0; then napi_defer_hard_irqs and \
            gro_flush_timeout in /sys/class/net/NIC, or the settings of each NAPI context. Names the \
            event-loop servers that run (nginx, envoy and others).",
    why: "Interrupts and the polling thread compete for the queue: softirq takes the packets from \
          under the thread that looks for them, and preempts it.",
    source: "Documentation/networking/napi.rst, IRQ mitigation and IRQ suspension",
    fix: "sudo scx_steer nic apply {nic} --mode busy-poll",
    undo: "sudo scx_steer nic restore",
    check: unprepared,
};

fn unprepared(host: &Host) -> Checked {
    let mut polls = Case::host();
    for path in SYSCTLS {
        if let Some(us @ 1..) = host.root.value::<u64>(path)? {
            polls = polls.saw(path, us);
        }
    }
    if polls.evidence.is_empty() {
        return Ok(Vec::new());
    }
    for pid in host.root.numbered("proc", "")? {
        let path = format!("proc/{pid}/comm");
        let Ok(Some(name)) = host.root.peek(&path) else { continue };
        let name = String::from_utf8_lossy(&name).trim().to_owned();
        if SERVERS.contains(&name.as_str()) {
            host.root.bytes(&path)?;
            polls = polls.saw(path, name);
        }
    }
    each(host.nics_up()?, |nic| {
        let device = |value: Option<u64>| value.unwrap_or(0);
        let (defer, flush) = (&nic.state.defer_hard_irqs, &nic.state.gro_flush_timeout);
        let of_device = device(*defer) > 0 && device(*flush) > 0;
        let of_queue = nic.state.rx.iter().filter_map(|queue| queue.napi.as_ref()).any(|napi| {
            napi.defer_hard_irqs.unwrap_or(0) > 0 && napi.gro_flush_timeout.unwrap_or(0) > 0
        });
        let file = |name: &str| format!("sys/class/net/{}/{name}", nic.name());
        let mut case = Case::of(nic.name());
        case.evidence.clone_from(&polls.evidence);
        let case = case
            .saw(file("napi_defer_hard_irqs"), device(*defer))
            .saw(file("gro_flush_timeout"), device(*flush))
            .with("nic", nic.name());
        Ok((!of_device && !of_queue).then_some(case))
    })
}
