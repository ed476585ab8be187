/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Waking a thread: does it run at once, and which thread may it preempt?
 *
 * select_cpu decides and leaves a note in the thread's context; enqueue carries it out. select_cpu
 * inserts no thread itself: if the scheduler is unloaded while a wake-up is queued, that thread
 * would stay marked for the next scheduler (kernels without 7e0ffb72de8a).
 */
#ifndef __STEER_WAKE_BPF_H
#define __STEER_WAKE_BPF_H

#include <scx/common.bpf.h>
#include "ground/affinity.bpf.h"
#include "ground/counters.bpf.h"
#include "ground/cpu.bpf.h"
#include "ground/group.bpf.h"
#include "ground/pool.bpf.h"
#include "ground/settings.bpf.h"
#include "ground/subject.bpf.h"
#include "place/free.bpf.h"
#include "queue/clock.bpf.h"
#include "queue/queue.bpf.h"

/* How long a thread without traffic runs before another such thread may preempt it, or a short-flow
 * thread that gets another CPU soon. */
#define GRANULARITY_NS (1000 * 1000ULL)

enum preempt { PREEMPT_NOT, PREEMPT_SOON, PREEMPT_NOW };

/* Does a thread that wakes let one run on that began @ran ns ago? Not if it has to hurry. */
static __always_inline bool lets_run(const struct subject *s, u64 ran)
{
	return !s->policy->urgent && ran < GRANULARITY_NS;
}

/*
 * When may a wake-up on @cpu preempt the thread that runs there?
 *
 * On a CPU that is kept for the woken thread's pool: yes, if the other thread only borrows it.
 * Elsewhere: only a thread without traffic that is further ahead than the woken one, or an idle one
 * (SCHED_IDLE, cpu.idle) by any other. The owner of a claimed CPU may also preempt a short-flow
 * thread, and one that is up to a slice behind, if that one may run elsewhere: the CPU was only
 * lent. A thread without traffic does not preempt one that just began, but soon.
 */
static enum preempt preempts(const struct task_struct *p, const struct subject *s, s32 cpu,
			     bool owner)
{
	const struct cpu_state *state = state_of(cpu);
	u64 ran = ran_for(state, s->now);
	bool idle = is_idle_thread(p, s->task), lent, soon;
	u64 vtime;

	if (state->class == NR_CLASSES)
		return PREEMPT_NOT;
	if (s->policy->owns_pool && is_in_pool(cpu, s->policy->pool))
		return state->pool != s->policy->pool && !state->pinned ? PREEMPT_NOW : PREEMPT_NOT;
	lent = owner && !state->pinned;
	if (state->class != CLASS_NONE && !(state->class == CLASS_SHORT && lent))
		return PREEMPT_NOT;
	if (state->idle != idle)
		return state->idle ? PREEMPT_NOW : PREEMPT_NOT;
	soon = s->class == CLASS_NONE && lets_run(s, ran);
	if (lent)
		ran += place_settings.slice_ns;
	vtime = running_vtime(state, ran);
	if (!time_before(vtime_at(p, s->task, state->clock), vtime))
		return PREEMPT_NOT;
	return soon ? PREEMPT_SOON : PREEMPT_NOW;
}

static bool may_preempt(const struct task_struct *p, const struct subject *s, s32 cpu)
{
	return preempts(p, s, cpu, false) == PREEMPT_NOW;
}

/* Does @cpu run a short-flow thread, or will it at once, that is done sooner than a move pays? */
static bool passes_soon(s32 cpu)
{
	const struct cpu_state *state = state_of(cpu);

	return (state->class == CLASS_SHORT || (!runs_ours(cpu) && !is_taken(cpu))) &&
	       state->short_run_ns <= MOVE_COST_NS;
}

/*
 * A short-flow thread spares one on @cpu that just began, if it gets another CPU of the block soon.
 * Else threads that only compute are driven from CPU to CPU, and one idles while they wait for the
 * other. The slice of the spared one ends at the next tick.
 */
static bool spares(const struct task_struct *p, const struct subject *s, s32 cpu)
{
	s32 i, other;

	if (s->class != CLASS_SHORT || !lets_run(s, ran_for(state_of(cpu), s->now)))
		return false;
	bpf_for (i, 1, BLOCK) {
		other = near_cpu(cpu, i);
		if (other >= 0 && passes_soon(other) && is_free_for(p, other, s->now)) {
			note_wanted(state_of(cpu));
			return true;
		}
	}
	return false;
}

/*
 * An unclaimed CPU where @p may preempt, or -1: @cpu, or one of its block. A thread without traffic
 * looks at @cpu only, as it would under the kernel's own scheduler.
 */
static s32 pick_preemptible(const struct task_struct *p, const struct subject *s, s32 cpu)
{
	bool hurried = s->class != CLASS_NONE || s->policy->urgent;
	s32 i, other;

	bpf_for (i, 0, hurried ? BLOCK : 1) {
		other = near_cpu(cpu, i);
		if (other >= 0 && is_free_for(p, other, s->now) && may_preempt(p, s, other))
			return spares(p, s, other) ? -1 : other;
	}
	return -1;
}

/* The subject preempts the thread that runs on @cpu. A thread that moves data is done soon. */
static enum wake preempt(const struct subject *s, s32 cpu)
{
	note_preempted(state_of(cpu), s->class != CLASS_NONE && !s->policy->owns_pool);
	return WAKE_PREEMPT;
}

/* Wake @p on @cpu: at once if the CPU idles (and takes it out of the idle set) or if @p may preempt
 * there, else to wait. */
static enum wake wake_at(const struct task_struct *p, const struct subject *s, s32 cpu, bool owner)
{
	if (!runs_ours(cpu) && scx_bpf_test_and_clear_cpu_idle(cpu))
		return WAKE_RUN;
	switch (preempts(p, s, cpu, owner)) {
	case PREEMPT_NOW:
		return preempt(s, cpu);
	case PREEMPT_SOON:
		note_wanted(state_of(cpu));
		return WAKE_QUEUE;
	default:
		return WAKE_QUEUE;
	}
}

/* The thread wakes or begins to wait: how long it waits counts from now. */
static __always_inline void note_queued(const struct subject *s)
{
	if (s->task)
		note_waits_since(s->task, s->now);
}

/* The thread waits in a queue, as one of its class. */
static __always_inline void note_waits_as(const struct subject *s, bool resumes)
{
	if (!s->task)
		return;
	s->task->queued_as = s->class;
	note_in_queue(s->task, resumes);
}

/* Leave a note for enqueue: what to do on @cpu, which select_cpu returns. */
static s32 decide(const struct subject *s, s32 cpu, enum wake wake)
{
	if (s->task) {
		s->task->wake = wake;
		s->task->wake_cpu = cpu;
	}
	note_queued(s);
	return cpu;
}

/* There is no note for the thread. */
static __always_inline void forget_decision(struct task_ctx *task)
{
	task->wake = WAKE_UNSEEN;
}

/* Take the note that select_cpu left for a thread that is now enqueued on @cpu. */
static enum wake take_decision(struct task_ctx *task, s32 cpu)
{
	enum wake wake = WAKE_UNSEEN;

	if (task && task->wake_cpu == cpu)
		wake = task->wake;
	if (task)
		forget_decision(task);
	return wake;
}

/*
 * Before 6.19, a thread in a CPU's local queue is lost if a real-time thread takes the idle CPU
 * first: the kernel does not tell, and nothing may look into that queue. Then threads for idle CPUs
 * go to the CPU's own queue, where the timer finds them. User space sets this before load.
 */
const volatile bool local_may_strand;

/* Would a thread in @cpu's local queue be lost now? Deadline threads leave before it matters. */
static __always_inline bool strands_at(s32 cpu)
{
	const struct rq *rq = local_may_strand ? bpf_per_cpu_ptr(&runqueues, cpu) : NULL;

	return rq && rq->rt.rt_nr_running;
}

/* Run @p on its CPU at once, as @wake says, unless a real-time thread has taken that meanwhile. */
static bool run_at_once(struct task_struct *p, struct task_ctx *task, enum wake wake, u64 enq_flags)
{
	s32 cpu = scx_bpf_task_cpu(p);
	bool pinned = is_pinned(p), by_own_queue = wake == WAKE_RUN && local_may_strand && !pinned;

	if (wake == WAKE_PREEMPT && !pinned && strands_at(cpu))
		return false;
	if (pinned || by_own_queue)
		set_cpu_clock(p, task, cpu);
	else
		set_clock(p, task, shard_of(cpu));
	if (by_own_queue) {
		note_own(cpu);
		scx_bpf_dsq_insert_vtime(p, DSQ_CPU | cpu, place_settings.slice_ns,
					 p->scx.dsq_vtime, enq_flags);
		return true;
	}
	if (wake == WAKE_PREEMPT) {
		count(CNT_PREEMPT);
		enq_flags |= SCX_ENQ_PREEMPT;
	}
	scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, place_settings.slice_ns, enq_flags);
	return true;
}

/* Run @p on its CPU at once if @wake says so. Otherwise the caller must queue it. */
static __always_inline bool run_here(struct task_struct *p, struct task_ctx *task, enum wake wake,
				     u64 enq_flags)
{
	return wake >= WAKE_RUN && run_at_once(p, task, wake, enq_flags);
}

/* If @p is a kernel thread that works for its CPU only, run it there ahead of all others. */
static bool run_kthread(struct task_struct *p, u64 enq_flags)
{
	if (!is_per_cpu_kthread(p))
		return false;
	count(CNT_KTHREAD);
	/*
	 * If a thread of a higher class takes the CPU, the one that ran there waits already, but
	 * to preempt would still end its slice (local_dsq_post_enq(), kernel/sched/ext.c, 6.18).
	 */
	enq_flags |= enq_flags & SCX_ENQ_REENQ ? SCX_ENQ_HEAD : SCX_ENQ_PREEMPT;
	scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, place_settings.slice_ns, enq_flags);
	return true;
}

/* Wake a thread in the pool that its policy names. Returns the CPU, or -1 if it may use none. */
static s32 wake_in_pool(struct task_struct *p, const struct subject *s, s32 prev_cpu)
{
	s32 cpu = pick_idle_in_pool(p, s->policy->pool, prev_cpu);

	if (cpu >= 0)
		return decide(s, cpu, WAKE_RUN);
	cpu = any_in_pool(p, s->policy->pool, prev_cpu);
	return cpu < 0 ? cpu : decide(s, cpu, wake_at(p, s, cpu, false));
}

#endif /* __STEER_WAKE_BPF_H */
