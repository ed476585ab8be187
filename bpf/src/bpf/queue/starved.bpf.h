/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Starved threads: weights are as far apart as 3 (SCHED_IDLE) and 88,761 (nice -20), so by weight
 * alone a thread may wait for minutes, and the kernel's watchdog would eject the scheduler. One
 * that has waited for STARVED_NS goes to the head of its CPU's queue, for a tick. That is less than
 * a thousandth of the CPU.
 */
#ifndef __STEER_STARVED_BPF_H
#define __STEER_STARVED_BPF_H

#include <scx/common.bpf.h>
#include "ground/affinity.bpf.h"
#include "ground/shards.bpf.h"
#include "ground/context.bpf.h"
#include "queue/clock.bpf.h"
#include "queue/queue.bpf.h"

/* How long a thread waits at most before it is served out of turn, and how often we look. */
#define STARVED_NS	(5 * 1000 * 1000 * 1000ULL)
#define STARVED_LOOK_NS (1000 * 1000 * 1000ULL)

static u64 starved_look_ns; /* when the timer looks next */

/* Serve @p, to which @it points, next on a CPU that it may use. */
static __always_inline void serve_next(struct bpf_iter_scx_dsq *it, struct task_struct *p,
				       struct task_ctx *task, u64 now)
{
	s32 cpu = allowed(p, scx_bpf_task_cpu(p));

	lift_clock(cpu);
	scx_bpf_dsq_move_set_slice(it, UNTIL_TICK_NS);
	note_sent(cpu, now);
	if (requeue(it, p, task, DSQ_CPU | cpu, cpu, first_vtime(cpu)))
		scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
}

static void feed(u64 dsq, u64 now)
{
	struct task_struct *p;

	if (!scx_bpf_dsq_nr_queued(dsq))
		return;
	bpf_for_each (scx_dsq, p, dsq, 0) {
		struct task_ctx *task = ctx_of(p);

		if (task && now > task->queued_ns + STARVED_NS)
			serve_next(BPF_FOR_EACH_ITER, p, task, now);
	}
}

/* Called by the timer. */
static void feed_starved(u64 now)
{
	s32 i;

	if (now < starved_look_ns)
		return;
	starved_look_ns = now + STARVED_LOOK_NS;
	bpf_for (i, 0, scx_bpf_nr_cpu_ids())
		feed(DSQ_CPU | i, now);
	bpf_for (i, 0, nr_shards)
		feed(DSQ_SHARD | i, now);
	bpf_for (i, 1, MAX_POOLS + 1)
		feed(DSQ_POOL | i, now);
}

#endif /* __STEER_STARVED_BPF_H */
