/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A CPU that is about to leave. The kernel first has it take no thread any more, then waits for an
 * RCU grace period, and only then tells sched_ext (sched_cpu_deactivate(), kernel/sched/core.c,
 * 6.18). Who waits for just this CPU and was preempted amid reading under RCU keeps that period
 * from ending, for ever: neither goes on. So the scheduler leaves as soon as the CPU begins to, and
 * asks to be loaded again, as the kernel would; meanwhile, the kernel runs all threads.
 */
#ifndef __STEER_HOTPLUG_BPF_H
#define __STEER_HOTPLUG_BPF_H

#include <scx/common.bpf.h>

SEC("tp_btf/cpuhp_enter")
int BPF_PROG(cpu_leaves, unsigned int cpu, int target, int state)
{
	const int active = bpf_core_enum_value(enum cpuhp_state, CPUHP_AP_ACTIVE);

	if (state == active && target < active)
		scx_bpf_exit(SCX_ECODE_ACT_RESTART | SCX_ECODE_RSN_HOTPLUG,
			     "CPU %u is about to leave", cpu);
	return 0;
}

#endif /* __STEER_HOTPLUG_BPF_H */
