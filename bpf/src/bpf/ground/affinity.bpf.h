/* SPDX-License-Identifier: GPL-2.0-only */
/* Where a thread may run, by its affinity. */
#ifndef __STEER_AFFINITY_BPF_H
#define __STEER_AFFINITY_BPF_H

#include <scx/common.bpf.h>
#include "ground/plan.bpf.h"
#include "ground/worker.bpf.h"

static __always_inline bool may_run_on_inline(const struct task_struct *p, s32 cpu)
{
	return cpu >= 0 && is_online(cpu) && bpf_cpumask_test_cpu(cpu, p->cpus_ptr);
}

/*
 * Global, so that it is verified once: for each look at p->cpus_ptr that it verifies, Linux 6.18
 * reads through the names of all its types three times (btf_nested_type_is_trusted()). Inlined
 * everywhere, that took half the time of loading. What common wake-ups ask is inlined: a call takes
 * some tens of instructions more.
 */
__weak __noinline bool may_run_on(const struct task_struct *p __arg_trusted, s32 cpu)
{
	bool may;

	bpf_rcu_read_lock();
	may = may_run_on_inline(p, cpu);
	bpf_rcu_read_unlock();
	return may;
}

static __always_inline bool is_pinned(const struct task_struct *p)
{
	return p->nr_cpus_allowed == 1 || is_migration_disabled(p);
}

/*
 * Is @p a kernel thread that does the work of its CPU, such as ksoftirqd? A worker of a work queue
 * is none: it has its share like any other thread.
 */
static __always_inline bool is_per_cpu_kthread(const struct task_struct *p)
{
	return p->flags & PF_KTHREAD && !is_worker(p) && p->nr_cpus_allowed == 1;
}

/* Does @p process packets (threaded NAPI, which names it napi/DEVICE-ID)? */
static __always_inline bool is_napi_thread(const struct task_struct *p)
{
	return p->flags & PF_KTHREAD && p->comm[0] == 'n' && p->comm[1] == 'a' &&
	       p->comm[2] == 'p' && p->comm[3] == 'i' && p->comm[4] == '/';
}

/* @cpu if @p may use it, else another CPU that it may use. */
__weak __noinline s32 allowed(const struct task_struct *p __arg_trusted, s32 cpu)
{
	if (may_run_on(p, cpu))
		return cpu;
	bpf_rcu_read_lock();
	cpu = bpf_cpumask_first(p->cpus_ptr);
	bpf_rcu_read_unlock();
	return cpu;
}

/* CPUs of a block: as many as a search for a CPU nearby looks at. */
#define BLOCK 8

/* The @i-th CPU of @cpu's block, whose number 0 is @cpu; -1 if it does not share the cache. */
static __always_inline s32 near_cpu(s32 cpu, s32 i)
{
	s32 other = cpu ^ i;

	return other < scx_bpf_nr_cpu_ids() && llc_of(other) == llc_of(cpu) ? other : -1;
}

#endif /* __STEER_AFFINITY_BPF_H */
