/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Balance between caches. A CPU with nothing to do takes work of other caches (queue.bpf.h). A CPU
 * that has work looks now and then whether more threads wait per CPU under another cache, and takes
 * one of them. Without that, a thread alone under its cache would keep a whole CPU, while ten
 * threads under another cache share one.
 */
#ifndef __STEER_BALANCE_BPF_H
#define __STEER_BALANCE_BPF_H

#include <scx/common.bpf.h>
#include "ground/caches.bpf.h"
#include "ground/cpu.bpf.h"
#include "pure/crowd.h"
#include "queue/queue.bpf.h"

/* How often a CPU looks for crowds. */
#define BALANCE_NS (100 * 1000 * 1000ULL)

/* Called at ticks. */
static void look_for_crowd(s32 cpu, struct cpu_state *state, u64 now)
{
	u32 llc = llc_of(cpu), cpus, waiting, other, i;

	if (now < state->balance_ns || is_exclusive(cpu))
		return;
	state->balance_ns = now + BALANCE_NS;
	waiting = scx_bpf_dsq_nr_queued(DSQ_LLC | llc);
	cpus = cpus_of_llc[llc];
	bpf_for (i, 1, nr_llcs) {
		other = next_llc(llc, i);
		if (!may_wait(other))
			continue;
		if (is_more_crowded(scx_bpf_dsq_nr_queued(DSQ_LLC | other), cpus_of_llc[other],
				    waiting, cpus)) {
			state->crowd_dsq = DSQ_LLC | other;
			return;
		}
	}
}

/* Called before the CPU takes from its own queues. */
static bool take_from_crowd(s32 cpu, bool claimed, u64 now)
{
	struct cpu_state *state = state_of(cpu);
	u64 dsq = state->crowd_dsq;

	if (!dsq)
		return false;
	state->crowd_dsq = 0;
	if (!take_shared(cpu, dsq, claimed, now))
		return false;
	count(CNT_STEAL);
	return true;
}

#endif /* __STEER_BALANCE_BPF_H */
