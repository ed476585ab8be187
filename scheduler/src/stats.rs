//! Statistics: one counter per kind of decision, served over the scx_stats socket.

use std::{io::Write, time::Duration};

use anyhow::{Context, Result};
use scx_stats::prelude::*;
use scx_stats_derive::Stats;
use scx_stats_derive::stat_doc;
use serde::{Deserialize, Serialize};
use steer_bpf::intf as c;

use crate::{metrics::Totals, nic::HostSteering, signals::Flag, status::Status};

/// Decisions since the last report.
#[stat_doc]
#[derive(Clone, Debug, Default, Serialize, Deserialize, Stats)]
#[stat(top, _om_prefix = "scx_steer_")]
pub(crate) struct Metrics {
    #[stat(desc = "Wake-ups of long-flow threads on their NIC-local home CPU")]
    pub(crate) long_home: u64,
    #[stat(desc = "... on another NIC-local CPU")]
    pub(crate) long_local: u64,
    #[stat(
        desc = "... on a home CPU far from the NIC: steering is fixed, or no NIC-local CPU is allowed"
    )]
    pub(crate) long_remote: u64,
    #[stat(desc = "... placed like threads without traffic: their NIC or home CPU is unknown")]
    pub(crate) long_unplaced: u64,
    #[stat(desc = "Long-flow threads that left a full core")]
    pub(crate) long_spilled: u64,
    #[stat(desc = "Times all CPUs were looked at for a place for a long-flow thread")]
    pub(crate) long_searches: u64,
    #[stat(desc = "Wake-ups of short-flow threads on an idle, unclaimed CPU")]
    pub(crate) short_idle: u64,
    #[stat(desc = "... into a queue")]
    pub(crate) short_queued: u64,
    #[stat(desc = "Short-flow threads that got a claimed CPU because no other was free")]
    pub(crate) short_lent: u64,
    #[stat(desc = "Wake-ups of other threads on an idle, unclaimed CPU")]
    pub(crate) none_idle: u64,
    #[stat(desc = "... on an idle CPU of a claimed core")]
    pub(crate) none_lent: u64,
    #[stat(desc = "... into a queue")]
    pub(crate) none_queued: u64,
    #[stat(desc = "Wake-ups in a pool that a policy names")]
    pub(crate) pool: u64,
    #[stat(desc = "Threads preempted for one that takes precedence on the CPU")]
    pub(crate) preempted: u64,
    #[stat(desc = "Threads taken from the queue of other CPUs")]
    pub(crate) stolen: u64,
    #[stat(desc = "Threads that got an idle CPU because they had waited too long")]
    pub(crate) rescued: u64,
    #[stat(desc = "Per-CPU kthreads that ran ahead of everything else")]
    pub(crate) kthreads: u64,
    #[stat(desc = "Times the speed that a CPU needs, as the governor schedutil is told, changed")]
    pub(crate) speed_hints: u64,
    #[stat(desc = "Cores newly claimed by long-flow threads")]
    pub(crate) claims: u64,
    #[stat(desc = "Cores newly reserved for short-flow threads")]
    pub(crate) reserved: u64,
    #[stat(desc = "... given back")]
    pub(crate) released: u64,
    #[stat(desc = "Moves of long-flow threads after which the packets followed")]
    pub(crate) steering_followed: u64,
    #[stat(desc = "... after which the packets stayed where they were")]
    pub(crate) steering_stayed: u64,
    #[stat(desc = "Flows that became long")]
    pub(crate) flows_long: u64,
    #[stat(desc = "Flows that became short")]
    pub(crate) flows_short: u64,
    #[stat(desc = "Times a new set of policy files was put in force")]
    pub(crate) policy_reloads: u64,
    #[stat(desc = "Times a set of policy files was refused; the old one stayed in force")]
    pub(crate) policy_refusals: u64,
}

/// What the main loop answers to a request.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// The counters of the BPF programs since they were loaded.
    pub(crate) decisions: steer_bpf::Counters,
    pub(crate) status: Status,
}

/// Tells host steering where long-flow threads were placed since the scheduler was loaded.
pub(crate) fn tell_placed(host: &HostSteering, decisions: &steer_bpf::Counters) {
    let n = |i: c::steer_counter| decisions[i as usize];
    let near = n(c::steer_counter_CNT_LONG_HOME) + n(c::steer_counter_CNT_LONG_LOCAL);
    host.counted(near, n(c::steer_counter_CNT_LONG_REMOTE));
}

impl Metrics {
    /// The decisions since the scheduler was loaded, and policy changes since the program started.
    pub(crate) fn totals(answer: &Answer) -> Self {
        let mut start = answer.clone();
        start.decisions.fill(0);
        start.status.policy = Default::default();
        Self::between(&start, answer)
    }

    fn between(before: &Answer, after: &Answer) -> Self {
        let n = |i: c::steer_counter| {
            after.decisions[i as usize].saturating_sub(before.decisions[i as usize])
        };
        let (policy, policy_before) = (&after.status.policy, &before.status.policy);
        Self {
            long_home: n(c::steer_counter_CNT_LONG_HOME),
            long_local: n(c::steer_counter_CNT_LONG_LOCAL),
            long_remote: n(c::steer_counter_CNT_LONG_REMOTE),
            long_unplaced: n(c::steer_counter_CNT_LONG_UNPLACED),
            long_spilled: n(c::steer_counter_CNT_LONG_SPILL),
            long_searches: n(c::steer_counter_CNT_LONG_SEARCH),
            short_idle: n(c::steer_counter_CNT_SHORT_IDLE),
            short_queued: n(c::steer_counter_CNT_SHORT_QUEUED),
            short_lent: n(c::steer_counter_CNT_SHORT_LENT),
            none_idle: n(c::steer_counter_CNT_NONE_IDLE),
            none_lent: n(c::steer_counter_CNT_NONE_LENT),
            none_queued: n(c::steer_counter_CNT_NONE_QUEUED),
            pool: n(c::steer_counter_CNT_POOL),
            preempted: n(c::steer_counter_CNT_PREEMPT),
            stolen: n(c::steer_counter_CNT_STEAL),
            rescued: n(c::steer_counter_CNT_RESCUE),
            kthreads: n(c::steer_counter_CNT_KTHREAD),
            speed_hints: n(c::steer_counter_CNT_HINT),
            claims: n(c::steer_counter_CNT_CLAIM),
            reserved: n(c::steer_counter_CNT_RESERVE),
            released: n(c::steer_counter_CNT_RELEASE),
            steering_followed: n(c::steer_counter_CNT_STEERING_FOLLOWED),
            steering_stayed: n(c::steer_counter_CNT_STEERING_STAYED),
            flows_long: n(c::steer_counter_CNT_FLOW_LONG),
            flows_short: n(c::steer_counter_CNT_FLOW_SHORT),
            policy_reloads: policy.reloads - policy_before.reloads,
            policy_refusals: policy.refusals - policy_before.refusals,
        }
    }

    fn write(&self, out: &mut impl Write) -> Result<()> {
        writeln!(
            out,
            "long home {} local {} remote {} unplaced {} spilled {} searches {} | short idle {} queued {} lent {} | \
             none idle {} lent {} queued {} | pool {} | preempted {} stolen {} rescued {} kthreads {} hints {} | \
             claims {} reserved {} released {} | steering followed {} stayed {} | flows long {} short {} | policy \
             reloads {} refusals {}",
            self.long_home,
            self.long_local,
            self.long_remote,
            self.long_unplaced,
            self.long_spilled,
            self.long_searches,
            self.short_idle,
            self.short_queued,
            self.short_lent,
            self.none_idle,
            self.none_lent,
            self.none_queued,
            self.pool,
            self.preempted,
            self.stolen,
            self.rescued,
            self.kthreads,
            self.speed_hints,
            self.claims,
            self.reserved,
            self.released,
            self.steering_followed,
            self.steering_stayed,
            self.flows_long,
            self.flows_short,
            self.policy_reloads,
            self.policy_refusals,
        )?;
        Ok(())
    }
}

/// What the statistics server serves: `top`, the decisions since the same reader's last request,
/// `totals`, the decisions since load, and `status`.
pub(crate) fn server_data() -> StatsServerData<(), Answer> {
    let open: Box<dyn StatsOpener<(), Answer>> = Box::new(move |(requests, replies)| {
        requests.send(())?;
        let mut before = replies.recv()?;
        let read: Box<dyn StatsReader<(), Answer>> = Box::new(move |_, (requests, replies)| {
            requests.send(())?;
            let after = replies.recv()?;
            let metrics = Metrics::between(&before, &after);
            before = after;
            metrics.to_json()
        });
        Ok(read)
    });
    let status: Box<dyn StatsReaderSend<(), Answer>> = Box::new(|_, (requests, replies)| {
        requests.send(())?;
        Ok(serde_json::to_value(replies.recv()?.status)?)
    });
    let totals: Box<dyn StatsReaderSend<(), Answer>> = Box::new(|_, (requests, replies)| {
        requests.send(())?;
        Ok(serde_json::to_value(Totals::of(replies.recv()?)?)?)
    });
    StatsServerData::new()
        .add_meta(Metrics::meta())
        .add_ops("top", StatsOps { open, close: None })
        .add_stats("totals", totals)
        .add_stats("status", status)
}

/// Prints the statistics of the running instance every `interval` until `shutdown`.
pub(crate) fn monitor(interval: Duration, shutdown: &Flag) -> Result<()> {
    scx_utils::monitor_stats::<Metrics>(
        &[],
        interval,
        || shutdown.raised(),
        |metrics| metrics.write(&mut std::io::stdout()),
    )
    .context("reading statistics: is scx_steer running?")
}

/// Describes each statistic.
pub(crate) fn describe() -> Result<()> {
    server_data().describe_meta(&mut std::io::stdout(), None)
}
