/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Cores: which belong to long-flow threads now, and how many of these threads each has.
 *
 * A long-flow thread claims the core that it is placed on, for claim_ns, and again each time it
 * wakes or runs there. A claim is a time stamp that expires by itself. There is no count of
 * claimants, so a thread that dies, blocks or loses its class leaves nothing behind. The number of
 * threads per core starts over in every window, for the same reason.
 *
 * The free mask has all CPUs that are neither claimed nor exclusive, for the search for idle CPUs.
 * A timer brings it up to date. The time stamp itself decides.
 */
#ifndef __STEER_CORES_BPF_H
#define __STEER_CORES_BPF_H

#include <scx/common.bpf.h>
#include "ground/counters.bpf.h"
#include "ground/cpu.bpf.h"
#include "ground/pool.bpf.h"
#include "pure/heads.h"
#include "pure/spill.h"
#include "pure/task.h"

/* Threads are counted in windows of 2^27 ns = 134 ms. */
#define COUNT_WINDOW_SHIFT 27

/* By the lowest CPU number of the core: SMT siblings share one claim. */
struct core_use {
	u64 claimed_until_ns; /* claim_core() */
	u64 next_spill_ns;    /* no other thread leaves for lack of room before: target.bpf.h */
	u64 next_alarm_ns;    /* until then, nobody believes that it is full: target.bpf.h */
	u32 false_alarms;     /* in a row: target.bpf.h */
	struct head_count threads; /* long-flow threads: claim_core() */
	u32 cpus;		   /* online CPUs: init_cores() */
	bool reserved;		   /* left to short-flow threads: reserve.bpf.h */
} __attribute__((aligned(64)));

struct core_use cores[MAX_CPUS]; /* user space reads which are reserved */

/* SMT siblings of a core, at most (POWER has 8). */
#define MOST_SIBLINGS 8

/* By CPU: the next one of its core, in a ring. */
static u32 next_sibling[MAX_CPUS];

/* The long-flow threads of each last-level cache. */
static struct llc_use {
	struct head_count threads;
} __attribute__((aligned(64))) llc_uses[MAX_LLCS];

private
(claims) struct bpf_cpumask __kptr *free_cpus;

static __always_inline struct core_use *core_of(s32 cpu)
{
	return &cores[slot(plan_of(cpu)->core)];
}

static __always_inline bool is_claimed(s32 cpu, u64 now)
{
	return now < core_of(cpu)->claimed_until_ns;
}

static __always_inline bool is_reserved(s32 cpu)
{
	return core_of(cpu)->reserved;
}

static __always_inline struct llc_use *llc_use_of(s32 cpu)
{
	return &llc_uses[llc_of(cpu)];
}

/* Long-flow threads on the core of @cpu. */
static __always_inline u32 long_threads_on(s32 cpu, u64 now)
{
	return heads_in(&core_of(cpu)->threads, now >> COUNT_WINDOW_SHIFT);
}

/* What one more of them costs on @cpu. Global for the verifier's sake, as pick_nic_local(). */
__weak __noinline u32 cost_of(s32 cpu, u64 now)
{
	u32 on_llc = heads_in(&llc_use_of(cpu)->threads, now >> COUNT_WINDOW_SHIFT);

	return spread_cost(long_threads_on(cpu, now), on_llc, state_of(cpu)->load_1024ths);
}

/* Count @task, once per window. If two CPUs count at the same time, one count may be lost. */
static void count_thread(struct core_use *core, struct task_ctx *task, s32 cpu, u64 now)
{
	u32 window = now >> COUNT_WINDOW_SHIFT;

	if (task->counted_window == window && task->counted_cpu == cpu)
		return;
	task->counted_window = window;
	task->counted_cpu = cpu;
	heads_add(&core->threads, window);
	heads_add(&llc_use_of(cpu)->threads, window);
}

/* @task claims the core of @cpu for @claim_ns from now. */
static void claim_core(struct task_ctx *task, s32 cpu, u64 now, u64 claim_ns)
{
	struct core_use *core = core_of(cpu);
	struct bpf_cpumask *mask;
	bool fresh = now >= core->claimed_until_ns;
	s32 i, sibling = cpu;

	core->claimed_until_ns = now + claim_ns;
	count_thread(core, task, cpu, now);
	if (!fresh)
		return;
	count(CNT_CLAIM);
	mask = free_cpus;
	if (!mask)
		return;
	bpf_for (i, 0, MOST_SIBLINGS) {
		bpf_cpumask_clear_cpu(sibling, mask);
		sibling = next_sibling[slot(sibling)];
		if (sibling == cpu)
			break;
	}
}

/* @cpu joins the ring of its core. CPUs join in the order of their numbers. */
static void join_ring(u32 cpu)
{
	u32 first = plan_of(cpu)->core;

	next_sibling[slot(cpu)] = cpu == first ? cpu : next_sibling[slot(first)];
	next_sibling[slot(first)] = cpu;
}

/* Called once from ops.init. */
static s32 init_cores(void)
{
	struct bpf_cpumask *mask = bpf_cpumask_create();
	s32 cpu;

	if (!mask)
		return -ENOMEM;
	bpf_for (cpu, 0, scx_bpf_nr_cpu_ids())
		if (is_online(cpu)) {
			bpf_cpumask_set_cpu(cpu, mask);
			core_of(cpu)->cpus++;
			join_ring(cpu);
		}
	mask = bpf_kptr_xchg(&free_cpus, mask);
	if (mask)
		bpf_cpumask_release(mask);
	return 0;
}

#endif /* __STEER_CORES_BPF_H */
