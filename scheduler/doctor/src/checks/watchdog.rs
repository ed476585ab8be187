//! What could make the kernel's watchdog eject the scheduler.

use crate::case::{Case, Checked};
use crate::host::Host;
use crate::row::{Area, Row, Severity};

/// The first kernel that keeps CPU time for sched_ext beside real-time threads.
const KEEPS_TIME: (u32, u32) = (7, 0);
/// `PF_KTHREAD`, include/linux/sched.h.
const KERNEL_THREAD: u64 = 0x0020_0000;
/// Fields of /proc/PID/stat that follow the name, counted from the state (man 5 proc_pid_stat).
const FLAGS: usize = 6;
const PRIORITY: usize = 37;
const POLICY: usize = 38;

pub(crate) const REAL_TIME: Row = Row {
    id: "real-time-programs",
    area: Area::Load,
    severity: Severity::Note,
    title: "Real-time programs run, and this kernel keeps no CPU time from them for sched_ext.",
    looks: "The scheduling policy of each process in /proc/PID/stat, on kernels before 7.0.",
    why: "scx_steer's watchdog time-out is 10 s: if a real-time thread keeps a CPU that long, and a \
          thread waits that may run only there, the kernel ejects the scheduler, and its own takes \
          over. Kernels from 7.0 on keep about 5 % of each CPU for sched_ext. Give a program that may \
          spin an ordinary policy.",
    source: "Documentation/scheduler/sched-ext.rst; kernel/sched/ext.c, the watchdog",
    fix: "sudo chrt --other --pid 0 {pid}",
    undo: "sudo chrt --{policy} --pid {priority} {pid}",
    check: real_time,
};

fn real_time(host: &Host) -> Checked {
    if host.kernel()? >= KEEPS_TIME {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for pid in host.root.numbered("proc", "")? {
        let path = format!("proc/{pid}/stat");
        // processes end while they are looked at
        let Ok(Some(stat)) = host.root.peek(&path) else { continue };
        let Some((name, policy, priority)) = of_program(&String::from_utf8_lossy(&stat)) else {
            continue;
        };
        host.root.bytes(&path)?;
        let case = Case::of(&name)
            .saw(path, format!("policy {policy}, priority {priority}"))
            .with("pid", pid)
            .with("policy", policy)
            .with("priority", priority);
        found.push(case);
    }
    Ok(found)
}

/// Name, policy and priority of a real-time program; `None` for a kernel thread and for all others.
fn of_program(stat: &str) -> Option<(String, &'static str, String)> {
    let (before, after) = stat.rsplit_once(')')?;
    let name = before.split_once('(')?.1.to_owned();
    let fields: Vec<&str> = after.split_whitespace().collect();
    let flags: u64 = fields.get(FLAGS)?.parse().ok()?;
    let policy = match *fields.get(POLICY)? {
        "1" => "fifo",
        "2" => "rr",
        _ => return None,
    };
    (flags & KERNEL_THREAD == 0).then(|| (name, policy, fields[PRIORITY].to_owned()))
}
