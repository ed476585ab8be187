//! The live part of `policy explain`: how the scheduler in force treats a process's threads.

use std::{fmt::Write, fs, num::NonZeroU32};

use anyhow::{Context, Result};
use serde::Serialize;
use steer_bpf::{Threads, intf};

/// One thread as the scheduler sees it.
#[derive(Debug, Serialize)]
pub(crate) struct LiveThread {
    tid: u32,
    pub(crate) name: String,
    /// The CPU it runs on, or ran on last.
    pub(crate) cpu: Option<u32>,
    /// Its class by traffic. A policy may declare another class.
    pub(crate) class: &'static str,
    /// Estimated CPU cost of its recent long and short flows, in ns.
    pub(crate) long_cost_ns: u64,
    pub(crate) short_cost_ns: u64,
    /// Bytes of some of its last bursts, newest first.
    pub(crate) last_bursts: Vec<u64>,
    /// The CPU where softirq processes most of its long-flow packets.
    pub(crate) home_cpu: Option<i32>,
    /// The CPU it was last sent to because of its packets.
    pub(crate) target_cpu: Option<i32>,
    /// Whether it was sent away because its home CPU was full.
    pub(crate) spilled: bool,
}

/// The threads of `pid`. `None` if no scx_steer is in force, or if the caller may not ask it.
///
/// # Errors
/// The process has ended, or the kernel refused the question.
pub(super) fn read(pid: NonZeroU32) -> Result<Option<Vec<LiveThread>>> {
    let Some(known) = Threads::find()? else { return Ok(None) };
    let folder = format!("/proc/{pid}/task");
    let mut threads = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("reading {folder}"))? {
        let name = entry?.file_name();
        let Some(tid) = name.to_str().and_then(|tid| tid.parse().ok()) else { continue };
        if let Some(task) = known.read(tid)? {
            threads.push(LiveThread::new(&folder, tid, &task));
        }
    }
    threads.sort_by_key(|thread| thread.tid);
    Ok(Some(threads))
}

impl LiveThread {
    /// The thread `tid` below `folder`, the `task` folder of its process.
    pub(crate) fn new(folder: &str, tid: u32, task: &intf::task_ctx) -> Self {
        let place = format!("{folder}/{tid}");
        let cpu = Self::cpu_of(&place);
        let read = |file: &str| fs::read_to_string(format!("{place}/{file}")).ok();
        Self {
            tid,
            name: read("comm").unwrap_or_default().trim_end().to_owned(),
            cpu,
            class: class(task.load.class),
            long_cost_ns: task.load.long_ns,
            short_cost_ns: task.load.short_ns,
            last_bursts: bursts(task),
            home_cpu: (task.home.bytes > 0).then_some(task.home.cpu),
            target_cpu: (task.target_cpu >= 0).then_some(task.target_cpu),
            spilled: task.spilled,
        }
    }

    /// The CPU that the thread at `place`, its folder in /proc, runs on or ran on last.
    pub(crate) fn cpu_of(place: &str) -> Option<u32> {
        let stat = fs::read_to_string(format!("{place}/stat")).ok()?;
        // proc_pid_stat(5): field 39, counted after the name, which may contain anything
        stat.rsplit_once(')')?.1.split_whitespace().nth(36)?.parse().ok()
    }
}

/// The bursts on record, newest first.
fn bursts(task: &intf::task_ctx) -> Vec<u64> {
    let kept = task.burst_bytes.len();
    let newest = task.newest_burst as usize;
    let older = (0..kept).map(|age| task.burst_bytes[newest.wrapping_sub(age) % kept]);
    older.take_while(|bytes| *bytes > 0).collect()
}

/// The name of a class.
pub(crate) fn class(class: u8) -> &'static str {
    match u32::from(class) {
        intf::traffic_class_CLASS_LONG => "long",
        intf::traffic_class_CLASS_SHORT => "short",
        intf::traffic_class_CLASS_MIXED => "mixed",
        _ => "none",
    }
}

/// A table of `threads`.
pub(super) fn text(threads: &[LiveThread]) -> Result<String> {
    let mut out = String::from(
        "thread   name             cpu  class  long cost  short cost  home cpu  sent to  last bursts, KiB\n",
    );
    let or_dash = |cpu: Option<i32>| cpu.map_or("-".to_owned(), |cpu| cpu.to_string());
    for t in threads {
        writeln!(
            out,
            "{:<8} {:<15} {:>4}  {:<5} {:>7} µs {:>8} µs {:>9} {:>8}  {}{}",
            t.tid,
            t.name,
            t.cpu.map_or("-".to_owned(), |cpu| cpu.to_string()),
            t.class,
            t.long_cost_ns / 1000,
            t.short_cost_ns / 1000,
            or_dash(t.home_cpu),
            or_dash(t.target_cpu),
            t.last_bursts
                .iter()
                .map(|bytes| bytes.div_ceil(1024).to_string())
                .collect::<Vec<_>>()
                .join(" "),
            if t.spilled { "  (its home CPU is full)" } else { "" },
        )?;
    }
    Ok(out)
}
