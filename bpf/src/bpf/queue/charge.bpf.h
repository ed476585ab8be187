/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Charging: a thread pays for the CPU time that it had, with virtual time by its weight and with
 * its cgroups' quotas. CPU time as the kernel counts it: without the softirq that interrupts it.
 */
#ifndef __STEER_CHARGE_BPF_H
#define __STEER_CHARGE_BPF_H

#include <scx/common.bpf.h>
#include "ground/cpu.bpf.h"
#include "ground/group.bpf.h"
#include "queue/clock.bpf.h"
#include "queue/limit.bpf.h"

/* The weight of @p among all threads, in 2^-20. */
static u64 effective_weight(const struct task_struct *p, const struct task_ctx *task)
{
	struct group *group = task->group ? group_at(task->group) : NULL;
	u32 weight = weight_of(p);

	return group ? weight_in(&group->share, weight) : (u64)weight << WEIGHT_SHIFT;
}

/* The thread, which runs on @state's CPU, has @weight. */
static __always_inline void note_weight(struct cpu_state *state, struct task_ctx *task, u64 weight)
{
	task->weight_1024ths = weight >> (WEIGHT_SHIFT - 10);
	state->weight_1024ths = task->weight_1024ths;
}

/* @p, whose context is @task, begins to run: what it had before is paid for. */
static void start_charging(struct cpu_state *state, const struct task_struct *p,
			   struct task_ctx *task)
{
	task->charged_ns = p->se.sum_exec_runtime;
	note_weight(state, task, effective_weight(p, task));
}

/* Charge @p, which runs on @state's CPU, for the CPU time since it was charged last. */
static void charge(struct cpu_state *state, struct task_struct *p, struct task_ctx *task, u64 now)
{
	u64 ran, weight;

	if (!task)
		return;
	ran = p->se.sum_exec_runtime - task->charged_ns;
	task->charged_ns += ran;
	weight = effective_weight(p, task);
	scx_bpf_task_set_dsq_vtime(p, p->scx.dsq_vtime + vtime_of(ran, weight));
	note_paid(state, p, now);
	note_weight(state, task, weight);
	count_busy_time(state, ran);
	if (nr_limited && task->group)
		charge_quotas(task->group, ran, now);
}

#endif /* __STEER_CHARGE_BPF_H */
