/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Waking a thread: what is known of it, and whom it may preempt.
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

/* On @cpu, which select_cpu returns or enqueue is called on, as soon as it is free. */
static void run_there(struct task_struct *p, const struct subject *s, s32 cpu, u64 enq_flags)
{
	set_clock(p, s->task, llc_of(cpu));
	scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, place_settings.slice_ns, enq_flags);
}

/* On @cpu at once, ahead of what runs there, as may_preempt() allows. */
static void preempt(struct task_struct *p, const struct subject *s, s32 cpu, u64 enq_flags)
{
	count(CNT_PREEMPT);
	state_of(cpu)->preempted = !s->policy->owns_pool;
	run_there(p, s, cpu, enq_flags | SCX_ENQ_PREEMPT);
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

/*
 * Wake @p on @cpu, if that idles, or if @p is one that preempts and may do so there. Else it
 * is still to be queued.
 */
static bool wake_on(struct task_struct *p, const struct subject *s, s32 cpu, bool owner,
		    u64 enq_flags)
{
	bool preempts =
		owner || s->class == CLASS_SHORT || s->policy->urgent || s->policy->owns_pool;

	if (scx_bpf_test_and_clear_cpu_idle(cpu))
		run_there(p, s, cpu, enq_flags);
	else if (preempts && may_preempt(p, s, cpu, owner))
		preempt(p, s, cpu, enq_flags);
	else
		return false;
	return true;
}

/* For a thread whose policy names a pool: a CPU of that, or -1 if it may use none. */
static s32 wake_in_pool(struct task_struct *p, const struct subject *s, s32 prev_cpu)
{
	s32 cpu = pick_idle_in_pool(p, s->policy->pool, prev_cpu);

	if (cpu >= 0) {
		run_there(p, s, cpu, 0);
		return cpu;
	}
	cpu = any_in_pool(p, s->policy->pool, prev_cpu);
	if (cpu < 0)
		return cpu;
	wake_on(p, s, cpu, false, 0);
	return cpu;
}

#endif /* __STEER_WAKE_BPF_H */
