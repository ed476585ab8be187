/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Without ticks: a CPU of nohz_full= keeps its tick off while one thread runs there.
 *
 * The kernel stops the tick if the thread's slice had no end as it began to run
 * (set_next_task_scx(), scx_can_stop_tick(), kernel/sched/ext.c, 6.18). So it gets such a slice if
 * no other thread waits for the CPU. When one does, the timer asks the CPU anew every
 * CLAIM_REFRESH_NS, which is as long as a slice. The kernel itself calls ops.tick once a second for
 * such a CPU, from another one (sched_tick_remote(), kernel/sched/core.c).
 */
#ifndef __STEER_TICKLESS_BPF_H
#define __STEER_TICKLESS_BPF_H

#include <scx/common.bpf.h>
#include "ground/cpu.bpf.h"
#include "ground/pool.bpf.h"
#include "ground/settings.bpf.h"
#include "ground/subject.bpf.h"
#include "queue/limit.bpf.h"
#include "queue/queue.bpf.h"

/* The CPUs of nohz_full=, one bit each, and whether there are any. */
const volatile u64 nohz_full_cpus[MAX_CPUS / 64];
const volatile bool some_nohz_full;

static __always_inline bool is_nohz_full(s32 cpu)
{
	return nohz_full_cpus[slot(cpu) / 64] >> (cpu & 63) & 1;
}

/* Does a thread wait in a queue that @cpu serves first? */
static bool waits_for(s32 cpu)
{
	u32 pool;

	if (scx_bpf_dsq_nr_queued(DSQ_CPU | cpu))
		return true;
	if (!is_exclusive(cpu) && scx_bpf_dsq_nr_queued(DSQ_SHARD | shard_of(cpu)))
		return true;
	bpf_for (pool, 1, nr_pools + 1)
		if (is_in_pool(cpu, pool) && scx_bpf_dsq_nr_queued(DSQ_POOL | pool))
			return true;
	return false;
}

/*
 * May the subject run on @cpu without ticks? A quota needs them, and so does the way of a long-flow
 * thread to its place.
 */
static __always_inline bool needs_no_ticks(const struct subject *s, s32 cpu)
{
	return is_nohz_full(cpu) && !goes_by_packets(s) && !is_limited(s->task) && !waits_for(cpu);
}

/* The subject @p begins to run on @cpu: without ticks, if it may. */
static __always_inline void begin_tickless(struct task_struct *p, const struct subject *s, s32 cpu)
{
	bool tickless = some_nohz_full && needs_no_ticks(s, cpu);

	state_of(cpu)->tickless = tickless;
	if (tickless)
		scx_bpf_task_set_slice(p, SCX_SLICE_INF);
}

/* The subject goes on running on @cpu. Should it begin anew, now that it needs no ticks? */
static __always_inline bool begins_anew(const struct subject *s, s32 cpu)
{
	return some_nohz_full && !state_of(cpu)->tickless && needs_no_ticks(s, cpu);
}

/*
 * The slice with which the thread on @state's CPU goes on. Without ticks, the timer ends it.
 *
 * All CPUs have their ticks at the same time, so another CPU of the shard, which lets two threads
 * take turns, may have taken one when this CPU looks, and not yet put back the other. A thread that
 * gives way looks again at the next tick: else the two CPUs could look in step for long.
 */
static __always_inline u64 next_slice(const struct cpu_state *state)
{
	if (state->tickless)
		return SCX_SLICE_INF;
	return gives_way(state) ? UNTIL_TICK_NS : place_settings.slice_ns;
}

/*
 * What ticks would do for @cpu: the clock goes along with the thread that runs there, or the next
 * one that comes would be owed all that time. And if one waits, the CPU looks for it. Called by the
 * timer.
 */
static __always_inline void tick_instead(s32 cpu, u64 now)
{
	const struct cpu_state *state = state_of(cpu);

	if (!some_nohz_full || !state->tickless)
		return;
	if (runs_ours(cpu) && now > state->started_ns)
		advance_clocks(state->clock, running_vtime(state, now - state->started_ns), now);
	if (waits_for(cpu))
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
}

#endif /* __STEER_TICKLESS_BPF_H */
