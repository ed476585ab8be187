/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's sets of idle CPUs. From 6.15 on each node has one (user space asks for that), so
 * that CPUs of different nodes do not write to the same cache line whenever they go idle.
 */
#ifndef __STEER_IDLE_BPF_H
#define __STEER_IDLE_BPF_H

#include <scx/common.bpf.h>
#include <scx/compat.bpf.h>

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

#endif /* __STEER_IDLE_BPF_H */
