/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Queues: one per CPU for threads that should run on this CPU only, one per pool that a policy
 * names, one per shard for all other threads. Virtual time orders them all, so weights hold across
 * classes and no class starves another.
 *
 * A CPU serves its own queue, its pools' and its shard's; it takes the thread that is furthest
 * behind. If all are empty, it serves other shards' queues. A claimed CPU passes over short-flow
 * threads in shards' queues, unless one has waited for too long.
 */
#ifndef __STEER_QUEUE_BPF_H
#define __STEER_QUEUE_BPF_H

#include <scx/common.bpf.h>
#include "ground/affinity.bpf.h"
#include "ground/shards.bpf.h"
#include "ground/context.bpf.h"
#include "ground/counters.bpf.h"
#include "ground/pool.bpf.h"
#include "ground/settings.bpf.h"
#include "queue/clock.bpf.h"
#include "queue/hint.bpf.h"

/* The kind of a queue's number. */
static __always_inline u32 kind_of(u64 dsq)
{
	return dsq >> 16 << 16;
}

/* The clock that orders @dsq, which @cpu serves. */
static u32 clock_of_queue(u64 dsq, s32 cpu)
{
	switch (kind_of(dsq)) {
	case DSQ_CPU:
		return CLOCK_CPU | slot(dsq);
	case DSQ_POOL:
		return pool_clock(dsq & (DSQ_CPU - 1));
	default:
		return shard_of(cpu);
	}
}

static __always_inline bool take(u64 dsq)
{
	return scx_bpf_dsq_nr_queued(dsq) && scx_bpf_dsq_move_to_local(dsq, 0);
}

/* Lift the clock of @cpu's queue for the thread that is first there. */
static void lift_clock(s32 cpu)
{
	struct task_struct *p = NULL;

	if (scx_bpf_dsq_nr_queued(DSQ_CPU | cpu))
		p = __COMPAT_scx_bpf_dsq_peek(DSQ_CPU | cpu);
	if (p)
		lift_clock_for(cpu, p, ctx_of(p));
}

/* From now on, the clock of @cpu's queue tells the virtual time of @p. */
static __always_inline void set_cpu_clock(struct task_struct *p, struct task_ctx *task, s32 cpu)
{
	set_clock(p, task, CLOCK_CPU | slot(cpu));
	lift_clock_for(cpu, p, task);
}

/*
 * Move @p, to which @it points, to @dsq, which @cpu serves: @vtime is told by the clock of that
 * queue. The caller has noted it (hint.bpf.h). False if another CPU has taken it meanwhile.
 */
static __always_inline bool requeue(struct bpf_iter_scx_dsq *it, struct task_struct *p,
				    struct task_ctx *task, u64 dsq, s32 cpu, u64 vtime)
{
	scx_bpf_dsq_move_set_vtime(it, vtime);
	if (!scx_bpf_dsq_move_vtime(it, p, dsq, 0))
		return false;
	note_clock(task, clock_of_queue(dsq, cpu));
	return true;
}

/* At how many threads of a queue a CPU looks for one that it may run. */
#define MOST_LOOKS 16

/*
 * The virtual time by which @p, the first thread of @dsq that may run on @cpu, is compared with
 * those of other queues: by the clock of @cpu's shard.
 */
static u64 vtime_as_head(const struct task_struct *p, const struct task_ctx *task, u64 dsq, s32 cpu,
			 u64 now)
{
	u32 shard = shard_of(cpu);

	return vtime_of_head(vtime_told_by(shard, p->scx.dsq_vtime, clock_of_queue(dsq, cpu)),
			     clock_at(shard)->vtime, place_settings.slice_ns,
			     task ? now - task->queued_ns : 0);
}

/*
 * That of the first thread of @dsq that may run on @cpu; or one after all others. Global, so that
 * the verifier walks it once and not for each caller.
 */
__weak __noinline u64 first_fitting(u64 dsq, s32 cpu, u64 now)
{
	u64 vtime = clock_at(shard_of(cpu))->vtime + (1ULL << 62);
	struct task_struct *p;
	u32 looked = 0;

	bpf_for_each (scx_dsq, p, dsq, 0) {
		if (++looked > MOST_LOOKS)
			break;
		if (!may_run_on(p, cpu))
			continue;
		vtime = vtime_as_head(p, ctx_of(p), dsq, cpu, now);
		break;
	}
	return vtime;
}

/* The same; ~0 if the queue is empty. If @dsq is the CPU's own, its clock is lifted first. */
__weak __noinline u64 head_vtime(u64 dsq, s32 cpu, u64 now)
{
	struct task_struct *p = __COMPAT_scx_bpf_dsq_peek(dsq);
	struct task_ctx *task;

	if (!p)
		return ~0ULL;
	task = ctx_of(p);
	if (kind_of(dsq) == DSQ_CPU)
		lift_clock_for(cpu, p, task);
	return may_run_on(p, cpu) ? vtime_as_head(p, task, dsq, cpu, now)
				  : first_fitting(dsq, cpu, now);
}

/*
 * Take the first thread of @dsq that may run on @cpu. If that is claimed, not a short-flow one,
 * unless it has waited for long enough (lend_wait). Global, as first_fitting().
 */
__weak __noinline bool take_fitting(s32 cpu, u64 dsq, bool claimed, u64 now)
{
	struct task_struct *p;
	u32 looked = 0;

	if (!scx_bpf_dsq_nr_queued(dsq))
		return false;
	bpf_for_each (scx_dsq, p, dsq, 0) {
		struct task_ctx *task = ctx_of(p);
		bool avoids = claimed && task && task->queued_as == CLASS_SHORT;

		if (++looked > MOST_LOOKS)
			break;
		if (!may_run_on(p, cpu) ||
		    (avoids && now < task->queued_ns + lend_wait(place_settings.lend_after_ns,
								 state_of(cpu)->load_1024ths)))
			continue;
		if (scx_bpf_dsq_move(BPF_FOR_EACH_ITER, p, SCX_DSQ_LOCAL, 0)) {
			if (avoids)
				count(CNT_SHORT_LENT);
			return true;
		}
	}
	return false;
}

/*
 * Take from @dsq, the queue of a shard. The kernel's search walks past all threads that may not run
 * here, under the queue's lock. At @cpu's own shard they are few (bound.bpf.h).
 */
static bool take_shared(s32 cpu, u64 dsq, bool claimed, u64 now)
{
	if (claimed || dsq != (DSQ_SHARD | shard_of(cpu)))
		return take_fitting(cpu, dsq, claimed, now);
	return take(dsq);
}

/*
 * Of @own, which may be 0, and the queues of the pools of @cpu: the queue with the thread that is
 * furthest behind. Global, as first_fitting().
 */
__weak __noinline u64 first_with_pools(s32 cpu, u64 own, u64 now)
{
	u64 best = own, vtime = own ? head_vtime(own, cpu, now) : 0, head;
	u32 pool;

	bpf_for (pool, 1, nr_pools + 1) {
		u64 dsq = DSQ_POOL | pool;

		if (pool > MAX_POOLS || !is_in_pool(cpu, pool) || !scx_bpf_dsq_nr_queued(dsq))
			continue;
		head = head_vtime(dsq, cpu, now);
		if (!best || time_before(head, vtime)) {
			best = dsq;
			vtime = head;
		}
	}
	return best;
}

/* Take from any queue of the pools of @cpu that has a thread which may run there. */
static bool take_from_pools(s32 cpu)
{
	u32 pool;

	bpf_for (pool, 1, nr_pools + 1)
		if (is_in_pool(cpu, pool) && take(DSQ_POOL | pool))
			return true;
	return false;
}

/* Take from @cpu's own queue. */
static bool take_from_own(s32 cpu)
{
	bool taken = scx_bpf_dsq_move_to_local(DSQ_CPU | cpu, 0);

	note_taken(cpu, taken);
	return taken;
}

/*
 * Take the thread that is furthest behind from the queues that @cpu serves first. @mine: one may
 * wait in its own; @waits: one waits in its shard's.
 */
static bool take_first(s32 cpu, bool mine, bool waits, bool claimed, u64 now)
{
	u64 own = mine ? DSQ_CPU | cpu : 0, shared = DSQ_SHARD | shard_of(cpu);

	if (cpu_pools[slot(cpu)].pools) {
		own = first_with_pools(cpu, mine && scx_bpf_dsq_nr_queued(own) ? own : 0, now);
		mine = own == (DSQ_CPU | cpu);
	}
	if (waits &&
	    (!own || time_before(head_vtime(shared, cpu, now), head_vtime(own, cpu, now))) &&
	    take_shared(cpu, shared, claimed, now))
		return true;
	if (mine ? take_from_own(cpu) : own && scx_bpf_dsq_move_to_local(own, 0))
		return true;
	/* the pool's threads may run on its other CPUs only: then any other that waits */
	if (own >= DSQ_POOL && (take(DSQ_CPU | cpu) || take_from_pools(cpu)))
		return true;
	return own && waits && take_shared(cpu, shared, claimed, now);
}

/*
 * Take a thread from the queues that @cpu serves first. Every switch does this, and as a rule none
 * waits, or one in the CPU's own queue.
 */
static __always_inline bool take_own(s32 cpu, bool claimed, u64 now)
{
	bool mine = own_may_wait(cpu, now),
	     waits = !is_exclusive(cpu) && waits_in(shard_of(cpu), now);

	if (waits || cpu_pools[slot(cpu)].pools)
		return take_first(cpu, mine, waits, claimed, now);
	return mine && take_from_own(cpu);
}

/*
 * Is @p, which runs on @cpu, further behind than all threads in the queues that @cpu serves first?
 * If its clock is that of the CPU's own queue, it is lifted first, also for @p. So its virtual time
 * is told by the shard's only after that.
 */
static bool is_furthest_behind(const struct task_struct *p, const struct task_ctx *task, s32 cpu,
			       u64 now)
{
	u64 own = own_may_wait(cpu, now) ? DSQ_CPU | cpu : 0, shared = DSQ_SHARD | shard_of(cpu),
	    head, vtime;
	u32 clock = state_of(cpu)->clock;

	if (clock == (CLOCK_CPU | slot(cpu)))
		lift_clock_for(cpu, p, task);
	if (own && !scx_bpf_dsq_nr_queued(own))
		own = 0;
	if (cpu_pools[slot(cpu)].pools)
		own = first_with_pools(cpu, own, now);
	head = own ? head_vtime(own, cpu, now) : 0;
	vtime = vtime_told_by(shard_of(cpu), p->scx.dsq_vtime, clock);
	if (own && !time_before(vtime, head))
		return false;
	return is_exclusive(cpu) || !waits_in(shard_of(cpu), now) ||
	       time_before(vtime, head_vtime(shared, cpu, now));
}

/* Take work of other shards, for a CPU that has none of its own. */
static void take_foreign(s32 cpu, bool claimed, u64 now)
{
	u32 shard = shard_of(cpu), other, i;

	if (is_exclusive(cpu) || !may_wait_elsewhere(shard))
		return;
	bpf_for (i, 1, nr_shards) {
		other = next_shard(shard, i);
		if (!may_wait(other))
			continue;
		if (take_shared(cpu, DSQ_SHARD | other, claimed, now)) {
			count(CNT_STEAL);
			return;
		}
		if (!scx_bpf_dsq_nr_queued(DSQ_SHARD | other))
			note_empty(other, now);
	}
}

/* Called once from ops.init. */
static s32 init_queues(void)
{
	s32 i, err = 0;

	bpf_for (i, 0, scx_bpf_nr_cpu_ids()) {
		err = scx_bpf_create_dsq(DSQ_CPU | i, -1);
		if (err)
			return err;
	}
	bpf_for (i, 0, nr_shards) {
		err = scx_bpf_create_dsq(DSQ_SHARD | i, -1);
		if (err)
			return err;
	}
	bpf_for (i, 1, MAX_POOLS + 1) {
		err = scx_bpf_create_dsq(DSQ_POOL | i, -1);
		if (err)
			return err;
	}
	return 0;
}

#endif /* __STEER_QUEUE_BPF_H */
