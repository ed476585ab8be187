/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bound threads: those that may not use all CPUs of the shard where they wait, as in a cpuset. Each
 * look of another CPU at the shard's queue walks past them, under the queue's lock. A few do not
 * matter. Of many, each waits for one CPU. So do those of a CPU for which others wait, such as a
 * pinned thread: all that lack CPU time there are ordered by that CPU's clock, and weights hold.
 */
#ifndef __STEER_BOUND_BPF_H
#define __STEER_BOUND_BPF_H

#include <scx/common.bpf.h>
#include "ground/affinity.bpf.h"
#include "ground/shards.bpf.h"
#include "place/free.bpf.h"
#include "queue/hint.bpf.h"

/* If so many threads wait in a shard, bound ones wait for a CPU. */
#define MANY_WAIT 16

struct shard_cpus {
	struct bpf_cpumask __kptr *online;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_SHARDS);
	__type(key, u32);
	__type(value, struct shard_cpus);
} shard_cpus SEC(".maps");

/* May @p use all CPUs of @shard? */
static bool covers(const struct task_struct *p, u32 shard)
{
	struct shard_cpus *cpus = bpf_map_lookup_elem(&shard_cpus, &shard);
	struct bpf_cpumask *online = cpus ? cpus->online : NULL;

	return !online || bpf_cpumask_subset(cast_mask(online), p->cpus_ptr);
}

/*
 * A CPU for whose queue @p, which could wait in @cpu's shard, waits instead; or -1. Of @cpu and
 * another one, that with the shorter queue; between caches, only if two fewer wait there. Global:
 * inlined, it makes the verifier of 6.18 follow a branch that cannot be, and complain.
 */
__weak __noinline s32 waits_bound(struct task_struct *p __arg_trusted, s32 cpu, u64 now)
{
	u32 shard = shard_of(cpu);
	s32 own, other, waiting;

	if (p->nr_cpus_allowed >= scx_bpf_nr_cpu_ids())
		return -1;
	own = scx_bpf_dsq_nr_queued(DSQ_CPU | cpu);
	if ((!own && scx_bpf_dsq_nr_queued(DSQ_SHARD | shard) < MANY_WAIT) || covers(p, shard))
		return -1;
	other = bpf_cpumask_any_distribute(p->cpus_ptr);
	waiting = scx_bpf_dsq_nr_queued(DSQ_CPU | other);
	if (waiting + (shard_of(other) != shard) < own && is_free_for(p, other, now))
		return other;
	return cpu;
}

/* Called once from ops.init. */
static s32 init_bound(void)
{
	s32 cpu;
	u32 shard;

	bpf_for (shard, 0, nr_shards) {
		struct shard_cpus *cpus = bpf_map_lookup_elem(&shard_cpus, &shard);
		struct bpf_cpumask *mask = bpf_cpumask_create();

		if (!mask)
			return -ENOMEM;
		bpf_for (cpu, 0, scx_bpf_nr_cpu_ids())
			if (is_online(cpu) && shard_of(cpu) == shard)
				bpf_cpumask_set_cpu(cpu, mask);
		if (cpus)
			mask = bpf_kptr_xchg(&cpus->online, mask);
		if (mask)
			bpf_cpumask_release(mask);
	}
	return 0;
}

#endif /* __STEER_BOUND_BPF_H */
