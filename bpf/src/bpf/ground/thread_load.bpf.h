/* SPDX-License-Identifier: GPL-2.0-only */
/* Whose traffic makes a thread's class: its own, its process's or its cgroup's. */
#ifndef __STEER_THREAD_LOAD_BPF_H
#define __STEER_THREAD_LOAD_BPF_H

#include "ground/context.bpf.h"
#include "ground/policy.bpf.h"

/* What all threads of a cgroup move, where a policy asks for that. */
struct {
	__uint(type, BPF_MAP_TYPE_CGRP_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread_load);
} cgroup_loads SEC(".maps");

/* The traffic that makes @p's class; see enum granularity. */
static struct thread_load *load_of(struct task_struct *p, struct task_ctx *task,
				   const struct thread_policy *policy)
{
	struct thread_load *shared = NULL;

	if (policy->granularity == PER_PROCESS) {
		struct task_struct *leader = p->group_leader;
		struct task_ctx *of_leader = NULL;

		if (leader)
			of_leader = bpf_task_storage_get(&tasks, leader, NULL, 0);
		if (of_leader)
			shared = &of_leader->load;
	} else if (policy->granularity == PER_CGROUP) {
		struct cgroup *cgroup = p->cgroups->dfl_cgrp;

		shared = bpf_cgrp_storage_get(&cgroup_loads, cgroup, NULL,
					      BPF_LOCAL_STORAGE_GET_F_CREATE);
	}
	return shared ?: &task->load;
}

#endif /* __STEER_THREAD_LOAD_BPF_H */
