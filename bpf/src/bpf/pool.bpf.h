/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pools: sets of CPUs that policies name. User space writes which CPU is in which and
 * then runs `pools_changed`, which makes the masks that the kernel searches for idle
 * CPUs. An exclusive CPU serves its own pool, per-CPU kthreads and threads pinned to
 * it, and nobody else.
 */
#ifndef __STEER_POOL_BPF_H
#define __STEER_POOL_BPF_H

#include "plan.bpf.h"
#include "policy.bpf.h"

struct cpu_pools cpu_pools[MAX_CPUS];
u32 nr_pools;

struct pool {
	struct bpf_cpumask __kptr *cpus;
	u32 llc; /* by whose clock its threads are ordered: that of its first CPU */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_POOLS);
	__type(key, u32);
	__type(value, struct pool);
} pools SEC(".maps");

/* CPUs that are not exclusive: all but those may be lent. */
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

/* The cache by whose clock the threads of @pool are ordered. */
static u32 pool_clock(u32 pool)
{
	u32 index = pool - 1;
	struct pool *found = bpf_map_lookup_elem(&pools, &index);

	return found ? found->llc : 0;
}

/* An idle CPU of @pool that @p may use, taken out of the idle set; or < 0. */
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
		cpu = scx_bpf_select_cpu_and(p, prev_cpu, 0, cast_mask(mask), 0);
	return cpu;
}

/* Some CPU of @pool that @p may use, @cpu if it is one; or -1. */
static s32 any_in_pool(const struct task_struct *p, u8 pool, s32 cpu)
{
	u32 index = pool - 1, any = ~0U;
	struct bpf_cpumask *mask;
	struct pool *found;

	if (is_in_pool(cpu, pool) && bpf_cpumask_test_cpu(cpu, p->cpus_ptr))
		return cpu;
	found = bpf_map_lookup_elem(&pools, &index);
	if (!found)
		return -1;
	mask = found->cpus;
	if (mask)
		any = bpf_cpumask_any_and_distribute(cast_mask(mask), p->cpus_ptr);
	return any < scx_bpf_nr_cpu_ids() ? (s32)any : -1;
}

/* An idle CPU that may be lent, taken out of the idle set; or < 0. */
static s32 pick_shared_idle(struct task_struct *p, s32 prev_cpu)
{
	struct bpf_cpumask *mask;
	s32 cpu = -ENOENT;

	mask = shared_cpus;
	if (mask)
		cpu = scx_bpf_select_cpu_and(p, prev_cpu, 0, cast_mask(mask), 0);
	return cpu;
}

/* Put a mask of the CPUs for which @pool holds in place of the old one; 0: the shared CPUs. */
static s32 make_mask(u8 pool)
{
	struct bpf_cpumask *mask = bpf_cpumask_create();
	u32 index = pool - 1;
	struct pool *found;
	s32 cpu;

	if (!mask)
		return -ENOMEM;
	bpf_for (cpu, 0, scx_bpf_nr_cpu_ids())
		if (pool ? is_in_pool(cpu, pool) : is_online(cpu) && !is_exclusive(cpu))
			bpf_cpumask_set_cpu(cpu, mask);
	if (!pool) {
		mask = bpf_kptr_xchg(&shared_cpus, mask);
	} else {
		found = bpf_map_lookup_elem(&pools, &index);
		if (found) {
			found->llc = llc_of(bpf_cpumask_first(cast_mask(mask)));
			mask = bpf_kptr_xchg(&found->cpus, mask);
		}
	}
	if (mask)
		bpf_cpumask_release(mask);
	return 0;
}

/* Run by user space after it has written cpu_pools and nr_pools. */
SEC("syscall")
int pools_changed(void *ctx)
{
	u32 pool;

	bpf_for (pool, 0, MAX_POOLS + 1) {
		if (pool > nr_pools)
			break;
		if (make_mask(pool))
			return -ENOMEM;
	}
	return 0;
}

#endif /* __STEER_POOL_BPF_H */
