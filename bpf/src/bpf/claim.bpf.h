/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Claims: which cores belong to long-flow threads just now.
 *
 * A long-flow thread claims the core it is placed on for claim_ns, again each
 * time it wakes or runs there. A claim is a time stamp that runs out by itself:
 * no counter of claimants that a thread which dies, blocks or loses its class
 * could leave behind. The free mask is the complement, brought up to date by a
 * timer, for the idle search; the stamp itself is what decides.
 */
#ifndef __STEER_CLAIM_BPF_H
#define __STEER_CLAIM_BPF_H

#include "telemetry.bpf.h"

/* How often the free mask forgets claims that ran out. A fraction of claim_ns. */
#define CLAIM_REFRESH_NS (20 * 1000 * 1000ULL)

struct core_claim {
	u64 until_ns;
} __attribute__((aligned(64)));

/* Indexed by the lowest CPU number of the core: SMT siblings share one claim. */
static struct core_claim core_claims[MAX_CPUS];

private
(claims) struct bpf_cpumask __kptr *free_cpus;

struct claim_timer {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct claim_timer);
} claim_timers SEC(".maps");

/*
 * A CPU number as an index. Numbers are below MAX_CPUS (checked at load); the mask
 * says so to the verifier without a branch that the compiler could move away.
 */
static __always_inline u32 slot(u32 cpu)
{
	return cpu & (MAX_CPUS - 1);
}

static __always_inline u32 core_of(s32 cpu)
{
	return slot(cpu_plan[slot(cpu)].core);
}

static __always_inline bool is_claimed(s32 cpu, u64 now)
{
	return now < core_claims[core_of(cpu)].until_ns;
}

static void claim_core(s32 cpu, u64 now, u64 claim_ns)
{
	struct core_claim *claim = &core_claims[core_of(cpu)];
	struct bpf_cpumask *mask;
	bool fresh = now >= claim->until_ns;

	claim->until_ns = now + claim_ns;
	if (!fresh)
		return;
	count(CNT_CLAIM);
	bpf_rcu_read_lock();
	mask = free_cpus;
	if (mask)
		bpf_cpumask_clear_cpu(cpu, mask);
	bpf_rcu_read_unlock();
}

static int refresh_free_cpus(void *map, int *key, struct bpf_timer *timer)
{
	struct bpf_cpumask *mask;
	u64 now = scx_bpf_now();
	s32 cpu;

	bpf_rcu_read_lock();
	mask = free_cpus;
	if (mask) {
		bpf_for (cpu, 0, scx_bpf_nr_cpu_ids()) {
			if (is_claimed(cpu, now))
				bpf_cpumask_clear_cpu(cpu, mask);
			else
				bpf_cpumask_set_cpu(cpu, mask);
		}
	}
	bpf_rcu_read_unlock();
	bpf_timer_start(timer, CLAIM_REFRESH_NS, 0);
	return 0;
}

/* Called once from ops.init. */
static s32 init_claims(void)
{
	struct bpf_cpumask *mask = bpf_cpumask_create();
	struct claim_timer *t;
	u32 zero = 0;
	s32 err;

	if (!mask)
		return -ENOMEM;
	bpf_cpumask_setall(mask);
	mask = bpf_kptr_xchg(&free_cpus, mask);
	if (mask)
		bpf_cpumask_release(mask);

	t = bpf_map_lookup_elem(&claim_timers, &zero);
	if (!t)
		return -ENOENT;
	err = bpf_timer_init(&t->timer, &claim_timers, CLOCK_MONOTONIC);
	if (!err)
		err = bpf_timer_set_callback(&t->timer, refresh_free_cpus);
	return err ?: bpf_timer_start(&t->timer, CLAIM_REFRESH_NS, 0);
}

#endif /* __STEER_CLAIM_BPF_H */
