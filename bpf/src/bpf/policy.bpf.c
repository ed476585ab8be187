/* SPDX-License-Identifier: GPL-2.0-only */
/* The policies as an object of their own, for tests of the swap; see policy_object.rs. */
#include <scx/common.bpf.h>
#include "ground/pool.bpf.h"
#include "ground/swap.bpf.h"

char _license[] SEC("license") = "GPL";

/* What the calling thread sees of the policies in force, with the functions that placement uses. */
struct {
	u64 cgroup;	      /* its id */
	u64 long_burst_bytes; /* of the thread's policy */
	u32 pool;	      /* of the thread's policy */
	u32 nr_pools;
	u32 pool_clock;
	/* a bit for each of the CPUs 0 to 63 */
	u64 in_pool;
	u64 in_pool_mask;
	u64 exclusive;
	u64 in_shared_mask;
} seen;

static u64 first_cpus(struct bpf_cpumask *mask)
{
	u64 cpus = 0;
	u32 cpu;

	if (mask)
		bpf_for (cpu, 0, 64)
			if (bpf_cpumask_test_cpu(cpu, cast_mask(mask)))
				cpus |= 1ULL << cpu;
	return cpus;
}

SEC("syscall")
int look(void *ctx)
{
	struct task_struct *p = bpf_get_current_task_btf();
	struct policy_cache cache = {};
	struct thread_policy *policy = policy_of(p, &cache);
	u32 index = policy->pool - 1, cpu;
	struct pool *pool;

	__builtin_memset(&seen, 0, sizeof(seen));
	seen.cgroup = cgroup_id(p);
	seen.long_burst_bytes = policy->classes.long_burst_bytes;
	seen.pool = policy->pool;
	seen.nr_pools = nr_pools;
	bpf_for (cpu, 0, 64) {
		seen.in_pool |= (u64)is_in_pool(cpu, policy->pool) << cpu;
		seen.exclusive |= (u64)is_exclusive(cpu) << cpu;
	}
	bpf_rcu_read_lock();
	seen.in_shared_mask = first_cpus(shared_cpus);
	pool = bpf_map_lookup_elem(&pools, &index);
	if (pool) {
		seen.in_pool_mask = first_cpus(pool->cpus);
		seen.pool_clock = pool_clock(policy->pool);
	}
	bpf_rcu_read_unlock();
	return 0;
}
