/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hand-off: a thread that wakes another and then sleeps leaves it its CPU, as the two ends of a
 * pipe do. To run there a moment later costs less than to wake another CPU, and the data is in the
 * cache.
 *
 * The kernel says of such a wake-up that the waker is about to sleep (SCX_WAKE_SYNC), which is not
 * always so. So each thread's record tells how soon it slept after it had said so.
 */
#ifndef __STEER_HANDOFF_BPF_H
#define __STEER_HANDOFF_BPF_H

#include <scx/common.bpf.h>
#include <bpf_experimental.h>
#include "ground/context.bpf.h"
#include "ground/counters.bpf.h"
#include "ground/cpu.bpf.h"
#include "ground/subject.bpf.h"
#include "place/free.bpf.h"
#include "pure/load.h"
#include "queue/queue.bpf.h"
#include "wake.bpf.h"

/* How soon the waker sleeps, on average: a CPU that is woken begins hardly sooner. */
#define HANDOFF_NS (20 * 1000)
/* That of a thread of which nothing is known: some hand-offs must show it first. */
#define HANDOFF_UNKNOWN_NS (8 * HANDOFF_NS)

/* Does a thread already wait for @cpu or the others of its shard? Called there. */
static bool others_wait(s32 cpu, u64 now)
{
	return own_may_wait(cpu, now) || waits_in(shard_of(cpu), now);
}

/*
 * A thread wakes @p, which moves no data, and is about to sleep. Returns its CPU, if that is free
 * and if the thread does sleep soon; or -1. Until then, any CPU of the shard that looks for work
 * may take @p. From another cache, too, as under the kernel's own scheduler: its data is here.
 */
static s32 wake_handed(const struct task_struct *p, const struct subject *s, u64 wake_flags)
{
	s32 here = bpf_get_smp_processor_id();
	struct task_ctx *task;

	if (!(wake_flags & SCX_WAKE_SYNC) || s->class != CLASS_NONE || s->policy->urgent ||
	    bpf_in_interrupt())
		return -1;
	task = ctx_of(bpf_get_current_task_btf());
	if (!task)
		return -1;
	task->handed_ns = s->now;
	if (task->slept_after_ns > HANDOFF_NS || !runs_ours(here) || !is_free(here, s->now) ||
	    !may_run_on_inline(p, here) || others_wait(here, s->now))
		return -1;
	count(CNT_NONE_QUEUED);
	note_wanted(state_of(here));
	return decide(s, here, WAKE_NEAR);
}

/* The thread sleeps. */
static __always_inline void note_sleeps(struct task_ctx *task, u64 now)
{
	if (!task->handed_ns)
		return;
	task->slept_after_ns = run_average(task->slept_after_ns, now - task->handed_ns);
	task->handed_ns = 0;
}

#endif /* __STEER_HANDOFF_BPF_H */
