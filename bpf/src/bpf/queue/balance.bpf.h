/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Balance between shards. A CPU with nothing to do takes work of other shards (queue.bpf.h). A CPU
 * that has work looks now and then whether threads of more weight share the CPUs of another shard,
 * and takes one of them. Without that, a thread alone in its shard would keep a whole CPU, while
 * ten threads in another shard share one.
 */
#ifndef __STEER_BALANCE_BPF_H
#define __STEER_BALANCE_BPF_H

#include <scx/common.bpf.h>
#include "ground/shards.bpf.h"
#include "ground/cpu.bpf.h"
#include "pure/crowd.h"
#include "queue/charge.bpf.h"
#include "queue/queue.bpf.h"

/* How often a CPU looks for crowds, and how often the timer measures them. */
#define BALANCE_NS (100 * 1000 * 1000ULL)

/* The weight that each CPU in a shard carries, as its clock tells. Only the timer writes. */
static struct crowd {
	u64 weight;	/* per CPU, averaged */
	u64 vtime_mark; /* the clock at the last look */
	u64 used_mark;	/* the time for which its CPUs were not idle, at the last look */
	u64 used_ns;	/* ... and now */
} crowds[MAX_SHARDS];

static u64 crowds_ns; /* when it was */

static __always_inline struct crowd *crowd_at(u32 shard)
{
	return &crowds[shard & (MAX_SHARDS - 1)];
}

/* Called by the timer, once it has averaged the use of CPUs (power.bpf.h). */
static void measure_crowds(u64 now)
{
	bool first = !crowds_ns;
	u64 used_ns, vtime;
	u32 shard;
	s32 cpu;

	if (now < crowds_ns + BALANCE_NS)
		return;
	crowds_ns = now;
	bpf_for (shard, 0, nr_shards)
		crowd_at(shard)->used_ns = 0;
	bpf_for (cpu, 0, scx_bpf_nr_cpu_ids())
		crowd_at(shard_of(cpu))->used_ns += state_of(cpu)->used_mark_ns;
	bpf_for (shard, 0, nr_shards) {
		struct crowd *crowd = crowd_at(shard);

		vtime = clock_at(shard)->vtime;
		used_ns = (crowd->used_ns - crowd->used_mark) / (cpus_of_shard[shard] ?: 1);
		if (!first)
			crowd->weight =
				(crowd->weight + crowd_of(used_ns, vtime - crowd->vtime_mark)) / 2;
		crowd->vtime_mark = vtime;
		crowd->used_mark = crowd->used_ns;
	}
}

/* The weight of the first thread that waits at @shard; 0: none waits. Global for the verifier. */
__weak __noinline u64 first_weight(u32 shard)
{
	struct task_struct *p;
	u64 weight = 0;

	bpf_for_each (scx_dsq, p, DSQ_SHARD | shard, 0) {
		struct task_ctx *task = ctx_of(p);

		if (task)
			weight = effective_weight(p, task) >> WEIGHT_SHIFT;
		break;
	}
	return weight;
}

/* Called at ticks. */
static void look_for_crowd(s32 cpu, struct cpu_state *state, u64 now)
{
	u32 shard = shard_of(cpu), other, i;
	u64 weight;

	if (now < state->balance_ns || is_exclusive(cpu))
		return;
	state->balance_ns = now + BALANCE_NS;
	bpf_for (i, 1, nr_shards) {
		other = next_shard(shard, i);
		if (!may_wait(other))
			continue;
		weight = first_weight(other);
		if (weight && is_more_crowded(crowd_at(other)->weight, crowd_at(shard)->weight,
					      cpus_of_shard[shard], weight)) {
			state->crowd_dsq = DSQ_SHARD | other;
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
