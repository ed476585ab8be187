/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Upkeep: what the timer does every CLAIM_REFRESH_NS: claims, loads and reserved cores, and
 * threads that wait where nobody looks.
 */
#ifndef __STEER_UPKEEP_BPF_H
#define __STEER_UPKEEP_BPF_H

#include "queue.bpf.h"

/* How long a thread waits in a pool's queue before it gets that of one CPU. */
#define POOL_WAIT_NS (100 * 1000 * 1000ULL)

/*
 * Threads that wait in vain for a pool, since a change of policies: it is theirs no
 * longer, or is ordered by another clock. They go on waiting at one CPU, by its clock.
 */
static void resettle(u64 now)
{
	struct task_struct *p;
	u32 pool, llc;

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
			llc = llc_of(cpu);
			scx_bpf_dsq_move_set_vtime(BPF_FOR_EACH_ITER, vtime_at(p, task, llc));
			if (!scx_bpf_dsq_move_vtime(BPF_FOR_EACH_ITER, p, DSQ_CPU | cpu, 0))
				continue;
			task->clock = llc;
			scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
		}
	}
}

static int upkeep(void *map, int *key, struct core_timer *timer)
{
	u64 now = clock_now();

	if (refresh_cores(timer, now))
		reserve_cores(now);
	bpf_rcu_read_lock();
	resettle(now);
	rescue_all(now);
	bpf_rcu_read_unlock();
	bpf_timer_start(&timer->timer, CLAIM_REFRESH_NS, 0);
	return 0;
}

static s32 start_upkeep(void)
{
	struct core_timer *t;
	u32 zero = 0;
	s32 err;

	t = bpf_map_lookup_elem(&core_timers, &zero);
	if (!t)
		return -ENOENT;
	err = bpf_timer_init(&t->timer, &core_timers, CLOCK_MONOTONIC);
	if (!err)
		err = bpf_timer_set_callback(&t->timer, upkeep);
	return err ?: bpf_timer_start(&t->timer, CLAIM_REFRESH_NS, 0);
}

#endif /* __STEER_UPKEEP_BPF_H */
