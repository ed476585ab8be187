/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shares of cgroups (cpu.weight, cpu.idle): the timer looks at each active cgroup, finds how much
 * is runnable inside, and writes what the cgroup passes on to its threads (pure/weight.h).
 *
 * A cgroup reads what the cgroup above it wrote last, and tells that one its own weight. Cgroups
 * are visited in any order, so a change takes one look per level.
 */
#ifndef __STEER_SHARES_BPF_H
#define __STEER_SHARES_BPF_H

#include <scx/common.bpf.h>
#include <bpf/bpf_core_read.h>
#include "ground/group.bpf.h"

/* The kernel's weights of cgroups have ten more bits (SCHED_FIXEDPOINT_SHIFT, kernel/sched). */
#define KERNEL_WEIGHT_SHIFT 10

/* Cgroups that have a quota. The timer of limit.bpf.h refills them. */
static u64 limited_groups[MAX_GROUPS / 64];
/* How many they are. While there are none, no thread looks for a quota. */
u32 nr_limited;

static __always_inline u64 *limited_word(u32 number)
{
	return &limited_groups[number / 64 & (MAX_GROUPS / 64 - 1)];
}

/* The cgroup has got a quota, or lost it. The timers do this, each on its own CPU. */
static void note_limit(u32 number, bool limited)
{
	u64 *word = limited_word(number), bit = 1ULL << (number & 63), before;

	if (!!(*word & bit) == limited)
		return;
	before = limited ? __sync_fetch_and_or(word, bit) : __sync_fetch_and_and(word, ~bit);
	if (!!(before & bit) != limited)
		__sync_fetch_and_add(&nr_limited, limited ? 1 : -1);
}

/* Follow the quota that the kernel has for the cgroup. */
static void read_quota(struct group *group, u32 number, const struct task_group *tg)
{
	u64 quota_ns = QUOTA_NONE, period_ns, burst_ns;

	if (!bpf_core_field_exists(tg->cfs_bandwidth.quota))
		return;
	quota_ns = BPF_CORE_READ(tg, cfs_bandwidth.quota);
	period_ns = BPF_CORE_READ(tg, cfs_bandwidth.period);
	burst_ns = BPF_CORE_READ(tg, cfs_bandwidth.burst);
	if (quota_ns != group->quota_ns || period_ns != group->period_ns ||
	    burst_ns != group->burst_ns) {
		group->period_ns = period_ns;
		group->burst_ns = burst_ns;
		group->quota_ns = quota_ns;
		group->chunk_ns = quota_chunk(quota_ns);
		group->refill_ns = 0; /* a period begins now */
	}
	/* at each look: the other timer may have seen the cgroup just before, without a quota */
	if (quota_ns != QUOTA_NONE)
		note_limit(number, true);
}

/* Follow the settings that the kernel has for the cgroup. */
static void read_settings(struct group *group, u32 number)
{
	struct group_ref *ref = bpf_map_lookup_elem(&group_refs, &number);
	u32 subsystem = bpf_core_enum_value(enum cgroup_subsys_id, cpu_cgrp_id);
	struct task_group *tg;
	struct cgroup *cgroup;

	if (!ref)
		return;
	cgroup = ref->cgroup;
	if (!cgroup)
		return;
	/* a cgroup that just came is not in the kernel's table yet */
	tg = (struct task_group *)BPF_CORE_READ(cgroup, subsys[subsystem]);
	if (!tg)
		return;
	group->weight = BPF_CORE_READ(tg, shares) >> KERNEL_WEIGHT_SHIFT ?: 1;
	group->own_idle = BPF_CORE_READ(tg, idle);
	read_quota(group, number, tg);
}

/* How many threads of the cgroup are runnable, and their weight. */
static s64 sum_up(u32 number, s64 *weight)
{
	s64 threads = 0;
	s32 cpu;

	*weight = 0;
	bpf_for (cpu, 0, scx_bpf_nr_cpu_ids()) {
		struct group_cpu *counts = bpf_map_lookup_percpu_elem(&group_cpus, &number, cpu);

		if (!counts)
			continue;
		threads += counts->threads;
		*weight += counts->weight;
	}
	return threads;
}

/* Nothing in the cgroup has run for a while. A thread may have come just now. */
static void unlist_group(struct group *group, u32 number)
{
	s64 weight;

	__sync_fetch_and_and(active_word(number), ~(1ULL << (number & 63)));
	group->listed = false;
	if (sum_up(number, &weight) > 0)
		list_group(group, number);
}

/* One look at a cgroup. Global, so that the verifier walks it once. */
__weak __noinline int look_at_group(u32 number)
{
	struct group *group = group_at(number), *above;
	s64 weight, threads;
	bool active;

	if (!group || !group->id) {
		__sync_fetch_and_and(active_word(number), ~(1ULL << (number & 63)));
		return 0;
	}
	above = group_at(group->parent);
	if (!above)
		return 0;
	bpf_rcu_read_lock();
	read_settings(group, number);
	bpf_rcu_read_unlock();
	group->limiter = group->quota_ns != QUOTA_NONE ? number : above->limiter;
	group->above = above->limiter;
	group->idle = group->own_idle || above->idle;
	group->share.top = weight_in(&above->share, group->weight);

	threads = sum_up(number, &weight);
	active = threads > 0 || group->child_is_active;
	group->inside_average = weight_average(group->inside_average,
					       (weight > 0 ? weight : 0) + group->children_weight);
	group->share.inside = group->inside_average >> AVERAGE_SHIFT;
	/* what is throttled does not compete with the cgroups beside it */
	group->active_average = weight_average(group->active_average,
					       active && !group->throttled ? WEIGHT_NICE_0 : 0);
	group->children_weight = 0;
	group->child_is_active = false;
	if (group->parent) {
		above->children_weight +=
			(group->weight * group->active_average) >> (AVERAGE_SHIFT + 10);
		above->child_is_active |= active;
		if (group->active_average)
			list_group(above, group->parent);
	}
	if (!active && !group->active_average && !group->inside_average)
		unlist_group(group, number);
	return 0;
}

/* Look at all active cgroups. Called by the timer. */
static void distribute_shares(void)
{
	u32 word, bit;

	bpf_for (word, 0, nr_groups / 64 + 1) {
		u64 listed = *active_word(word * 64);

		if (!listed)
			continue;
		bpf_for (bit, 0, 64)
			if (listed >> bit & 1)
				look_at_group(word * 64 + bit);
	}
}

#endif /* __STEER_SHARES_BPF_H */
