/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pools: sets of CPUs that policies name. Each has a mask, for the kernel's search for idle CPUs.
 * An exclusive CPU serves its own pool, per-CPU kthreads and threads pinned to it, and no other
 * thread. All of this changes with the policies only (swap.bpf.h).
 */
#ifndef __STEER_POOL_BPF_H
#define __STEER_POOL_BPF_H

#include <scx/common.bpf.h>
#include "ground/affinity.bpf.h"
#include "ground/idle.bpf.h"
#include "ground/plan.bpf.h"

struct cpu_pools cpu_pools[MAX_CPUS];
u32 nr_pools;

struct pool {
	struct bpf_cpumask __kptr *cpus;
	u32 shard; /* the shard of its first CPU; that clock orders the threads of the pool */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_POOLS);
	__type(key, u32);
	__type(value, struct pool);
} pools SEC(".maps");

/* CPUs that are not exclusive. They may be lent. */
private
(pools) struct bpf_cpumask __kptr *shared_cpus;

static __always_inline bool is_exclusive(s32 cpu)
{
	return cpu_pools[slot(cpu)].exclusive;
}

/* @pool counts from 1, as in thread_policy. */
static __always_inline bool is_in_pool(s32 cpu, u8 pool)
{
	return cpu >= 0 && pool && cpu_pools[slot(cpu)].pools >> (pool - 1) & 1;
}

/* The shard whose clock orders the threads of @pool. */
static u32 pool_clock(u32 pool)
{
	u32 index = pool - 1;
	struct pool *found = bpf_map_lookup_elem(&pools, &index);

	return found ? found->shard : 0;
}

/* An idle CPU of @pool that @p may use. Takes it out of the idle set; < 0 if there is none. */
static s32 pick_idle_in_pool(struct task_struct *p, u8 pool, s32 prev_cpu)
{
	u32 index = pool - 1;
	struct bpf_cpumask *mask;
	struct pool *found;
	s32 cpu = -ENOENT;

	found = bpf_map_lookup_elem(&pools, &index);
	if (!found)
		return cpu;
	mask = found->cpus;
	if (mask)
		cpu = pick_idle_of(p, prev_cpu, cast_mask(mask));
	return cpu;
}

/* A CPU of @pool that @p may use, @cpu if possible; or -1. */
static s32 any_in_pool(const struct task_struct *p, u8 pool, s32 cpu)
{
	u32 index = pool - 1, any = ~0U;
	struct bpf_cpumask *mask;
	struct pool *found;

	if (is_in_pool(cpu, pool) && may_run_on(p, cpu))
		return cpu;
	found = bpf_map_lookup_elem(&pools, &index);
	if (!found)
		return -1;
	mask = found->cpus;
	if (mask)
		any = bpf_cpumask_any_and_distribute(cast_mask(mask), p->cpus_ptr);
	return any < scx_bpf_nr_cpu_ids() ? (s32)any : -1;
}

/* An idle CPU that may be lent. Takes it out of the idle set; < 0 if there is none. */
static s32 pick_shared_idle(struct task_struct *p, s32 prev_cpu)
{
	struct bpf_cpumask *mask;
	s32 cpu = -ENOENT;

	mask = shared_cpus;
	if (mask)
		cpu = pick_idle_of(p, prev_cpu, cast_mask(mask));
	return cpu;
}

/* A shared CPU that @p may use, claimed or not: @cpu if possible; or < 0. */
static __noinline s32 any_shared(const struct task_struct *p, s32 cpu)
{
	struct bpf_cpumask *mask;
	u32 shared = ~0U;

	if (!is_exclusive(cpu) && may_run_on(p, cpu))
		return cpu;
	mask = shared_cpus;
	if (mask)
		shared = bpf_cpumask_any_and_distribute(cast_mask(mask), p->cpus_ptr);
	return shared < scx_bpf_nr_cpu_ids() ? (s32)shared : -1;
}

#endif /* __STEER_POOL_BPF_H */
