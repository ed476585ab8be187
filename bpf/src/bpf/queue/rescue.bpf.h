/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rescue: the way out for a thread that waits although another CPU idles. Examples are a thread
 * that waits for its own CPU, a short-flow thread while only claimed CPUs idle, and a thread that
 * a CPU did not see as it went idle.
 */
#ifndef __STEER_RESCUE_BPF_H
#define __STEER_RESCUE_BPF_H

#include <scx/common.bpf.h>
#include "ground/counters.bpf.h"
#include "ground/cpu.bpf.h"
#include "ground/idle.bpf.h"
#include "queue/queue.bpf.h"

/* Take the thread that @cpu was woken to rescue, if there is one. */
static __always_inline bool take_rescued(s32 cpu)
{
	struct cpu_state *state = state_of(cpu);
	u64 dsq = state->rescue_dsq;

	if (!dsq)
		return false;
	state->rescue_dsq = 0;
	if (!take(dsq))
		return false;
	count(CNT_RESCUE);
	return true;
}

/* An idle CPU of @node that @p may use. Takes it out of the idle set; < 0 if there is none. */
static s32 pick_idle_on(const struct task_struct *p, u32 node)
{
	s32 cpu;

	bpf_for (cpu, 0, scx_bpf_nr_cpu_ids())
		if (plan_of(cpu)->node == node && may_run_on(p, cpu) &&
		    scx_bpf_test_and_clear_cpu_idle(cpu))
			return cpu;
	return -1;
}

/*
 * If the first thread of @dsq, which @cpu serves, has waited for too long, wake an idle CPU for it.
 * A long-flow thread with a place stays on its node, see spill_cost(). Called where
 * scx_bpf_select_cpu_and() is not allowed.
 */
static void rescue_from(u64 dsq, s32 cpu, u64 now)
{
	struct task_struct *p;
	s32 idle = -1;

	if (!scx_bpf_dsq_nr_queued(dsq))
		return;
	bpf_for_each (scx_dsq, p, dsq, 0) {
		struct task_ctx *task = ctx_of(p);

		if (task && now > task->queued_ns + place_settings.lend_after_ns)
			idle = dsq < DSQ_SHARD && task->queued_as == CLASS_LONG
				       ? pick_idle_on(p, plan_of(cpu)->node)
				       : pick_any_idle(p, scx_bpf_task_cpu(p));
		break;
	}
	if (idle < 0)
		return;
	/* if the CPU is exclusive, the kick puts it back into the idle set */
	if (!is_exclusive(idle))
		state_of(idle)->rescue_dsq = dsq;
	scx_bpf_kick_cpu(idle, SCX_KICK_IDLE);
}

/*
 * Do that for all queues but the pools'. Called by the timer: an idle CPU has no ticks, nor has one
 * that runs a thread of another scheduling class.
 */
static void rescue_all(u64 now)
{
	s32 i;

	bpf_for (i, 0, scx_bpf_nr_cpu_ids()) {
		/* a thread may have been on its way for longer than its CPU thought */
		if (scx_bpf_dsq_nr_queued(DSQ_CPU | i))
			note_sent(i, now);
		rescue_from(DSQ_CPU | i, i, now);
	}
	bpf_for (i, 0, nr_shards) {
		/* a CPU may have cleared the bit just before the thread was queued */
		if (scx_bpf_dsq_nr_queued(DSQ_SHARD | i))
			note_waiting(i, now);
		rescue_from(DSQ_SHARD | i, -1, now);
	}
}

#endif /* __STEER_RESCUE_BPF_H */
