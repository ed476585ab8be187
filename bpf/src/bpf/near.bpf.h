/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A short-flow thread stays beside its packets if it gets a CPU there soon. From another cache,
 * each request and each answer crosses between the two, which costs more than a wait of
 * microseconds. The kernel's own scheduler, too, looks no further than the cache when a thread
 * wakes (select_idle_sibling, kernel/sched/fair.c, 6.18).
 */
#ifndef __STEER_NEAR_BPF_H
#define __STEER_NEAR_BPF_H

#include <scx/common.bpf.h>
#include <bpf_experimental.h>
#include "ground/affinity.bpf.h"
#include "ground/counters.bpf.h"
#include "ground/cpu.bpf.h"
#include "ground/subject.bpf.h"
#include "place/free.bpf.h"
#include "queue/queue.bpf.h"
#include "wake.bpf.h"

/* For how long a thread waits beside its packets, at most, as far as averages tell. */
#define NEAR_WAIT_NS (50 * 1000)

/* So long after a wake-up, the woken thread may not run yet. */
#define NEAR_WAKE_NS (20 * 1000)

/*
 * Does @cpu run a short-flow thread, or will it at once, since softirq on @here woke one there?
 * Packets come in bursts: without the second, each would wake a thread on another CPU.
 */
static bool runs_short(s32 cpu, s32 here, u64 now)
{
	const struct cpu_state *state = state_of(cpu), *own = state_of(here);

	if (state->class == CLASS_SHORT)
		return now < state->started_ns + NEAR_WAIT_NS;
	return !runs_ours(cpu) && own->woke_cpu == cpu && now < own->woke_ns + NEAR_WAKE_NS;
}

/* The same, and it is done soon, and so are those that wait in its shard? */
static bool is_done_soon(s32 cpu, s32 here, u64 now)
{
	u64 ahead;

	if (!runs_short(cpu, here, now))
		return false;
	ahead = 1 + scx_bpf_dsq_nr_queued(DSQ_SHARD | shard_of(cpu));
	return ahead * state_of(cpu)->short_run_ns <= NEAR_WAIT_NS;
}

/*
 * Softirq on this CPU wakes @p, which ran on @prev_cpu. If both are under one cache, and a free CPU
 * of the block idles, runs batch work, or is left soon, @p goes there. It spares batch work that
 * just began, if another CPU is left soon. Returns the CPU, or -1: then @p looks further.
 */
static s32 wake_near(const struct task_struct *p, const struct subject *s, s32 prev_cpu)
{
	s32 i, cpu, soon = -1, victim = -1, here = bpf_get_smp_processor_id();

	if (s->class != CLASS_SHORT || !bpf_in_interrupt() || llc_of(here) != llc_of(prev_cpu))
		return -1;
	bpf_for (i, 0, BLOCK) {
		cpu = near_cpu(prev_cpu, i);
		if (cpu < 0 || !is_free(cpu, s->now) || !may_run_on_inline(p, cpu))
			continue;
		if (scx_bpf_test_and_clear_cpu_idle(cpu)) {
			count(CNT_SHORT_IDLE);
			note_woken(state_of(here), cpu, s->now);
			return decide(s, cpu, WAKE_RUN);
		}
		if (soon >= 0 || state_of(cpu)->short_run_ns > NEAR_WAIT_NS)
			continue;
		if (is_done_soon(cpu, here, s->now))
			soon = cpu;
		else if (victim < 0 && may_preempt(p, s, cpu))
			victim = cpu;
	}
	if (victim >= 0 && (soon < 0 || !lets_run(s, ran_for(state_of(victim), s->now)))) {
		note_woken(state_of(here), victim, s->now);
		return decide(s, victim, preempt(s, victim));
	}
	if (soon < 0)
		return -1;
	count(CNT_SHORT_QUEUED);
	note_wanted(state_of(soon));
	return decide(s, soon, WAKE_NEAR);
}

#endif /* __STEER_NEAR_BPF_H */
