/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which policy a thread is under. User space compiles the policy files to a table of
 * policies and one from cgroup to policy; here a thread's policy is found by its
 * cgroup's id, and remembered until its cgroup, its name or the tables change. So a
 * wake-up costs the same with any number of rules, and the first one in a new cgroup
 * goes by that cgroup's policy.
 *
 * A reload fills the other half of the policies and another table of cgroups, swaps
 * the table, then changes the generation. A new cgroup gets its parent's policy at
 * once, from the tracepoint; user space is told, and may know better a moment later.
 */
#ifndef __STEER_POLICY_BPF_H
#define __STEER_POLICY_BPF_H

#include "task.h"

/* Two halves: generation g's policies begin at (g & 1) * MAX_POLICIES. */
struct thread_policy policies[2 * MAX_POLICIES];
u32 policy_generation;

struct policies_of_cgroups {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, MAX_CGROUPS);
	__type(key, u64);   /* cgroup id */
	__type(value, u32); /* index in `policies` */
} first_policies SEC(".maps");

/* One entry: the table in force. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, u32);
	__array(values, struct policies_of_cgroups);
} policy_table SEC(".maps") = {
	.values = {&first_policies},
};

static __always_inline u64 cgroup_id(const struct task_struct *p)
{
	return p->cgroups->dfl_cgrp->kn->id;
}

static __always_inline u32 default_policy(u32 generation)
{
	return generation & 1 ? MAX_POLICIES : 0;
}

static __always_inline struct thread_policy *policy_at(u32 index)
{
	return &policies[index & (2 * MAX_POLICIES - 1)];
}

static bool has_name(const struct process_policy *rule, const char *name)
{
	u32 i;

	for (i = 0; i < sizeof(rule->name); i++) {
		if (i >= rule->len)
			return true;
		if (rule->name[i] != name[i])
			return false;
	}
	return true;
}

/* The name of @p's process: that of its first thread. */
static __always_inline void process_name(const struct task_struct *p, u64 name[2])
{
	const struct task_struct *leader = p->group_leader;

	name[0] = name[1] = 0;
	if (leader)
		bpf_probe_read_kernel(name, 2 * sizeof(*name), leader->comm);
}

static void find_policy(const struct task_struct *p, struct policy_cache *cache)
{
	struct thread_policy *policy;
	u32 zero = 0, *found = NULL, i;
	void *table;

	cache->policy = default_policy(cache->generation);
	table = bpf_map_lookup_elem(&policy_table, &zero);
	if (table)
		found = bpf_map_lookup_elem(table, &cache->cgroup);
	if (found)
		cache->policy = *found;
	policy = policy_at(cache->policy);
	cache->by_name = policy->nr_processes;
	if (!cache->by_name)
		return;
	process_name(p, cache->name);
	bpf_for (i, 0, MAX_PROCESSES) {
		if (i >= policy->nr_processes)
			break;
		if (has_name(&policy->processes[i & (MAX_PROCESSES - 1)],
			     (const char *)cache->name)) {
			cache->policy = policy->processes[i & (MAX_PROCESSES - 1)].policy;
			break;
		}
	}
}

/* Does what @cache was found by still hold for @p? */
static __always_inline bool is_current(const struct policy_cache *cache,
				       const struct task_struct *p, u64 cgroup, u32 generation)
{
	u64 name[2];

	if (cache->generation != generation || cache->cgroup != cgroup)
		return false;
	if (!cache->by_name)
		return true;
	process_name(p, name);
	return cache->name[0] == name[0] && cache->name[1] == name[1];
}

/* The policy that @p is under. */
static struct thread_policy *policy_of(const struct task_struct *p, struct policy_cache *cache)
{
	u32 generation = policy_generation;
	u64 cgroup;

	if (!generation)
		return policy_at(0);
	cgroup = cgroup_id(p);
	if (!is_current(cache, p, cgroup, generation)) {
		cache->generation = generation;
		cache->cgroup = cgroup;
		find_policy(p, cache);
	}
	return policy_at(cache->policy);
}

/* For user space. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1024 * 1024);
} cgroup_events SEC(".maps");

/* Events that found no room: user space then reads the whole tree again. */
u64 cgroup_events_lost;

static void tell_cgroup(u64 id, bool gone, const char *path)
{
	struct cgroup_event *event = bpf_ringbuf_reserve(&cgroup_events, sizeof(*event), 0);

	if (!event) {
		__sync_fetch_and_add(&cgroup_events_lost, 1);
		return;
	}
	event->id = id;
	event->gone = gone;
	if (bpf_probe_read_kernel_str(event->path, sizeof(event->path), path) < 0)
		event->path[0] = 0;
	bpf_ringbuf_submit(event, 0);
}

/* Hierarchies of cgroup v1 have the same tracepoints; the default one, v2's, is number 0. */
static bool is_v2(const struct cgroup *cgroup)
{
	return BPF_CORE_READ(cgroup, root, hierarchy_id) == 0;
}

SEC("tp_btf/cgroup_mkdir")
int BPF_PROG(policy_cgroup_came, struct cgroup *cgroup, const char *path)
{
	u64 id = cgroup->kn->id, parent;
	u32 zero = 0, *inherited;
	void *table;

	if (!policy_generation || !is_v2(cgroup))
		return 0;
	parent = BPF_CORE_READ(cgroup, self.parent, cgroup, kn, id);
	table = bpf_map_lookup_elem(&policy_table, &zero);
	if (table) {
		inherited = bpf_map_lookup_elem(table, &parent);
		if (inherited)
			bpf_map_update_elem(table, &id, inherited, BPF_NOEXIST);
	}
	tell_cgroup(id, false, path);
	return 0;
}

SEC("tp_btf/cgroup_rmdir")
int BPF_PROG(policy_cgroup_went, struct cgroup *cgroup, const char *path)
{
	u64 id = cgroup->kn->id;
	u32 zero = 0;
	void *table;

	if (!policy_generation || !is_v2(cgroup))
		return 0;
	table = bpf_map_lookup_elem(&policy_table, &zero);
	if (table)
		bpf_map_delete_elem(table, &id);
	tell_cgroup(id, true, path);
	return 0;
}

#endif /* __STEER_POLICY_BPF_H */
