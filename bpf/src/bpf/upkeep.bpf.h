/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Upkeep: what the timer does every CLAIM_REFRESH_NS. It refreshes claims, loads and reserved
 * cores, and moves threads that wait in a queue which no CPU serves for them.
 */
#ifndef __STEER_UPKEEP_BPF_H
#define __STEER_UPKEEP_BPF_H

#include <scx/common.bpf.h>
#include "ground/affinity.bpf.h"
#include "ground/shards.bpf.h"
#include "ground/context.bpf.h"
#include "ground/idle.bpf.h"
#include "ground/now.bpf.h"
#include "ground/policy.bpf.h"
#include "ground/pool.bpf.h"
#include "place/load.bpf.h"
#include "place/power.bpf.h"
#include "place/reserve.bpf.h"
#include "queue/balance.bpf.h"
#include "queue/clock.bpf.h"
#include "queue/limit.bpf.h"
#include "queue/queue.bpf.h"
#include "queue/rescue.bpf.h"
#include "queue/shares.bpf.h"
#include "queue/starved.bpf.h"
#include "tickless.bpf.h"

/* How long a thread waits in a pool's queue before it is moved to the queue of one CPU. */
#define POOL_WAIT_NS (100 * 1000 * 1000ULL)
/* How long a thread waits in a shard before it counts as stranded there. */
#define STRANDED_NS (1000 * 1000 * 1000ULL)

/* Each timer has a twin, whose number is NR_TIMERS more. */
enum { TIMER_UPKEEP, TIMER_LIMITS, NR_TIMERS };

struct upkeep_timer {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2 * NR_TIMERS);
	__type(key, u32);
	__type(value, struct upkeep_timer);
} upkeep_timers SEC(".maps");

/* A CPU that @p may use and that is not taken: an idle one if possible; or -1. */
static s32 any_untaken(struct task_struct *p, s32 cpu)
{
	s32 i, other = pick_any_idle(p, cpu);

	if (other >= 0)
		return other;
	bpf_for (i, 1, scx_bpf_nr_cpu_ids()) {
		other = cpu + i < scx_bpf_nr_cpu_ids() ? cpu + i : cpu + i - scx_bpf_nr_cpu_ids();
		if (may_run_on(p, other) && !is_taken(other) && !is_exclusive(other))
			return other;
	}
	return -1;
}

/* Move @p, to which @it points, to the queue of @cpu, by its clock. */
static __always_inline void settle_at(struct bpf_iter_scx_dsq *it, struct task_struct *p,
				      struct task_ctx *task, s32 cpu, u64 now)
{
	u64 dsq = DSQ_CPU | cpu;

	lift_clock(cpu);
	note_sent(cpu, now);
	if (requeue(it, p, task, dsq, cpu, vtime_at(p, task, clock_of_queue(dsq, cpu))))
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
			settle_at(BPF_FOR_EACH_ITER, p, task, cpu, now);
		}
	}
}

/*
 * Move threads that wait in a shard in vain: all CPUs that they may use have become exclusive,
 * or all those in this shard have. How long they wait tells the second.
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
		settle_at(BPF_FOR_EACH_ITER, p, task, shared >= 0 ? shared : allowed(p, cpu), now);
	}
}

/* Move threads that wait for a CPU that is taken, and may use others. */
static void resettle_from(s32 cpu, u64 now)
{
	struct task_struct *p;

	if (!is_taken(cpu) || !scx_bpf_dsq_nr_queued(DSQ_CPU | cpu))
		return;
	bpf_for_each (scx_dsq, p, DSQ_CPU | cpu, 0) {
		struct task_ctx *task = ctx_of(p);
		s32 other;

		if (!task || is_pinned(p))
			continue;
		other = any_untaken(p, cpu);
		if (other >= 0)
			settle_at(BPF_FOR_EACH_ITER, p, task, other, now);
	}
}

/* By how much NTP may slew CLOCK_MONOTONIC between two timers: 500 ppm of 20 ms. */
#define SLEW_NS (10 * 1000ULL)

static u64 clock_lead_ns; /* clock_now(), less CLOCK_MONOTONIC; 0: not known yet */

/*
 * The time, in a timer. On an idle CPU clock_now() may be that of the last update of the run
 * queue's clock: 6.18.15 was 200 ms behind. CLOCK_MONOTONIC is right, but has been slewed for as
 * long as the host is up. So it tells how much time has passed since the two last agreed.
 */
static u64 timer_now(void)
{
	u64 monotonic = bpf_ktime_get_ns(), lead = clock_now() - monotonic;

	if (clock_lead_ns && time_before(lead, clock_lead_ns - SLEW_NS))
		lead = clock_lead_ns - SLEW_NS;
	clock_lead_ns = lead;
	return monotonic + lead;
}

static s32 start_timer(u32 number, u64 period_ns)
{
	struct upkeep_timer *t = bpf_map_lookup_elem(&upkeep_timers, &number);

	return t ? bpf_timer_start(&t->timer, period_ns, 0) : -ENOENT;
}

/*
 * The timer with this number runs again later. A timer that its own callback starts stays on its
 * CPU. On a CPU of nohz_full= its twin is started instead: the kernel gives that one to another CPU
 * (get_nohz_timer_target(), kernel/sched/core.c, 6.18).
 */
static void run_again(u32 number, u64 period_ns)
{
	if (some_nohz_full && is_nohz_full(bpf_get_smp_processor_id()))
		number ^= NR_TIMERS;
	start_timer(number, period_ns);
}

static bool limits_timed; /* the timer of limits runs */

/* Runs only while there are limits: each run wakes an idle CPU. */
static int refresh_limits(void *map, int *key, struct upkeep_timer *timer)
{
	limits_timed = nr_limited;
	if (!limits_timed)
		return 0;
	refill_all(timer_now());
	run_again(*key, LIMIT_REFRESH_NS);
	return 0;
}

/* Called by the other timer. */
static void time_limits(void)
{
	if (!nr_limited || limits_timed)
		return;
	limits_timed = true;
	start_timer(TIMER_LIMITS, 0);
}

static int upkeep(void *map, int *key, struct upkeep_timer *timer)
{
	u64 now = timer_now();
	s32 cpu, shard;

	/* to the verifier of 6.12, a timer may sleep as ops.init may */
	bpf_rcu_read_lock();
	if (refresh_cores(now))
		reserve_cores(now);
	bpf_rcu_read_unlock();
	average_use(now);
	distribute_shares();
	measure_crowds(now);
	bpf_rcu_read_lock();
	bpf_for (cpu, 0, scx_bpf_nr_cpu_ids()) {
		look_who_runs(cpu);
		resettle_from(cpu, now);
		tick_instead(cpu, now);
	}
	resettle(now);
	bpf_for (shard, 0, nr_shards)
		resettle_under(DSQ_SHARD | shard, now);
	rescue_all(now);
	feed_starved(now);
	bpf_rcu_read_unlock();
	time_limits();
	run_again(*key, CLAIM_REFRESH_NS);
	return 0;
}

static s32 init_timer(u32 number)
{
	struct upkeep_timer *t = bpf_map_lookup_elem(&upkeep_timers, &number);
	s32 err;

	if (!t)
		return -ENOENT;
	err = bpf_timer_init(&t->timer, &upkeep_timers, CLOCK_MONOTONIC);
	if (err)
		return err;
	if (number % NR_TIMERS == TIMER_LIMITS)
		return bpf_timer_set_callback(&t->timer, refresh_limits);
	return bpf_timer_set_callback(&t->timer, upkeep);
}

/* Called once from ops.init. */
static s32 start_upkeep(void)
{
	u32 number;
	s32 err = 0;

	bpf_for (number, 0, 2 * NR_TIMERS) {
		err = init_timer(number);
		if (err)
			return err;
	}
	return start_timer(TIMER_UPKEEP, CLAIM_REFRESH_NS);
}

#endif /* __STEER_UPKEEP_BPF_H */
