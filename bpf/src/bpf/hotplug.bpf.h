/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A CPU is about to leave. The kernel first stops sending threads to it, then waits for an RCU
 * grace period, and only then tells sched_ext (sched_cpu_deactivate(), kernel/sched/core.c, 6.18).
 * A thread bound to this CPU and preempted inside an RCU read-side section blocks the grace period:
 * deadlock. So the scheduler exits as soon as the CPU begins to leave, and asks to be loaded again,
 * as the kernel would do. Meanwhile the kernel's own scheduler runs all threads.
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
