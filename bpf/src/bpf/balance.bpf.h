/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Balance between caches: a CPU with nothing to do takes work of others (queue.bpf.h);
 * one that has work looks now and then whether more threads wait for each CPU of another
 * cache, and takes one. Without that, a thread alone under its cache would keep a CPU
 * that ten others, under theirs, have to share.
 */
#ifndef __STEER_BALANCE_BPF_H
#define __STEER_BALANCE_BPF_H

#include "queue.bpf.h"

/* How often a CPU looks. */
#define BALANCE_NS (100 * 1000 * 1000ULL)

/* Called at ticks. */
static void look_for_crowd(s32 cpu, struct cpu_state *state, u64 now)
{
	u32 llc = llc_of(cpu), cpus = llc_uses[llc].cpus, waiting, other, i;

	if (now < state->balance_ns || is_exclusive(cpu))
		return;
	state->balance_ns = now + BALANCE_NS;
	waiting = scx_bpf_dsq_nr_queued(DSQ_LLC | llc);
	bpf_for (i, 1, nr_llcs) {
		other = next_llc(llc, i);
		if (!may_wait(other))
			continue;
		if (is_more_crowded(scx_bpf_dsq_nr_queued(DSQ_LLC | other), llc_uses[other].cpus,
				    waiting, cpus)) {
			state->crowd = DSQ_LLC | other;
			return;
		}
	}
}

/* Called before the CPU takes from its own queues. */
static bool take_from_crowd(s32 cpu, bool claimed, u64 now)
{
	struct cpu_state *state = state_of(cpu);
	u64 dsq = state->crowd;

	if (!dsq)
		return false;
	state->crowd = 0;
	if (!take_shared(cpu, dsq, claimed, now))
		return false;
	count(CNT_STEAL);
	return true;
}

#endif /* __STEER_BALANCE_BPF_H */
