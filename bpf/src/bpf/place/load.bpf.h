/* SPDX-License-Identifier: GPL-2.0-only */
/* How busy CPUs are with traffic, averaged by the timer. The arithmetic is in pure/load.h. */
#ifndef __STEER_LOAD_BPF_H
#define __STEER_LOAD_BPF_H

#include <scx/common.bpf.h>
#include <scx/percpu.bpf.h>
#include "ground/cpu.bpf.h"
#include "place/cores.bpf.h"
#include "pure/load.h"

/* How often the free mask forgets claims that expired. A fraction of claim_ns. */
#define CLAIM_REFRESH_NS (20 * 1000 * 1000ULL)
/* How often loads are averaged: a multiple of CLAIM_REFRESH_NS. */
#define LOAD_WINDOW_NS (5 * CLAIM_REFRESH_NS)

/* Is softirq time kept out of the time of the threads that it interrupts? */
extern bool CONFIG_IRQ_TIME_ACCOUNTING __kconfig __weak;

static u64 averaged_ns;

/* Time @cpu spent in softirq and irq so far, as the kernel accounts it. */
static u64 softirq_time(s32 cpu)
{
	const struct kernel_cpustat *stat = bpf_per_cpu_ptr(&kernel_cpustat, cpu);

	return stat ? stat->cpustat[CPUTIME_SOFTIRQ] + stat->cpustat[CPUTIME_IRQ] : 0;
}

/* Priorities below this are those of real-time and deadline threads (linux/sched/prio.h). */
#define MAX_RT_PRIO 100

/*
 * Is @cpu taken? Yes, if a thread of a higher class was there at the last look, and is there now,
 * and none of ours has begun to run between. Called by the timer, in an RCU section.
 */
static void look_who_runs(s32 cpu)
{
	struct cpu_state *state = state_of(cpu);
	struct task_struct *p;
	bool above;

	p = __COMPAT_scx_bpf_cpu_curr(cpu);
	above = p && p->prio < MAX_RT_PRIO;
	state->taken = above && state->taken_mark_ns == state->started_ns;
	state->taken_mark_ns = above ? state->started_ns : 0;
}

/* How long a core must be busy without a break to count as full. */
#define FULL_WINDOW_NS (8 * 1000 * 1000ULL)

/*
 * Is @cpu full? Called when a long-flow thread is placed there. The averages below would tell only
 * after some hundred milliseconds, in which a thread gets little of a full CPU.
 */
static void look_if_full(s32 cpu, u64 now)
{
	struct cpu_state *state = state_of(cpu);
	u64 busy, window_ns = now - state->full_mark_ns;

	if (now < state->full_mark_ns + FULL_WINDOW_NS)
		return;
	busy = state->busy_ns;
	if (state->makes_load)
		busy += ran_for(state, now);
	if (CONFIG_IRQ_TIME_ACCOUNTING)
		busy += softirq_time(cpu);
	state->full = load_fills(busy - state->full_busy_ns, window_ns);
	state->full_busy_ns = busy;
	state->full_mark_ns = now;
}

static void average_load(s32 cpu, u64 window_ns)
{
	struct cpu_state *state = state_of(cpu);
	u64 busy_ns = state->busy_ns, short_ns = state->short_ns, softirq = softirq_time(cpu);
	u64 busy, stolen;

	busy = state->taken ? window_ns : busy_ns - state->busy_mark_ns;
	stolen = softirq - state->softirq_mark_ns;
	state->busy_mark_ns = busy_ns;
	state->softirq_mark_ns = softirq;
	/* without irq accounting, the threads' time includes the time of interrupts */
	if (CONFIG_IRQ_TIME_ACCOUNTING)
		busy += stolen;
	else if (busy < stolen)
		busy = stolen;
	state->load_1024ths = load_update(state->load_1024ths, busy, window_ns);
	state->short_load_1024ths =
		load_update(state->short_load_1024ths, short_ns - state->short_mark_ns, window_ns);
	state->short_mark_ns = short_ns;
}

/* Forget claims that expired, average loads. True if loads were due. Every CLAIM_REFRESH_NS. */
static bool refresh_cores(u64 now)
{
	u64 window_ns = now - averaged_ns;
	bool average = window_ns >= LOAD_WINDOW_NS;
	struct bpf_cpumask *mask;
	s32 cpu;

	mask = free_cpus;
	if (mask) {
		bpf_for (cpu, 0, scx_bpf_nr_cpu_ids()) {
			if (!is_online(cpu) || is_claimed(cpu, now) || is_exclusive(cpu))
				bpf_cpumask_clear_cpu(cpu, mask);
			else
				bpf_cpumask_set_cpu(cpu, mask);
			if (average)
				average_load(cpu, window_ns);
		}
	}
	if (average)
		averaged_ns = now;
	return average;
}

#endif /* __STEER_LOAD_BPF_H */
