/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Waking a thread: what is known of it, and whom it may preempt. Select_cpu decides, enqueue does
 * it: a queued wake-up is between the two when a scheduler is unloaded, and what select_cpu had
 * inserted by then would be left for the next scheduler (kernels without 7e0ffb72de8a).
 */
#ifndef __STEER_WAKE_BPF_H
#define __STEER_WAKE_BPF_H

#include "queue.bpf.h"

/* What is known of a thread when it must be placed. */
struct subject {
	struct task_ctx *task; /* NULL for a thread that came before us and has none yet */
	struct thread_policy *policy;
	u64 now;
	u8 class; /* to place it by, never MIXED */
};

static void look_at(struct subject *s, struct task_struct *p)
{
	struct thread_load *load;

	s->task = ctx_of(p);
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
	thread_class(load, &s->policy->classes, s->now);
	s->class = thread_placed_as(load);
}

/* Is the thread to be placed by its packets? */
static __always_inline bool goes_by_packets(const struct subject *s)
{
	return s->class == CLASS_LONG && s->task && (!s->policy->pool || s->policy->near_nic);
}

/*
 * May a wake-up on @cpu preempt what runs there? On a CPU that is kept for the woken
 * thread's pool, whoever only borrows it. Else only a thread without traffic that is
 * further ahead than the woken one; on a claimed CPU, for the owner, also one that is a
 * slice behind, if it could run elsewhere as well.
 */
static bool may_preempt(const struct task_struct *p, const struct subject *s, s32 cpu, bool owner)
{
	const struct cpu_state *state = state_of(cpu);
	u64 ran = s->now > state->started_ns ? s->now - state->started_ns : 0;

	if (s->policy->owns_pool && is_in_pool(cpu, s->policy->pool))
		return state->pool != s->policy->pool && !state->pinned;
	if (state->class != CLASS_NONE)
		return false;
	if (owner && !state->pinned)
		ran += place_settings.slice_ns;
	return time_before(vtime_at(p, s->task, state->clock), state->vtime + ran);
}

/* How many CPUs a short-flow thread looks at for one to preempt. */
#define PREEMPT_SCAN 8

/* An unclaimed CPU where @p may preempt: @cpu or a few that share its cache; or -1. */
static s32 pick_preemptible(const struct task_struct *p, const struct subject *s, s32 cpu)
{
	s32 i, other;

	bpf_for (i, 0, PREEMPT_SCAN) {
		other = cpu ^ i; /* @cpu itself, then the rest of its block of eight */
		if (other < scx_bpf_nr_cpu_ids() && llc_of(other) == llc_of(cpu) &&
		    !is_claimed(other, s->now) && !is_exclusive(other) && may_run_on(p, other) &&
		    may_preempt(p, s, other, false))
			return other;
	}
	return -1;
}

/* Who runs on @cpu makes way for the thread. */
static enum wake preempt(const struct subject *s, s32 cpu)
{
	state_of(cpu)->preempted = s->class != CLASS_NONE && !s->policy->owns_pool;
	return WAKE_PREEMPT;
}

/* How @p wakes on @cpu: at once, if that idles, or if @p is one that preempts and may. */
static enum wake wake_at(const struct task_struct *p, const struct subject *s, s32 cpu, bool owner)
{
	bool preempts =
		owner || s->class == CLASS_SHORT || s->policy->urgent || s->policy->owns_pool;

	if (scx_bpf_test_and_clear_cpu_idle(cpu))
		return WAKE_RUN;
	return preempts && may_preempt(p, s, cpu, owner) ? preempt(s, cpu) : WAKE_QUEUE;
}

/* For enqueue to do on @cpu, which select_cpu returns. */
static s32 decide(const struct subject *s, s32 cpu, enum wake wake)
{
	if (s->task) {
		s->task->wake = wake;
		s->task->wake_cpu = cpu;
		s->task->queued_ns = s->now;
	}
	return cpu;
}

/* What select_cpu decided for a thread that is now enqueued on @cpu, once. */
static enum wake decided(struct task_ctx *task, s32 cpu)
{
	enum wake wake = WAKE_UNSEEN;

	if (task && task->wake_cpu == cpu)
		wake = task->wake;
	if (task)
		task->wake = WAKE_UNSEEN;
	return wake;
}

/* Run @p on its CPU at once, if it is to: else it is still to be queued. */
static bool run_here(struct task_struct *p, struct task_ctx *task, enum wake wake, u64 enq_flags)
{
	if (wake < WAKE_RUN)
		return false;
	if (wake == WAKE_PREEMPT) {
		count(CNT_PREEMPT);
		enq_flags |= SCX_ENQ_PREEMPT;
	}
	set_clock(p, task, llc_of(scx_bpf_task_cpu(p)));
	scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, place_settings.slice_ns, enq_flags);
	return true;
}

/* For a thread whose policy names a pool: a CPU of that, or -1 if it may use none. */
static s32 wake_in_pool(struct task_struct *p, const struct subject *s, s32 prev_cpu)
{
	s32 cpu = pick_idle_in_pool(p, s->policy->pool, prev_cpu);

	if (cpu >= 0)
		return decide(s, cpu, WAKE_RUN);
	cpu = any_in_pool(p, s->policy->pool, prev_cpu);
	return cpu < 0 ? cpu : decide(s, cpu, wake_at(p, s, cpu, false));
}

#endif /* __STEER_WAKE_BPF_H */
