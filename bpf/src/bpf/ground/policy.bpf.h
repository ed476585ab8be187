/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which policy a thread is under. User space compiles the policy files to a list of policies and
 * a table from cgroup id to policy. A thread's policy is found by its cgroup, and remembered until
 * its cgroup, its name or the policies change. So a wake-up costs the same with any number of
 * rules, and the first one in a new cgroup already goes by that cgroup's policy.
 *
 * Policies and tables have two halves. A reload fills the half that is not in force, then the
 * generation changes (swap.bpf.h). A new cgroup gets its parent's policy at once, from the
 * tracepoint; user space is told, and sets the cgroup's own policy a moment later.
 */
#ifndef __STEER_POLICY_BPF_H
#define __STEER_POLICY_BPF_H

#include "ground/kernel.bpf.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include "pure/task.h"

/* Generation g is in half g & 1. 0: no policies but the default yet. */
u32 policy_generation;

/* Half h begins at h * MAX_POLICIES. */
struct thread_policy policies[2 * MAX_POLICIES];

struct policies_of_cgroups {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, MAX_CGROUPS);
	__type(key, u64);   /* cgroup id */
	__type(value, u32); /* index in `policies` */
} first_policies SEC(".maps");

/* One table per half. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 2);
	__type(key, u32);
	__array(values, struct policies_of_cgroups);
} policy_tables SEC(".maps") = {
	.values = {&first_policies},
};

static __always_inline void *table_of(u32 generation)
{
	u32 half = generation & 1;

	return bpf_map_lookup_elem(&policy_tables, &half);
}

static __always_inline u64 cgroup_id(const struct task_struct *p)
{
	return p->cgroups->dfl_cgrp->kn->id;
}

static __always_inline u32 default_policy(u32 generation)
{
	return (generation & 1) * MAX_POLICIES;
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

/* The name of @p's process is the name of its first thread. */
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
	u32 *found = NULL, i;
	void *table;

	cache->policy = default_policy(cache->generation);
	table = table_of(cache->generation);
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

/* Does @cache still hold for @p? */
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

/* Find the policy of @p anew, if what it was found by has changed. */
static void refresh_policy(const struct task_struct *p, struct policy_cache *cache)
{
	u32 generation = policy_generation;
	u64 cgroup = cgroup_id(p);

	if (is_current(cache, p, cgroup, generation))
		return;
	cache->generation = generation;
	cache->cgroup = cgroup;
	find_policy(p, cache);
}

/* The policy that @p is under. Before there are any, the cache has none but the default, 0. */
static __always_inline struct thread_policy *policy_of(const struct task_struct *p,
						       struct policy_cache *cache)
{
	if (policy_generation)
		refresh_policy(p, cache);
	return policy_at(cache->policy);
}

/* Cgroups that came or went, for user space. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1024 * 1024);
} cgroup_events SEC(".maps");

/* Events that found no room. User space then reads the whole tree again. */
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

/* Hierarchies of cgroup v1 share the tracepoints. The hierarchy of v2 has number 0. */
static bool is_v2(const struct cgroup *cgroup)
{
	return BPF_CORE_READ(cgroup, root, hierarchy_id) == 0;
}

SEC("tp_btf/cgroup_mkdir")
int BPF_PROG(policy_cgroup_came, struct cgroup *cgroup, const char *path)
{
	u32 generation = policy_generation, *inherited;
	u64 id = cgroup->kn->id, parent;
	void *table;

	if (!generation || !is_v2(cgroup))
		return 0;
	parent = BPF_CORE_READ(cgroup, self.parent, cgroup, kn, id);
	table = table_of(generation);
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
	u32 generation = policy_generation;
	u64 id = cgroup->kn->id;
	void *table;

	if (!generation || !is_v2(cgroup))
		return 0;
	table = table_of(generation);
	if (table)
		bpf_map_delete_elem(table, &id);
	tell_cgroup(id, true, path);
	return 0;
}

#endif /* __STEER_POLICY_BPF_H */
