/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * scx_steer: run long-flow threads near their packets, short-flow threads apart.
 *
 * Telemetry (telemetry.bpf.h) knows each thread's class and, for long flows, the
 * home CPU where softirq processes its packets. From that:
 *
 *   long   → beside its softirq or on a NIC-local core (target.bpf.h), which it claims
 *            (cores.bpf.h).
 *   short  → an idle CPU that is not claimed, else one that runs a thread without
 *            traffic, else queued.
 *   none   → an idle CPU, a claimed one too while its owner is away, else queued.
 *   per-CPU kthreads (ksoftirqd, NAPI threads) → their CPU, ahead of all.
 *
 * Example: 2 nodes of 2 CPUs, NIC on node 1, two long flows L, four RPC threads S,
 * one batch thread N per node:
 *
 *      node 0: CPU 0  S S N      node 1: CPU 2  L N
 *              CPU 1  S S                CPU 3  L
 *
 * A class decides only where a thread runs and whether its wake-up may preempt; time
 * is shared by weight whatever the class (queue.bpf.h).
 *
 * Wake-ups of threads for other caches' or idle CPUs end on these (queued wake-ups,
 * SCX_OPS_ALLOW_QUEUED_WAKEUP): who handles packets does not take the locks of their queues.
 *
 * Wins where threads that move bulk data share a host with others. Not honoured:
 * weights of cgroups (cpu.weight); a thread's own nice value is.
 */
#include <scx/common.bpf.h>
#include <scx/compat.bpf.h>
#include "balance.bpf.h"
#include "hotplug.bpf.h"
#include "upkeep.bpf.h"
#include "wake.bpf.h"

char _license[] SEC("license") = "GPL";

UEI_DEFINE(uei);

/* Of run queues: costs nothing to read, but drifts from CLOCK_MONOTONIC, which NTP slews. */
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
	if (goes_by_packets(&s)) {
		cpu = long_target(p, s.task, s.now);
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

	cpu = pick_free_idle(p, prev_cpu, wake_flags);
	if (cpu >= 0) {
		count(s.class == CLASS_SHORT ? CNT_SHORT_IDLE : CNT_NONE_IDLE);
		return decide(&s, cpu, WAKE_RUN);
	}
	if (s.class == CLASS_SHORT || s.policy->urgent) {
		cpu = pick_preemptible(p, &s, prev_cpu);
		if (cpu >= 0)
			return decide(&s, cpu, preempt(&s, cpu));
	}
	other = any_free(p, prev_cpu, s.now);
	/* where all that it may use is claimed, keeping the kinds apart has nothing left to win */
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

/* Where a thread waits: the queue, and a CPU that serves it. */
struct queue {
	u64 dsq;
	s32 cpu;
	bool resumes;
};

/*
 * Does @p, which gives up @cpu, go on there where its data is, once the thread that preempted it
 * is done? That moves data, so it is soon. Not for ever: after lend_after_ns another CPU may
 * have more room.
 */
static bool resumes(const struct task_struct *p, const struct subject *s, s32 cpu)
{
	return state_of(cpu)->preempted && scx_bpf_task_running(p) && s->class == CLASS_NONE &&
	       s->task && s->now < s->task->queued_ns + place_settings.lend_after_ns &&
	       !is_exclusive(cpu) && bpf_cpumask_test_cpu(cpu, p->cpus_ptr);
}

/* By placement or affinity on one CPU; by policy in a pool; else with the CPUs of a cache. */
static void choose_queue(struct queue *q, struct task_struct *p, const struct subject *s, s32 cpu)
{
	q->cpu = -1;
	q->resumes = false;
	if (is_pinned(p))
		q->cpu = cpu;
	else if (goes_by_packets(s))
		q->cpu = long_target(p, s->task, s->now);
	if (q->cpu >= 0) {
		q->dsq = DSQ_CPU | q->cpu;
		return;
	}
	if (s->policy->pool) {
		q->cpu = any_in_pool(p, s->policy->pool, cpu);
		q->dsq = DSQ_POOL | s->policy->pool;
		if (q->cpu >= 0)
			return;
	}
	if (resumes(p, s, cpu)) {
		q->resumes = true;
		q->cpu = cpu;
		q->dsq = DSQ_CPU | cpu;
		return;
	}
	q->cpu = any_free(p, cpu, s->now);
	if (q->cpu >= 0) {
		q->dsq = DSQ_LLC | llc_of(q->cpu);
		return;
	}
	/* all that it may use is claimed: those under the cache take it, unless it is short */
	q->cpu = any_shared(p, cpu);
	if (q->cpu >= 0 && s->class != CLASS_SHORT) {
		q->dsq = DSQ_LLC | llc_of(q->cpu);
		return;
	}
	if (q->cpu < 0)
		q->cpu = cpu;
	q->dsq = DSQ_CPU | q->cpu;
}

/* A CPU that went idle since select_cpu looked has not seen what was just queued. */
static void announce(struct task_struct *p, const struct subject *s, const struct queue *q)
{
	s32 idle = -1;

	if (q->dsq >= DSQ_POOL) {
		idle = pick_idle_in_pool(p, s->policy->pool, q->cpu);
	} else if (q->dsq >= DSQ_LLC) {
		note_waiting(llc_of(q->cpu));
		idle = s->class == CLASS_SHORT ? pick_free_idle(p, q->cpu, 0)
					       : pick_shared_idle(p, q->cpu);
	}
	if (idle >= 0)
		scx_bpf_kick_cpu(idle, SCX_KICK_IDLE);
	/* a CPU that just gives up @p looks by itself */
	else if (q->cpu != scx_bpf_task_cpu(p) || !scx_bpf_task_running(p))
		scx_bpf_kick_cpu(q->cpu, SCX_KICK_IDLE);
}

void BPF_STRUCT_OPS(steer_enqueue, struct task_struct *p, u64 enq_flags)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct task_ctx *task = ctx_of(p);
	enum wake wake = decided(task, cpu);
	struct subject s;
	struct queue q;

	if (run_here(p, task, wake, enq_flags))
		return;
	if (is_per_cpu_kthread(p)) {
		count(CNT_KTHREAD);
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, place_settings.slice_ns,
				   enq_flags | SCX_ENQ_PREEMPT);
		return;
	}
	look_at(&s, p);
	choose_queue(&q, p, &s, cpu);

	/* the kernel does not look at the queue again by itself: the CPU is about to idle */
	if (enq_flags & SCX_ENQ_LAST &&
	    (q.cpu == cpu || (s.class == CLASS_NONE && !is_exclusive(cpu)))) {
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, place_settings.slice_ns, enq_flags);
		scx_bpf_kick_cpu(cpu, 0);
		return;
	}
	if (s.task && !q.resumes)
		s.task->queued_ns = s.now;
	/* select_cpu was passed by, for a pinned thread or one still going to sleep */
	if (enq_flags & SCX_ENQ_WAKEUP && wake == WAKE_UNSEEN) {
		bool owner = goes_by_packets(&s) || (is_pinned(p) && s.class == CLASS_LONG);

		limit_lag(p, s.task);
		if (q.cpu == cpu && run_here(p, s.task, wake_at(p, &s, cpu, owner), enq_flags))
			return;
	}

	if (s.task)
		s.task->queued_as = s.class;
	set_clock(p, s.task, llc_of_queue(q.dsq, q.cpu));
	limit_lag(p, s.task);
	scx_bpf_dsq_insert_vtime(p, q.dsq, place_settings.slice_ns, p->scx.dsq_vtime, enq_flags);
	announce(p, &s, &q);
}

/* Does the thread that runs on @cpu belong elsewhere? */
static bool is_misplaced(struct task_struct *p, const struct subject *s, s32 cpu)
{
	s32 target;

	if (!s->task || is_pinned(p))
		return false;
	if (goes_by_packets(s)) {
		target = long_target(p, s->task, s->now);
		if (target >= 0)
			return target != cpu;
	}
	if (s->policy->pool)
		return !is_in_pool(cpu, s->policy->pool);
	return is_exclusive(cpu) || (s->class == CLASS_SHORT && is_claimed(cpu, s->now));
}

void BPF_STRUCT_OPS(steer_dispatch, s32 cpu, struct task_struct *prev)
{
	u64 now = clock_now();
	bool claimed = is_claimed(cpu, now);
	struct cpu_state *state = state_of(cpu);
	struct subject s;
	u64 vtime;

	if (take_from_crowd(cpu, claimed, now))
		return;
	if (!prev || !(prev->scx.flags & SCX_TASK_QUEUED)) {
		if (!take_own(cpu, claimed, now))
			take_foreign(cpu, claimed, now);
		return;
	}
	look_at(&s, prev);
	if (is_misplaced(prev, &s, cpu)) {
		take_own(cpu, claimed, now); /* if there is nothing, steer_enqueue still moves it */
		return;
	}
	end_slice(state, prev, now);
	limit_lag(prev, s.task);
	vtime = vtime_told_by(llc_of(cpu), prev->scx.dsq_vtime, state->clock);
	if (!is_furthest_behind(vtime, cpu) && take_own(cpu, claimed, now))
		return;
	start_slice(state, prev, s.task, now);
	scx_bpf_task_set_slice(prev, place_settings.slice_ns);
}

void BPF_STRUCT_OPS(steer_tick, struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct cpu_state *state = state_of(cpu);
	struct subject s;

	look_at(&s, p);
	count_busy_time(state, p);
	note_running(state, p, s.class);
	/*
	 * A thread whose flow became long or whose policy changed moves now, not when it
	 * sleeps. One that was lent this CPU keeps it for its slice.
	 */
	if ((s.class == CLASS_LONG || s.policy->pool || is_exclusive(cpu)) &&
	    is_misplaced(p, &s, cpu))
		scx_bpf_task_set_slice(p, 0);
	look_for_crowd(cpu, state, s.now);
	rescue_from(DSQ_CPU | cpu, cpu, s.now);
	rescue_from(DSQ_LLC | llc_of(cpu), cpu, s.now);
	if (s.policy->pool)
		rescue_from(DSQ_POOL | s.policy->pool, cpu, s.now);
}

void BPF_STRUCT_OPS(steer_running, struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct cpu_state *state = state_of(cpu);
	struct subject s;

	look_at(&s, p);
	start_slice(state, p, s.task, s.now);
	state->exec_mark = p->se.sum_exec_runtime;
	state->preempted = false;
	note_running(state, p, s.class);
	state->pool = s.policy->pool;
	state->pinned = is_pinned(p);
	if (s.class == CLASS_LONG && s.task && s.task->target == cpu)
		claim_core(s.task, cpu, s.now, place_settings.claim_ns);
}

void BPF_STRUCT_OPS(steer_stopping, struct task_struct *p, bool runnable)
{
	struct cpu_state *state = state_of(scx_bpf_task_cpu(p));

	count_busy_time(state, p);
	end_slice(state, p, clock_now());
	/* what comes next may be of another scheduling class, and is not ours to preempt */
	state->class = NR_CLASSES;
	state->pinned = true;
}

void BPF_STRUCT_OPS(steer_enable, struct task_struct *p)
{
	struct task_ctx *task = ctx_of(p);
	u32 llc = llc_of(scx_bpf_task_cpu(p));

	scx_bpf_task_set_dsq_vtime(p, clock_of(llc));
	if (task) {
		task->clock = llc;
		task->wake = WAKE_UNSEEN;
	}
}

s32 BPF_STRUCT_OPS(steer_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct task_ctx *task =
		bpf_task_storage_get(&tasks, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!task)
		return -ENOMEM;
	task->target = -1;
	task->left_home = -1;
	return 0;
}

s32 BPF_STRUCT_OPS_SLEEPABLE(steer_init)
{
	s32 err;

	if (scx_bpf_nr_cpu_ids() > MAX_CPUS) {
		scx_bpf_error("CPU numbers up to %u, but the tables end at %u",
			      scx_bpf_nr_cpu_ids() - 1, MAX_CPUS);
		return -E2BIG;
	}
	err = make_mask(0);
	if (!err)
		err = init_queues();
	if (!err)
		err = init_cores();
	return err ?: start_upkeep();
}

void BPF_STRUCT_OPS(steer_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(steer_ops, .select_cpu = (void *)steer_select_cpu, .enqueue = (void *)steer_enqueue,
	       .dispatch = (void *)steer_dispatch, .tick = (void *)steer_tick,
	       .running = (void *)steer_running, .stopping = (void *)steer_stopping,
	       .enable = (void *)steer_enable, .init_task = (void *)steer_init_task,
	       .init = (void *)steer_init, .exit = (void *)steer_exit,
	       .flags = SCX_OPS_ENQ_LAST | SCX_OPS_ALLOW_QUEUED_WAKEUP, .timeout_ms = 10000U,
	       .name = "scx_steer");
