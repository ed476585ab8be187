/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's sets of idle CPUs. From 6.15 on each node has one (user space asks for that), so
 * that CPUs of different nodes do not write to the same cache line whenever they go idle.
 */
#ifndef __STEER_IDLE_BPF_H
#define __STEER_IDLE_BPF_H

#include <scx/common.bpf.h>
#include <scx/compat.bpf.h>
#include <bpf_experimental.h>
#include "ground/affinity.bpf.h"

/* An idle CPU that @p may use, near @cpu first. Takes it out of its set; < 0 if there is none. */
static __always_inline s32 pick_any_idle(const struct task_struct *p, s32 cpu)
{
	return __COMPAT_scx_bpf_pick_idle_cpu_node(p->cpus_ptr, __COMPAT_scx_bpf_cpu_node(cpu), 0);
}

/* The set of @cpu's node. To be put back with scx_bpf_put_idle_cpumask(). */
static __always_inline const struct cpumask *idle_near(s32 cpu)
{
	return __COMPAT_scx_bpf_get_idle_cpumask_node(__COMPAT_scx_bpf_cpu_node(cpu));
}

/* Put @cpu, which was taken out of its set, back into it. */
static __always_inline void put_back_idle(s32 cpu)
{
	scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
}

static bool take_idle_of(const struct task_struct *p, s32 cpu, const struct cpumask *set)
{
	return bpf_cpumask_test_cpu(cpu, set) && may_run_on_inline(p, cpu) &&
	       scx_bpf_test_and_clear_cpu_idle(cpu);
}

/*
 * pick_idle_of() before 6.16, where the kernel cannot search in two sets: nearby, then anywhere. It
 * does not prefer cores whose other threads idle.
 */
static __noinline s32 search_idle_of(struct task_struct *p, s32 prev_cpu, const struct cpumask *set)
{
	s32 i, cpu;

	if (take_idle_of(p, prev_cpu, set))
		return prev_cpu;
	bpf_for (i, 1, BLOCK) {
		cpu = near_cpu(prev_cpu, i);
		if (cpu >= 0 && take_idle_of(p, cpu, set))
			return cpu;
	}
	if (p->nr_cpus_allowed >= scx_bpf_nr_cpu_ids())
		return scx_bpf_pick_idle_cpu(set, 0);
	cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
	if (cpu < 0 || bpf_cpumask_test_cpu(cpu, set))
		return cpu;
	put_back_idle(cpu);
	return -EBUSY;
}

/*
 * An idle CPU of @set that @p may use, near @prev_cpu first. Takes it out of its set; or < 0.
 *
 * The kernel's search is not told SCX_WAKE_SYNC. It could choose the waker's own CPU, although that
 * is busy: there @p waits, where no idle CPU finds it, until the waker sleeps. Softirq never does
 * (sched-ext/scx#3245), and not all threads do. Those that do hand over their CPU: handoff.bpf.h.
 */
static s32 pick_idle_of(struct task_struct *p, s32 prev_cpu, const struct cpumask *set)
{
	if (__COMPAT_HAS_scx_bpf_select_cpu_and)
		return scx_bpf_select_cpu_and(p, prev_cpu, 0, set, 0);
	return search_idle_of(p, prev_cpu, set);
}

#endif /* __STEER_IDLE_BPF_H */
