/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Clocks: one per last-level cache, which tell the virtual time of threads. A thread goes by the
 * clock of the queue where it last waited, or of the CPU on which it woke. It keeps that clock
 * while a CPU of another cache runs it: it competes with the threads of the queue where it waited.
 */
#ifndef __STEER_CLOCK_BPF_H
#define __STEER_CLOCK_BPF_H

#include <scx/common.bpf.h>
#include "ground/cpu.bpf.h"
#include "ground/settings.bpf.h"
#include "pure/task.h"
#include "pure/vtime.h"

static struct llc_clock {
	u64 vtime;
} __attribute__((aligned(64))) llc_clocks[MAX_LLCS];

static __always_inline u64 clock_of(u32 llc)
{
	return llc_clocks[llc & (MAX_LLCS - 1)].vtime;
}

/* The virtual time of @p by the clock of @llc. */
static u64 vtime_at(const struct task_struct *p, const struct task_ctx *task, u32 llc)
{
	if (!task || task->clock_llc == llc)
		return p->scx.dsq_vtime;
	return vtime_by(p->scx.dsq_vtime, clock_of(task->clock_llc), clock_of(llc),
			place_settings.slice_ns);
}

/*
 * @vtime is told by the clock of the cache @from; tell it by that of @to, to compare threads.
 * Unlike vtime_by() this has no bound: a thread that has waited longest must not tie with one that
 * just came.
 */
static __always_inline u64 vtime_told_by(u32 to, u64 vtime, u32 from)
{
	return vtime + clock_of(to) - clock_of(from);
}

/* From now on, the clock of @llc tells the thread's virtual time, which the caller has set. */
static __always_inline void note_clock(struct task_ctx *task, u32 llc)
{
	task->clock_llc = llc;
}

/* From now on, the clock of @llc tells the virtual time of @p. */
static void set_clock(struct task_struct *p, struct task_ctx *task, u32 llc)
{
	if (!task || task->clock_llc == llc)
		return;
	scx_bpf_task_set_dsq_vtime(p, vtime_at(p, task, llc));
	note_clock(task, llc);
}

/* However long @p slept or lacked CPU time, it is behind its clock by one slice at most. */
static void limit_lag(struct task_struct *p, const struct task_ctx *task)
{
	if (task)
		scx_bpf_task_set_dsq_vtime(p, vtime_limited(p->scx.dsq_vtime,
							    clock_of(task->clock_llc),
							    place_settings.slice_ns));
}

/* @p begins to run on @state's CPU, or goes on with a new slice since no other thread waits. */
static void start_slice(struct cpu_state *state, const struct task_struct *p,
			const struct task_ctx *task, u64 now)
{
	u32 llc = task ? task->clock_llc : 0;

	if (time_before(clock_of(llc), p->scx.dsq_vtime))
		llc_clocks[llc & (MAX_LLCS - 1)].vtime = p->scx.dsq_vtime;
	state->vtime_ns = p->scx.dsq_vtime;
	state->clock_llc = llc;
	state->started_ns = now;
}

/* Charge @p for the time that it ran since its slice began. */
static void end_slice(struct cpu_state *state, struct task_struct *p, u64 now)
{
	u64 ran = now > state->started_ns ? now - state->started_ns : 0;

	scx_bpf_task_set_dsq_vtime(p, p->scx.dsq_vtime + ran * 100 / p->scx.weight);
	state->started_ns = now;
}

#endif /* __STEER_CLOCK_BPF_H */
