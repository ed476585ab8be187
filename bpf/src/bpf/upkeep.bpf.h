/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Upkeep: what the timer does every CLAIM_REFRESH_NS. It refreshes claims, loads and reserved
 * cores, and moves threads that wait in a queue which no CPU serves for them.
 */
#ifndef __STEER_UPKEEP_BPF_H
#define __STEER_UPKEEP_BPF_H

#include <scx/common.bpf.h>
#include "ground/affinity.bpf.h"
#include "ground/caches.bpf.h"
#include "ground/context.bpf.h"
#include "ground/now.bpf.h"
#include "ground/policy.bpf.h"
#include "ground/pool.bpf.h"
#include "place/load.bpf.h"
#include "place/reserve.bpf.h"
#include "queue/clock.bpf.h"
#include "queue/queue.bpf.h"
#include "queue/rescue.bpf.h"

/* How long a thread waits in a pool's queue before it is moved to the queue of one CPU. */
#define POOL_WAIT_NS (100 * 1000 * 1000ULL)
/* How long a thread waits under a cache before it counts as stranded there. */
#define STRANDED_NS (1000 * 1000 * 1000ULL)

struct upkeep_timer {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct upkeep_timer);
} upkeep_timers SEC(".maps");

/* Move @p, to which @it points, to the queue of @cpu, by its clock. */
static __always_inline void settle_at(struct bpf_iter_scx_dsq *it, struct task_struct *p,
				      struct task_ctx *task, s32 cpu)
{
	u32 llc = llc_of(cpu);

	scx_bpf_dsq_move_set_vtime(it, vtime_at(p, task, llc));
	if (!scx_bpf_dsq_move_vtime(it, p, DSQ_CPU | cpu, 0))
		return;
	note_clock(task, llc);
	scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
}

/*
 * Move threads that wait for a pool in vain since the policies changed: the pool is no longer
 * theirs, or another clock orders it now.
 */
static void resettle(u64 now)
{
	struct task_struct *p;
	u32 pool;

	bpf_for (pool, 1, MAX_POOLS + 1) {
		u64 dsq = DSQ_POOL | pool;

		if (!scx_bpf_dsq_nr_queued(dsq))
			continue;
		bpf_for_each (scx_dsq, p, dsq, 0) {
			s32 cpu = scx_bpf_task_cpu(p), own = -1;
			struct task_ctx *task = ctx_of(p);

			if (!task)
				continue;
			if (policy_of(p, &task->policy)->pool == pool)
				own = any_in_pool(p, pool, cpu);
			if (own >= 0 && now < task->queued_ns + POOL_WAIT_NS)
				continue;
			if (own >= 0)
				cpu = own;
			settle_at(BPF_FOR_EACH_ITER, p, task, cpu);
		}
	}
}

/*
 * Move threads that wait under a cache in vain: all CPUs that they may use have become exclusive,
 * or all those under this cache have. How long they wait tells the second.
 */
static void resettle_under(u64 dsq, u64 now)
{
	struct task_struct *p;

	if (!nr_pools || !scx_bpf_dsq_nr_queued(dsq))
		return;
	bpf_for_each (scx_dsq, p, dsq, 0) {
		struct task_ctx *task = ctx_of(p);
		s32 cpu = scx_bpf_task_cpu(p), shared = any_shared(p, cpu);

		if (!task || (shared >= 0 && now < task->queued_ns + STRANDED_NS))
			break;
		settle_at(BPF_FOR_EACH_ITER, p, task, shared >= 0 ? shared : allowed(p, cpu));
	}
}

static int upkeep(void *map, int *key, struct upkeep_timer *timer)
{
	u64 now = clock_now();
	s32 llc;

	if (refresh_cores(now))
		reserve_cores(now);
	bpf_rcu_read_lock();
	resettle(now);
	bpf_for (llc, 0, nr_llcs)
		resettle_under(DSQ_LLC | llc, now);
	rescue_all(now);
	bpf_rcu_read_unlock();
	bpf_timer_start(&timer->timer, CLAIM_REFRESH_NS, 0);
	return 0;
}

/* Called once from ops.init. */
static s32 start_upkeep(void)
{
	struct upkeep_timer *t;
	u32 zero = 0;
	s32 err;

	t = bpf_map_lookup_elem(&upkeep_timers, &zero);
	if (!t)
		return -ENOENT;
	err = bpf_timer_init(&t->timer, &upkeep_timers, CLOCK_MONOTONIC);
	if (!err)
		err = bpf_timer_set_callback(&t->timer, upkeep);
	return err ?: bpf_timer_start(&t->timer, CLAIM_REFRESH_NS, 0);
}

#endif /* __STEER_UPKEEP_BPF_H */
