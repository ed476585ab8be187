//! Threads that move data: their class, where they are, and why.

use std::collections::BTreeMap;
use std::fs;
use std::time::Instant;

use anyhow::Result;
use steer_bpf::{Observer, Threads as Known, intf};
use steer_policy::Effective;
use steer_top::ThreadUse;
use steer_topology::CpuSet;

use super::cgroups::rules;
use crate::policy::{LiveThread, class};

/// Threads that are shown.
const MOST: usize = 200;

/// What was seen of threads so far.
#[derive(Debug, Default)]
pub(super) struct Threads {
    /// Class of each thread, and since when it was seen with it.
    since: BTreeMap<u32, (String, Instant)>,
    /// The CPUs that long-flow threads run on or were last sent to.
    long_on: CpuSet,
    /// Names of the threads of the last sample by the CPU they ran on.
    on: BTreeMap<u32, Vec<String>>,
}

impl Threads {
    /// The threads that move data, most costly first. `steered`: scx_steer is in force, and knows
    /// them; otherwise the observer does, by class and cost only.
    pub(super) fn read(
        &mut self,
        observer: &Observer<'_>,
        steered: bool,
        policy: Option<&Effective>,
    ) -> Result<Vec<ThreadUse>> {
        let known = if steered { Known::find()? } else { None };
        let mut found = Vec::new();
        self.long_on = CpuSet::new();
        for (pid, tid) in all() {
            // a thread may end at any moment
            let thread = match &known {
                Some(known) => {
                    known.read(tid).ok().flatten().map(|task| of_scheduler(pid, tid, &task))
                }
                None => {
                    observer.thread(tid).ok().flatten().map(|load| of_observer(pid, tid, &load))
                }
            };
            let Some((mut thread, sent_to)) = thread.filter(|(thread, _)| thread.class != "none")
            else {
                continue;
            };
            if thread.class == "long" {
                let places = [sent_to, if known.is_some() { None } else { thread.cpu }];
                self.long_on = self.long_on.union(&places.into_iter().flatten().collect());
            }
            thread.cgroup = cgroup(pid);
            if let Some(policy) = policy {
                let process = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
                thread.rules = rules(policy, &thread.cgroup, Some(process.trim_end()));
            }
            found.push(thread);
        }
        found.sort_by_key(|thread| std::cmp::Reverse(thread.long_cost_ns + thread.short_cost_ns));
        found.truncate(MOST);
        self.remember(&mut found);
        Ok(found)
    }

    /// Notes since when each thread has its class, and who is where.
    fn remember(&mut self, found: &mut [ThreadUse]) {
        let before = std::mem::take(&mut self.since);
        self.on.clear();
        for thread in found {
            let known = before.get(&thread.tid).filter(|(class, _)| *class == thread.class);
            let since = known.map_or_else(Instant::now, |(_, since)| *since);
            self.since.insert(thread.tid, (thread.class.clone(), since));
            thread.since_s = since.elapsed().as_secs();
            if let Some(cpu) = thread.cpu {
                self.on.entry(cpu).or_default().push(thread.name.clone());
            }
        }
    }

    /// Whether a long-flow thread was last sent to this CPU, or runs there.
    pub(super) fn sent_to(&self, cpu: u32) -> bool {
        self.long_on.contains(cpu)
    }

    /// Names of the threads that ran last on one of these CPUs.
    pub(super) fn beside(&self, cpus: &CpuSet) -> Vec<String> {
        let mut names: Vec<String> =
            cpus.iter().filter_map(|cpu| self.on.get(&cpu)).flatten().cloned().collect();
        names.sort();
        names.dedup();
        names
    }
}

/// Process and number of every thread.
fn all() -> Vec<(u32, u32)> {
    let numbers = |folder: &str| -> Vec<u32> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
    };
    let threads =
        |pid| numbers(&format!("/proc/{pid}/task")).into_iter().map(move |tid| (pid, tid));
    numbers("/proc").into_iter().flat_map(threads).collect()
}

/// A thread as scx_steer knows it, and the CPU it was last sent to.
fn of_scheduler(pid: u32, tid: u32, task: &intf::task_ctx) -> (ThreadUse, Option<u32>) {
    let live = LiveThread::new(&format!("/proc/{pid}/task"), tid, task);
    let number = |cpu: Option<i32>| cpu.and_then(|cpu| u32::try_from(cpu).ok());
    let sent_to = number(live.target_cpu);
    let thread = ThreadUse {
        tid,
        why: why(&live).into(),
        class: live.class.into(),
        home_cpu: number(live.home_cpu),
        cpu: live.cpu,
        name: live.name,
        long_cost_ns: live.long_cost_ns,
        short_cost_ns: live.short_cost_ns,
        last_bursts: live.last_bursts,
        ..ThreadUse::default()
    };
    (thread, sent_to)
}

/// Why a thread is where it is, by what scx_steer last decided for it.
fn why(thread: &LiveThread) -> &'static str {
    let cpu = thread.cpu.and_then(|cpu| i32::try_from(cpu).ok());
    match (thread.class, thread.target_cpu) {
        ("short", _) => "apart from long flows",
        (_, None) => "not placed: its NIC or home is unknown",
        _ if thread.spilled => "its home CPU is full",
        (_, target) if cpu != target => "waits for its CPU, or could not have it",
        (_, target) if target == thread.home_cpu => "beside its packets",
        _ => "near the NIC: its packets follow",
    }
}

/// A thread as the observer knows it.
fn of_observer(pid: u32, tid: u32, load: &intf::thread_load) -> (ThreadUse, Option<u32>) {
    let place = format!("/proc/{pid}/task/{tid}");
    let read = |file: &str| fs::read_to_string(format!("{place}/{file}")).ok();
    let thread = ThreadUse {
        tid,
        name: read("comm").unwrap_or_default().trim_end().into(),
        class: class(load.class).into(),
        cpu: LiveThread::cpu_of(&place),
        long_cost_ns: load.long_ns,
        short_cost_ns: load.short_ns,
        ..ThreadUse::default()
    };
    (thread, None)
}

/// The cgroup2 path of a process; empty if it is gone, or in the root.
fn cgroup(pid: u32) -> String {
    let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    let path = text.lines().find_map(|line| line.strip_prefix("0::/"));
    path.unwrap_or_default().to_owned()
}
