/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Clocks: the virtual time of threads, and whose clock tells it: that of the queue where
 * a thread waited last, or of the CPU that it woke on. It stays so while a CPU of another
 * cache runs it, for it competes with those who wait where it waited.
 */
#ifndef __STEER_CLOCK_BPF_H
#define __STEER_CLOCK_BPF_H

#include "cores.bpf.h"
#include "vtime.h"

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
	if (!task || task->clock == llc)
		return p->scx.dsq_vtime;
	return vtime_by(p->scx.dsq_vtime, clock_of(task->clock), clock_of(llc),
			place_settings.slice_ns);
}

/*
 * @vtime by the clock of the cache @from, told by that of @to, to compare threads. Not
 * bounded, as vtime_by() would: who has waited longest must not tie with who just came.
 */
static __always_inline u64 vtime_told_by(u32 to, u64 vtime, u32 from)
{
	return vtime + clock_of(to) - clock_of(from);
}

/* From now on, the clock of @llc tells the time of @p. */
static void set_clock(struct task_struct *p, struct task_ctx *task, u32 llc)
{
	if (!task || task->clock == llc)
		return;
	scx_bpf_task_set_dsq_vtime(p, vtime_at(p, task, llc));
	task->clock = llc;
}

/* To have slept, or to have run less than others, earns no more than a slice. */
static void limit_lag(struct task_struct *p, const struct task_ctx *task)
{
	if (task)
		scx_bpf_task_set_dsq_vtime(p, vtime_limited(p->scx.dsq_vtime, clock_of(task->clock),
							    place_settings.slice_ns));
}

/* @p begins to run on @state's CPU, or goes on with a new slice as nobody else waits. */
static void start_slice(struct cpu_state *state, const struct task_struct *p,
			const struct task_ctx *task, u64 now)
{
	u32 llc = task ? task->clock : 0;

	if (time_before(clock_of(llc), p->scx.dsq_vtime))
		llc_clocks[llc & (MAX_LLCS - 1)].vtime = p->scx.dsq_vtime;
	state->vtime = p->scx.dsq_vtime;
	state->clock = llc;
	state->started_ns = now;
}

/* Charge @p for what it ran since. */
static void end_slice(struct cpu_state *state, struct task_struct *p, u64 now)
{
	u64 ran = now > state->started_ns ? now - state->started_ns : 0;

	scx_bpf_task_set_dsq_vtime(p, p->scx.dsq_vtime + ran * 100 / p->scx.weight);
	state->started_ns = now;
}

#endif /* __STEER_CLOCK_BPF_H */
