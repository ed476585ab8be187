/* SPDX-License-Identifier: GPL-2.0-only */
/* Where a thread waits that does not run at once, and which CPU is told. */
#ifndef __STEER_WAIT_BPF_H
#define __STEER_WAIT_BPF_H

#include <scx/common.bpf.h>
#include "bound.bpf.h"
#include "ground/affinity.bpf.h"
#include "ground/cpu.bpf.h"
#include "ground/idle.bpf.h"
#include "ground/pool.bpf.h"
#include "ground/settings.bpf.h"
#include "ground/subject.bpf.h"
#include "place/free.bpf.h"
#include "place/target.bpf.h"
#include "queue/queue.bpf.h"

/* Where a thread waits: the queue, and a CPU that serves it. */
struct queue {
	u64 dsq;
	s32 cpu;
	bool resumes; /* it goes on when the thread that preempted it is done */
	bool near;    /* a CPU of this shard takes it soon: near.bpf.h, handoff.bpf.h */
};

/* Does another CPU of @cpu's block idle that @p may use? */
static bool neighbour_idles(const struct task_struct *p, s32 cpu)
{
	const struct cpumask *idle = idle_near(cpu);
	bool found = false;
	s32 i, other;

	bpf_for (i, 1, BLOCK) {
		other = near_cpu(cpu, i);
		found = may_run_on(p, other) && !is_exclusive(other) &&
			bpf_cpumask_test_cpu(other, idle);
		if (found)
			break;
	}
	scx_bpf_put_idle_cpumask(idle);
	return found;
}

/* Is the traffic on @cpu light, and done soon each time? */
static bool traffic_passes(s32 cpu)
{
	const struct cpu_state *state = state_of(cpu);
	u32 run_ns = state->load_run_ns;

	if (run_ns < state->short_run_ns)
		run_ns = state->short_run_ns;
	return load_passes(state->load_1024ths, run_ns);
}

/*
 * Does @p, which gives up @cpu, wait there to go on where its data is? Yes, if the thread that
 * preempts it moves data: that one is done soon. No, if a CPU beside it idles, unless moving there
 * would cost more. After lend_after_ns another CPU may have more room, so it does not wait for
 * longer.
 */
static bool resumes(const struct task_struct *p, const struct subject *s, s32 cpu)
{
	return state_of(cpu)->preempted && scx_bpf_task_running(p) && s->class == CLASS_NONE &&
	       s->task && s->now < s->task->queued_ns + place_settings.lend_after_ns &&
	       !is_exclusive(cpu) && may_run_on(p, cpu) &&
	       (traffic_passes(cpu) || !neighbour_idles(p, cpu));
}

/* @p waits for @q's CPU and the others of its shard. */
static void wait_in_shard(struct queue *q, struct task_struct *p, u64 now)
{
	s32 cpu = waits_bound(p, q->cpu, now);

	q->dsq = DSQ_SHARD | shard_of(q->cpu);
	if (cpu < 0)
		return;
	q->cpu = cpu;
	q->dsq = DSQ_CPU | cpu;
}

/* Placement or affinity name one CPU, a policy names a pool; other threads wait in a shard. */
static void choose_queue(struct queue *q, struct task_struct *p, const struct subject *s, s32 cpu)
{
	q->cpu = -1;
	q->resumes = false;
	if (is_pinned(p))
		q->cpu = cpu;
	else if (goes_by_packets(s))
		q->cpu = place_by_packets(p, s->task, s->now);
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
		wait_in_shard(q, p, s->now);
		return;
	}
	/* all CPUs that it may use are claimed: unless it is short, those in the shard serve it
	 */
	q->cpu = any_shared(p, cpu);
	if (q->cpu >= 0 && s->class != CLASS_SHORT) {
		q->dsq = DSQ_SHARD | shard_of(q->cpu);
		return;
	}
	if (q->cpu < 0)
		q->cpu = cpu;
	q->dsq = DSQ_CPU | q->cpu;
}

/*
 * @p was queued for @cpu. Does that CPU look at its queues by itself? A kick of the CPU that this
 * runs on would cost it an interrupt (scx_bpf_kick_cpu, kernel/sched/ext.c, 6.18). A wake-up ends
 * its idling in any case (wakeup_preempt, kernel/sched/core.c). It must run there: a CPU that goes
 * idle elsewhere could miss it.
 */
static bool looks_anyway(struct task_struct *p, s32 cpu, u64 enq_flags)
{
	return cpu == scx_bpf_task_cpu(p) &&
	       (runs_ours(cpu) || scx_bpf_task_running(p) ||
		(enq_flags & SCX_ENQ_WAKEUP && cpu == bpf_get_smp_processor_id()));
}

/* Wake a CPU for the thread that was queued: one may have gone idle since select_cpu looked. */
static void announce(struct task_struct *p, const struct subject *s, const struct queue *q,
		     u64 enq_flags)
{
	s32 idle = -1;

	if (q->dsq >= DSQ_POOL) {
		idle = pick_idle_in_pool(p, s->policy->pool, q->cpu);
	} else if (q->dsq >= DSQ_SHARD) {
		note_waiting(shard_of(q->cpu), s->now);
		if (!q->near)
			idle = s->class == CLASS_SHORT ? pick_free_idle(p, q->cpu, s->now)
						       : pick_shared_idle(p, q->cpu);
	}
	if (idle >= 0)
		scx_bpf_kick_cpu(idle, SCX_KICK_IDLE);
	else if (!looks_anyway(p, q->cpu, enq_flags))
		scx_bpf_kick_cpu(q->cpu, SCX_KICK_IDLE);
}

#endif /* __STEER_WAIT_BPF_H */
