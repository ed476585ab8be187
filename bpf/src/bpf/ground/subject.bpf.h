/* SPDX-License-Identifier: GPL-2.0-only */
/* The subject: the thread that is being placed, and what is known of it. */
#ifndef __STEER_SUBJECT_BPF_H
#define __STEER_SUBJECT_BPF_H

#include "ground/context.bpf.h"
#include "ground/now.bpf.h"
#include "ground/policy.bpf.h"
#include "ground/thread_load.bpf.h"

struct subject {
	struct task_ctx *task; /* NULL for a thread that ops.init_task has not seen */
	struct thread_policy *policy;
	u64 now;
	u8 class; /* to place it by, never MIXED */
};

/* Look at @p, whose context is @task. */
static void look_with(struct subject *s, struct task_struct *p, struct task_ctx *task)
{
	struct thread_load *load;

	s->task = task;
	s->now = clock_now();
	s->class = CLASS_NONE;
	s->policy = s->task ? policy_of(p, &s->task->policy) : policy_at(0);
	if (!s->task || s->policy->fair_only)
		return;
	if (s->policy->declared < NR_CLASSES) {
		s->class = s->policy->declared;
		return;
	}
	load = load_of(p, s->task, s->policy);
	thread_classify(load, &s->policy->classes, s->now);
	s->class = thread_placed_as(load);
}

static __always_inline void look_at(struct subject *s, struct task_struct *p)
{
	look_with(s, p, ctx_of(p));
}

/* Is the thread placed by its packets? */
static __always_inline bool goes_by_packets(const struct subject *s)
{
	return s->class == CLASS_LONG && s->task && (!s->policy->pool || s->policy->near_nic);
}

#endif /* __STEER_SUBJECT_BPF_H */
