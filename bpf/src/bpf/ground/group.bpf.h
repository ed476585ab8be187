/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Cgroups with the cpu controller: their numbers, and which of their threads are runnable.
 *
 * A thread is counted as runnable on the CPU that queues it, and no longer counted on the CPU where
 * it goes to sleep. Only the sum over all CPUs is meaningful. So a wake-up writes no line that
 * other CPUs write. The timer sums up (shares.bpf.h).
 */
#ifndef __STEER_GROUP_BPF_H
#define __STEER_GROUP_BPF_H

#include <scx/common.bpf.h>
#include <bpf/bpf_core_read.h>
#include "ground/context.bpf.h"
#include "ground/kernel.bpf.h"
#include "pure/group.h"

/* include/uapi/linux/sched.h */
#define SCHED_IDLE 5

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_GROUPS);
	__type(key, u32);
	__type(value, struct group);
} groups SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, MAX_GROUPS);
	__type(key, u32);
	__type(value, struct group_cpu);
} group_cpus SEC(".maps");

/* From cgroup id to number. The root cgroup is not in it. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_GROUPS);
	__type(key, u64);
	__type(value, u32);
} group_numbers SEC(".maps");

struct group_ref {
	struct cgroup __kptr *cgroup;
};

/* By number: where the kernel keeps the cgroup's settings. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_GROUPS);
	__type(key, u32);
	__type(value, struct group_ref);
} group_refs SEC(".maps");

/* Cgroups for which there was no number. They count as part of the cgroup above. */
u64 groups_lost;

/* Numbers that were ever in use are below this. */
static u32 nr_groups = 1;

/* Cgroups that may have runnable threads, one bit each. */
static u64 active_groups[MAX_GROUPS / 64];

static __always_inline struct group *group_at(u32 number)
{
	return bpf_map_lookup_elem(&groups, &number);
}

static __always_inline struct group_cpu *group_here(u32 number)
{
	return bpf_map_lookup_elem(&group_cpus, &number);
}

/* The number of @cgroup; 0 for the root cgroup. */
static u32 number_of(struct cgroup *cgroup)
{
	u64 id = cgroup->kn->id;
	u32 *number = bpf_map_lookup_elem(&group_numbers, &id);

	return number ? *number : 0;
}

static __always_inline u64 *active_word(u32 number)
{
	return &active_groups[number / 64 & (MAX_GROUPS / 64 - 1)];
}

static __always_inline void list_group(struct group *group, u32 number)
{
	if (group->listed)
		return;
	group->listed = true;
	__sync_fetch_and_or(active_word(number), 1ULL << (number & 63));
}

/* The weight of @p among the threads of its cgroup. */
static __always_inline u32 weight_of(const struct task_struct *p)
{
	if (p->policy == SCHED_IDLE)
		return WEIGHT_OF_IDLE;
	return nice_weight(p->static_prio);
}

/* Does @p yield to all threads that are not idle ones (SCHED_IDLE, cpu.idle)? */
static __always_inline bool is_idle_thread(const struct task_struct *p, const struct task_ctx *task)
{
	struct group *group;

	if (p->policy == SCHED_IDLE)
		return true;
	group = task && task->group ? group_at(task->group) : NULL;
	return group && group->idle;
}

/* It is not runnable any more, or not ours. */
static void count_out(struct task_ctx *task)
{
	struct group_cpu *here;

	if (!task->counted_weight)
		return;
	here = group_here(task->counted_group);
	if (here) {
		here->weight -= task->counted_weight;
		here->threads--;
	}
	task->counted_weight = 0;
}

/* @p is runnable, in this cgroup and with this weight. Both may have changed since it was counted.
 */
static void count_in(const struct task_struct *p, struct task_ctx *task)
{
	struct group_cpu *here;
	struct group *group;
	u32 number = task->group, weight = weight_of(p);

	if (!number || (task->counted_weight == weight && task->counted_group == number))
		return;
	here = group_here(number);
	group = group_at(number);
	if (!here || !group)
		return;
	count_out(task);
	here->weight += weight;
	here->threads++;
	task->counted_weight = weight;
	task->counted_group = number;
	list_group(group, number);
}

/* The thread is in @cgroup from now on, and not runnable. */
static void join_group(struct task_ctx *task, struct cgroup *cgroup)
{
	count_out(task);
	task->group = number_of(cgroup);
}

/* A number that is not in use, or 0. Cgroups come and go one at a time (cgroup_mutex). */
static u32 unused_number(void)
{
	u32 number;

	bpf_for (number, 1, MAX_GROUPS) {
		struct group *group = group_at(number);

		if (!group || group->id)
			continue;
		if (number >= nr_groups)
			nr_groups = number + 1;
		return number;
	}
	return 0;
}

/* The number of the nearest cgroup above @cgroup that has one. */
static u32 number_above(struct cgroup *cgroup)
{
	u64 id = BPF_CORE_READ(cgroup, self.parent, cgroup, kn, id);
	u32 *number = bpf_map_lookup_elem(&group_numbers, &id);

	return number ? *number : 0;
}

/* @cgroup came. Its settings are read when its threads become runnable. */
static u32 add_group(struct cgroup *cgroup)
{
	u32 number = unused_number(), above = number_above(cgroup);
	struct group *group, *parent;
	struct group_ref *ref;
	u64 id = cgroup->kn->id;
	s32 cpu;

	group = group_at(number);
	parent = group_at(above);
	ref = bpf_map_lookup_elem(&group_refs, &number);
	if (!number || !group || !parent || !ref) {
		__sync_fetch_and_add(&groups_lost, 1);
		bpf_map_update_elem(&group_numbers, &id, &above, BPF_ANY);
		return 0;
	}
	__builtin_memset(group, 0, sizeof(*group));
	bpf_for (cpu, 0, scx_bpf_nr_cpu_ids()) {
		struct group_cpu *counts = bpf_map_lookup_percpu_elem(&group_cpus, &number, cpu);

		if (counts)
			counts->budget_ns = 0;
	}
	group->id = id;
	group->parent = above;
	group->weight = WEIGHT_NICE_0;
	group->quota_ns = QUOTA_NONE;
	group->limiter = parent->limiter;
	group->idle = parent->idle;
	group->share.top = weight_in(&parent->share, WEIGHT_NICE_0);
	cgroup = bpf_cgroup_acquire(cgroup);
	if (cgroup)
		cgroup = bpf_kptr_xchg(&ref->cgroup, cgroup);
	if (cgroup)
		bpf_cgroup_release(cgroup);
	bpf_map_update_elem(&group_numbers, &id, &number, BPF_ANY);
	return number;
}

/* @cgroup goes; it has no threads. Returns the number that it had. */
static u32 remove_group(struct cgroup *cgroup)
{
	u32 number = number_of(cgroup);
	struct group *group = group_at(number);
	struct group_ref *ref = bpf_map_lookup_elem(&group_refs, &number);
	u64 id = cgroup->kn->id;

	bpf_map_delete_elem(&group_numbers, &id);
	/* one without a number of its own has that of the cgroup above */
	if (!number || !group || !ref || group->id != id)
		return 0;
	group->id = 0;
	cgroup = bpf_kptr_xchg(&ref->cgroup, NULL);
	if (cgroup)
		bpf_cgroup_release(cgroup);
	return number;
}

#endif /* __STEER_GROUP_BPF_H */
