/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How other policies come into force, all or nothing. User space (swap.rs)
 *
 *   1. writes the policies into the half that is not in force, and puts a new table of cgroups
 *      there,
 *   2. writes `staged` and runs stage_pools, which makes the masks of the pools,
 *   3. runs commit_policies.
 *
 * A step before the last can fail; nothing of the policies in force has changed then. The last
 * step only moves what is ready, so it cannot fail part-way.
 */
#ifndef __STEER_SWAP_BPF_H
#define __STEER_SWAP_BPF_H

#include <scx/common.bpf.h>
#include "ground/policy.bpf.h"
#include "ground/pool.bpf.h"

/* What is to come into force. User space writes it, but for `complete`. */
struct {
	struct cpu_pools cpus[MAX_CPUS];
	u32 nr_pools;
	u32 generation;
	bool complete; /* all masks are made */
} staged;

/* The masks to come: of the shared CPUs at 0, then of each pool. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_POOLS + 1);
	__type(key, u32);
	__type(value, struct pool);
} staged_masks SEC(".maps");

/* Is @cpu in @pool of what is staged? Pool 0 is the shared CPUs. */
static __always_inline bool is_staged_in(s32 cpu, u32 pool)
{
	const struct cpu_pools *cpu_pools = &staged.cpus[slot(cpu)];

	if (pool)
		return cpu_pools->pools >> (pool - 1) & 1;
	return is_online(cpu) && !cpu_pools->exclusive;
}

static struct bpf_cpumask *make_mask(u32 pool)
{
	struct bpf_cpumask *mask = bpf_cpumask_create();
	s32 cpu;

	if (!mask)
		return NULL;
	/* CPUs that the machine does not have are in no pool */
	bpf_for (cpu, 0, MAX_CPUS)
		if (is_staged_in(cpu, pool))
			bpf_cpumask_set_cpu(cpu, mask);
	return mask;
}

static s32 stage_mask(u32 pool)
{
	struct bpf_cpumask *mask = make_mask(pool);
	struct pool *found;

	if (!mask)
		return -ENOMEM;
	found = bpf_map_lookup_elem(&staged_masks, &pool);
	if (found) {
		found->shard = shard_of(bpf_cpumask_first(cast_mask(mask)));
		mask = bpf_kptr_xchg(&found->cpus, mask);
	}
	if (mask)
		bpf_cpumask_release(mask);
	return 0;
}

SEC("syscall")
int stage_pools(void *ctx)
{
	u32 pool;

	staged.complete = false;
	bpf_for (pool, 0, MAX_POOLS + 1) {
		if (pool > staged.nr_pools)
			break;
		if (stage_mask(pool))
			return -ENOMEM;
	}
	staged.complete = true;
	return 0;
}

/* Put the staged mask of @pool in force. */
static void commit_mask(u32 pool)
{
	struct pool *from = bpf_map_lookup_elem(&staged_masks, &pool), *to;
	struct bpf_cpumask *mask;
	u32 index = pool - 1;

	if (!from)
		return;
	mask = bpf_kptr_xchg(&from->cpus, NULL);
	if (!mask)
		return;
	if (!pool) {
		mask = bpf_kptr_xchg(&shared_cpus, mask);
	} else {
		to = bpf_map_lookup_elem(&pools, &index);
		if (to) {
			to->shard = from->shard;
			mask = bpf_kptr_xchg(&to->cpus, mask);
		}
	}
	if (mask)
		bpf_cpumask_release(mask);
}

SEC("syscall")
int commit_policies(void *ctx)
{
	u32 pool, cpu;

	if (!staged.complete)
		return -EINVAL;
	bpf_for (pool, 0, MAX_POOLS + 1)
		if (pool <= staged.nr_pools)
			commit_mask(pool);
	bpf_for (cpu, 0, MAX_CPUS)
		cpu_pools[slot(cpu)] = staged.cpus[slot(cpu)];
	nr_pools = staged.nr_pools;
	policy_generation = staged.generation;
	staged.complete = false;
	return 0;
}

/* Called once from ops.init: there is no pool yet, and no CPU is exclusive. */
static s32 init_pools(void)
{
	struct bpf_cpumask *mask = make_mask(0);

	if (!mask)
		return -ENOMEM;
	mask = bpf_kptr_xchg(&shared_cpus, mask);
	if (mask)
		bpf_cpumask_release(mask);
	return 0;
}

#endif /* __STEER_SWAP_BPF_H */
