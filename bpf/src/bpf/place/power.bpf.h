/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Performance hints: how fast each CPU has to run. The cpufreq governor schedutil asks the
 * scheduler, and takes a CPU of which it was told nothing for one that needs full speed. The
 * kernel's own scheduler tells it how much of the CPU was used; so do we. A core with traffic runs
 * at full speed: packets do not wait until it has become faster.
 */
#ifndef __STEER_POWER_BPF_H
#define __STEER_POWER_BPF_H

#include <scx/common.bpf.h>
#include <scx/percpu.bpf.h>
#include "ground/counters.bpf.h"
#include "ground/cpu.bpf.h"
#include "place/cores.bpf.h"
#include "pure/load.h"

/* A hint changes by as much, at least: a change of speed costs time. */
#define HINT_STEP (LOAD_FULL / 16)
/* With this load of traffic, a core runs at full speed. */
#define TRAFFIC_LOAD (LOAD_FULL / 16)

static u64 used_at_ns; /* when the timer last looked */

/* Time for which @cpu was not idle so far, as the kernel accounts it. */
static u64 used_time(s32 cpu)
{
	const struct kernel_cpustat *stat = bpf_per_cpu_ptr(&kernel_cpustat, cpu);

	return stat ? stat->cpustat[CPUTIME_USER] + stat->cpustat[CPUTIME_NICE] +
			       stat->cpustat[CPUTIME_SYSTEM] + stat->cpustat[CPUTIME_SOFTIRQ] +
			       stat->cpustat[CPUTIME_IRQ]
		    : 0;
}

/* How much of each CPU is used. Called by the timer, every CLAIM_REFRESH_NS. */
static void average_use(u64 now)
{
	s32 cpu;

	bpf_for (cpu, 0, scx_bpf_nr_cpu_ids()) {
		struct cpu_state *state = state_of(cpu);
		u64 used_ns = used_time(cpu);

		state->used_1024ths = load_update(state->used_1024ths,
						  used_ns - state->used_mark_ns, now - used_at_ns);
		state->used_mark_ns = used_ns;
	}
	used_at_ns = now;
}

/*
 * Called at ticks: many cpufreq drivers can change the speed of the CPU that asks, and no other.
 * An idle CPU has no ticks, and needs no speed.
 */
static void hint_performance(s32 cpu, struct cpu_state *state, u64 now)
{
	u32 told = LOAD_FULL - state->saved_1024ths, wanted = LOAD_FULL;

	if (!is_claimed(cpu, now) && state->load_1024ths < TRAFFIC_LOAD)
		wanted = performance_for(state->used_1024ths);
	if (wanted == told ||
	    (wanted != LOAD_FULL && wanted < told + HINT_STEP && told < wanted + HINT_STEP))
		return;
	state->saved_1024ths = LOAD_FULL - wanted;
	scx_bpf_cpuperf_set(cpu, wanted);
	count(CNT_HINT);
}

#endif /* __STEER_POWER_BPF_H */
