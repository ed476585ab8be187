/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * scx_steer: run long-flow threads near their packets, short-flow threads apart.
 *
 * Telemetry (telemetry.bpf.h) tells each thread's class and, for long flows, the home CPU where
 * softirq processes its packets. From that:
 *
 *   long   → beside its softirq, or on a NIC-local core (target.bpf.h). It claims the core
 *            (cores.bpf.h).
 *   short  → an idle CPU that is not claimed; else a CPU that runs a thread without traffic;
 *            else a queue.
 *   none   → the CPU of a waker that sleeps at once, or an idle CPU, also a claimed one while its
 *            owner is away; else a queue.
 *   per-CPU kthreads (ksoftirqd, bound NAPI threads) → their CPU, ahead of all others.
 *
 * Example: 2 nodes of 2 CPUs, NIC on node 1, two long flows L, four RPC threads S, one batch
 * thread N per node:
 *
 *      node 0: CPU 0  S S N      node 1: CPU 2  L N
 *              CPU 1  S S                CPU 3  L
 *
 * A class decides where a thread runs and whether its wake-up may preempt. It does not decide how
 * much CPU time a thread gets: nice values do, and the weights and limits of cgroups (queue.bpf.h,
 * shares.bpf.h, limit.bpf.h).
 *
 * A wake-up for an idle CPU or for another cache is completed there (SCX_OPS_ALLOW_QUEUED_WAKEUP),
 * so the CPU that handles packets does not take the locks of other CPUs' queues.
 */
#include <scx/common.bpf.h>
#include <scx/compat.bpf.h>
#include "bound.bpf.h"
#include "cookies.bpf.h"
#include "ground/affinity.bpf.h"
#include "ground/context.bpf.h"
#include "ground/counters.bpf.h"
#include "ground/cpu.bpf.h"
#include "ground/group.bpf.h"
#include "ground/pool.bpf.h"
#include "ground/subject.bpf.h"
#include "ground/swap.bpf.h"
#include "handoff.bpf.h"
#include "hotplug.bpf.h"
#include "near.bpf.h"
#include "place/follow.bpf.h"
#include "place/free.bpf.h"
#include "place/misplaced.bpf.h"
#include "place/power.bpf.h"
#include "place/target.bpf.h"
#include "queue/balance.bpf.h"
#include "queue/charge.bpf.h"
#include "queue/limit.bpf.h"
#include "queue/queue.bpf.h"
#include "queue/rescue.bpf.h"
#include "sockets/telemetry.bpf.h"
#include "tickless.bpf.h"
#include "upkeep.bpf.h"
#include "wait.bpf.h"
#include "wake.bpf.h"

char _license[] SEC("license") = "GPL";

UEI_DEFINE(uei);

/* The run queues' clock: cheap to read, but it drifts from CLOCK_MONOTONIC, which NTP slews. */
static u64 clock_now(void)
{
	return scx_bpf_now();
}

s32 BPF_STRUCT_OPS(steer_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	struct subject s;
	s32 cpu, other;

	look_at(&s, p);
	limit_lag(p, s.task);
	if (throttled_by(p, s.task))
		return decide(&s, allowed(p, prev_cpu), WAKE_QUEUE);
	if (goes_by_packets(&s)) {
		cpu = place_by_packets(p, s.task, s.now);
		count_long(s.task, cpu);
		if (cpu >= 0)
			return decide(&s, cpu, wake_at(p, &s, cpu, true));
	}
	if (s.policy->pool) {
		cpu = wake_in_pool(p, &s, prev_cpu);
		if (cpu >= 0) {
			count(CNT_POOL);
			return cpu;
		}
	}
	cpu = wake_near(p, &s, prev_cpu);
	if (cpu < 0)
		cpu = wake_handed(p, &s, wake_flags);
	if (cpu >= 0)
		return cpu;
	cpu = follow_packets(p, &s, prev_cpu);
	/* runs are short: warm caches are worth more than a core of its own (SMT) */
	if (cpu < 0 && s.class == CLASS_SHORT && take_free_idle(p, prev_cpu, s.now))
		cpu = prev_cpu;
	if (cpu < 0)
		cpu = pick_free_idle(p, prev_cpu, s.now);
	if (cpu >= 0) {
		count(s.class == CLASS_SHORT ? CNT_SHORT_IDLE : CNT_NONE_IDLE);
		return decide(&s, cpu, WAKE_RUN);
	}
	cpu = pick_preemptible(p, &s, prev_cpu);
	if (cpu >= 0)
		return decide(&s, cpu, preempt(&s, cpu));
	other = any_free(p, prev_cpu, s.now);
	/* if all CPUs that it may use are claimed, keeping the kinds apart wins nothing any more */
	if (s.class != CLASS_SHORT || other < 0) {
		cpu = pick_shared_idle(p, prev_cpu);
		if (cpu >= 0) {
			count(s.class == CLASS_SHORT ? CNT_SHORT_LENT : CNT_NONE_LENT);
			return decide(&s, cpu, WAKE_RUN);
		}
	}
	count(s.class == CLASS_SHORT ? CNT_SHORT_QUEUED : CNT_NONE_QUEUED);
	if (other < 0)
		other = any_shared(p, prev_cpu);
	return decide(&s, other >= 0 ? other : allowed(p, prev_cpu), WAKE_QUEUE);
}

void BPF_STRUCT_OPS(steer_enqueue, struct task_struct *p, u64 enq_flags)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct task_ctx *task = ctx_of(p);
	enum wake wake = take_decision(task, cpu);
	struct subject s;
	struct queue q;
	u32 throttled;

	if (task)
		count_in(p, task);
	throttled = throttled_by(p, task);
	if (throttled) {
		note_waits_since(task, clock_now());
		scx_bpf_dsq_insert_vtime(p, DSQ_GROUP | throttled, place_settings.slice_ns,
					 p->scx.dsq_vtime, enq_flags);
		return;
	}
	if (run_here(p, task, wake, enq_flags) || run_kthread(p, enq_flags))
		return;
	look_with(&s, p, task);
	choose_queue(&q, p, &s, cpu);
	q.near = wake == WAKE_NEAR;

	/* the kernel does not look at the queue again by itself: the CPU is about to idle */
	if (enq_flags & SCX_ENQ_LAST &&
	    (q.cpu == cpu || (s.class == CLASS_NONE && !is_exclusive(cpu)))) {
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, place_settings.slice_ns, enq_flags);
		scx_bpf_kick_cpu(cpu, 0);
		return;
	}
	if (!q.resumes)
		note_queued(&s);
	if (wake == WAKE_UNSEEN)
		limit_lag(p, s.task);
	/* it did not pass through select_cpu: the thread is pinned, or was going to sleep */
	if (enq_flags & SCX_ENQ_WAKEUP && wake == WAKE_UNSEEN && q.cpu == cpu) {
		bool owner = goes_by_packets(&s) || (is_pinned(p) && s.class == CLASS_LONG);

		if (run_here(p, s.task, wake_at(p, &s, cpu, owner), enq_flags))
			return;
	}

	note_waits_as(&s, q.resumes);
	if (q.dsq < DSQ_SHARD) {
		if (q.cpu != cpu || own_may_wait(cpu, s.now))
			lift_clock(q.cpu);
		note_enqueued(q.cpu, cpu, s.now);
		set_cpu_clock(p, s.task, q.cpu);
	} else {
		set_clock(p, s.task, clock_of_queue(q.dsq, q.cpu));
	}
	scx_bpf_dsq_insert_vtime(p, q.dsq, place_settings.slice_ns, p->scx.dsq_vtime, enq_flags);
	announce(p, &s, &q, enq_flags);
}

void BPF_STRUCT_OPS(steer_dispatch, s32 cpu, struct task_struct *prev)
{
	u64 now = clock_now();
	bool claimed = is_claimed(cpu, now);
	struct cpu_state *state = state_of(cpu);
	struct subject s;

	/* the kernel asks an idle CPU for a thread even if a real-time thread woke it */
	if (!prev && strands_at(cpu))
		return;
	if (take_from_crowd(cpu, claimed, now))
		return;
	if (!prev || !(prev->scx.flags & SCX_TASK_QUEUED)) {
		if (!take_own(cpu, claimed, now) && !take_rescued(cpu))
			take_foreign(cpu, claimed, now);
		return;
	}
	look_at(&s, prev);
	charge(state, prev, s.task, now);
	if (throttled_by(prev, s.task) || place_running(prev, &s, cpu)) {
		take_own(cpu, claimed, now); /* if there is nothing, steer_enqueue still moves it */
		return;
	}
	limit_lag(prev, s.task);
	if (!is_furthest_behind(prev, s.task, cpu, now) && take_own(cpu, claimed, now))
		return;
	start_slice(state, prev, s.task, now);
	/* without a slice it is enqueued as the last one, and begins to run */
	if (!begins_anew(&s, cpu))
		scx_bpf_task_set_slice(prev, next_slice(state));
}

void BPF_STRUCT_OPS(steer_tick, struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct cpu_state *state = state_of(cpu);
	struct subject s;

	look_at(&s, p);
	charge(state, p, s.task, s.now);
	note_class(state, p, s.class);
	if (throttled_by(p, s.task) || state->wanted)
		scx_bpf_task_set_slice(p, 0);
	/*
	 * A thread whose flow became long or whose policy changed moves now, not when it sleeps. A
	 * thread that was lent this CPU keeps it for its slice.
	 */
	if ((s.class == CLASS_LONG || s.policy->pool || is_exclusive(cpu)) &&
	    place_running(p, &s, cpu))
		scx_bpf_task_set_slice(p, 0);
	hint_performance(cpu, state, s.now);
	look_for_crowd(cpu, state, s.now);
	rescue_from(DSQ_CPU | cpu, cpu, s.now);
	rescue_from(DSQ_SHARD | shard_of(cpu), cpu, s.now);
	if (s.policy->pool)
		rescue_from(DSQ_POOL | s.policy->pool, cpu, s.now);
}

void BPF_STRUCT_OPS(steer_running, struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct cpu_state *state = state_of(cpu);
	struct subject s;

	look_at(&s, p);
	if (s.task)
		note_waited(p, s.task, s.now);
	start_slice(state, p, s.task, s.now);
	if (s.task) {
		count_in(p, s.task);
		note_wait(s.task, s.now);
		start_charging(state, p, s.task);
	}
	note_running(state, p, s.class, s.policy->pool, is_idle_thread(p, s.task));
	begin_tickless(p, &s, cpu);
	/* it was queued before its cgroup was throttled */
	if (throttled_by(p, s.task)) {
		scx_bpf_task_set_slice(p, 0);
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	}
	if (s.class == CLASS_LONG && s.task && s.task->target_cpu == cpu)
		claim_core(s.task, cpu, s.now, place_settings.claim_ns);
}

void BPF_STRUCT_OPS(steer_stopping, struct task_struct *p, bool runnable)
{
	struct cpu_state *state = state_of(scx_bpf_task_cpu(p));
	struct task_ctx *task = ctx_of(p);
	u64 now = clock_now();

	charge(state, p, task, now);
	note_stopping(state);
	if (!task)
		return;
	end_overdue(task);
	if (!runnable) {
		count_out(task);
		note_sleeps(task, now);
	}
}

/*
 * A thread of a higher class took the CPU (before 6.19; then the tracepoint below). Threads that
 * were to run there at once are queued anew, where other CPUs find them.
 */
void BPF_STRUCT_OPS(steer_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	scx_bpf_reenqueue_local();
}

SEC("?tp_btf/sched_switch")
int BPF_PROG(cpu_taken, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	if (next->prio < MAX_RT_PRIO && prev->prio >= MAX_RT_PRIO)
		scx_bpf_reenqueue_local_from_anywhere();
	return 0;
}

void BPF_STRUCT_OPS(steer_enable, struct task_struct *p)
{
	struct task_ctx *task = ctx_of(p);
	u32 shard = shard_of(scx_bpf_task_cpu(p));

	scx_bpf_task_set_dsq_vtime(p, clock_at(shard)->vtime);
	if (task) {
		note_clock(task, shard);
		forget_decision(task);
	}
}

/* The thread changes to another scheduling class, or ends. */
void BPF_STRUCT_OPS(steer_disable, struct task_struct *p)
{
	struct task_ctx *task = ctx_of(p);

	if (task)
		count_out(task);
}

s32 BPF_STRUCT_OPS(steer_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct task_ctx *task = new_ctx(p);
	s32 err = task ? refuse_cookie(p, args) : -ENOMEM;

	if (err)
		return err;
	task->target_cpu = -1;
	task->left_home_cpu = -1;
	task->slept_after_ns = HANDOFF_UNKNOWN_NS;
	join_group(task, args->cgroup);
	return 0;
}

s32 BPF_STRUCT_OPS_SLEEPABLE(steer_cgroup_init, struct cgroup *cgrp,
			     struct scx_cgroup_init_args *args)
{
	u32 number;

	if (!cgrp->level)
		return 0;
	number = add_group(cgrp);
	return number ? scx_bpf_create_dsq(DSQ_GROUP | number, -1) : 0;
}

void BPF_STRUCT_OPS_SLEEPABLE(steer_cgroup_exit, struct cgroup *cgrp)
{
	u32 number = remove_group(cgrp);

	if (number)
		scx_bpf_destroy_dsq(DSQ_GROUP | number);
}

void BPF_STRUCT_OPS(steer_cgroup_move, struct task_struct *p, struct cgroup *from,
		    struct cgroup *to)
{
	struct task_ctx *task = ctx_of(p);

	if (task)
		join_group(task, to);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(steer_init)
{
	s32 err;

	if (scx_bpf_nr_cpu_ids() > MAX_CPUS) {
		scx_bpf_error("CPU numbers up to %u, but the tables end at %u",
			      scx_bpf_nr_cpu_ids() - 1, MAX_CPUS);
		return -E2BIG;
	}
	err = init_pools();
	if (!err)
		err = init_queues();
	if (!err)
		err = init_bound();
	if (!err)
		err = init_cores();
	return err ?: start_upkeep();
}

void BPF_STRUCT_OPS(steer_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

/* The flags depend on the kernel: scheduler.rs. */
SCX_OPS_DEFINE(steer_ops, .select_cpu = (void *)steer_select_cpu, .enqueue = (void *)steer_enqueue,
	       .dispatch = (void *)steer_dispatch, .tick = (void *)steer_tick,
	       .running = (void *)steer_running, .stopping = (void *)steer_stopping,
	       .cpu_release = (void *)steer_cpu_release, .enable = (void *)steer_enable,
	       .disable = (void *)steer_disable, .init_task = (void *)steer_init_task,
	       .cgroup_init = (void *)steer_cgroup_init, .cgroup_exit = (void *)steer_cgroup_exit,
	       .cgroup_move = (void *)steer_cgroup_move, .init = (void *)steer_init,
	       .exit = (void *)steer_exit, .timeout_ms = 30000U, .name = "scx_steer");
