/* SPDX-License-Identifier: GPL-2.0-only */
/* Free CPUs: online ones that are neither claimed nor exclusive, for threads without a place. */
#ifndef __STEER_FREE_BPF_H
#define __STEER_FREE_BPF_H

#include <scx/common.bpf.h>
#include <bpf_experimental.h>
#include "ground/affinity.bpf.h"
#include "ground/idle.bpf.h"
#include "ground/pool.bpf.h"
#include "place/cores.bpf.h"

static __always_inline bool is_free(s32 cpu, u64 now)
{
	return !is_claimed(cpu, now) && !is_exclusive(cpu);
}

/* May @p use @cpu, and is that CPU free? */
static bool is_free_for(const struct task_struct *p, s32 cpu, u64 now)
{
	return is_free(cpu, now) && may_run_on(p, cpu);
}

/* Take @cpu out of the idle set, if it is there, free, and open to @p. */
static bool take_free_idle(const struct task_struct *p, s32 cpu, u64 now)
{
	return is_free(cpu, now) && may_run_on_inline(p, cpu) &&
	       scx_bpf_test_and_clear_cpu_idle(cpu);
}

/* An idle free CPU. Takes it out of the idle set; < 0 if there is none. */
static s32 pick_free_idle(struct task_struct *p, s32 prev_cpu, u64 now)
{
	struct bpf_cpumask *mask;
	s32 cpu = -ENOENT;

	mask = free_cpus;
	if (mask)
		cpu = pick_idle_of(p, prev_cpu, cast_mask(mask));
	/*
	 * On SMT machines, the search prefers an idle core on another node to a CPU whose sibling
	 * is busy. The thread stays near its data.
	 */
	if (cpu >= 0 && llc_of(cpu) != llc_of(prev_cpu) && take_free_idle(p, prev_cpu, now)) {
		put_back_idle(cpu);
		return prev_cpu;
	}
	return cpu;
}

/* A free CPU that @p may use, busy or not: @cpu if possible; or < 0. */
static s32 any_free(const struct task_struct *p, s32 cpu, u64 now)
{
	struct bpf_cpumask *mask;
	u32 free = ~0U;

	if (is_free_for(p, cpu, now))
		return cpu;
	mask = free_cpus;
	if (mask)
		free = bpf_cpumask_any_and_distribute(cast_mask(mask), p->cpus_ptr);
	return free < scx_bpf_nr_cpu_ids() ? (s32)free : -1;
}

#endif /* __STEER_FREE_BPF_H */
