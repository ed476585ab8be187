/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a thread belongs: the CPU for a long-flow thread, by what is known of its
 * home and its NIC's steering; an idle or unclaimed CPU for any other.
 *
 *   steering    home        a long-flow thread goes to
 *   follows     NIC-local   its home, which is where it ran last
 *   follows     elsewhere   the NIC-local core with the fewest of its kind; packets follow
 *   fixed       anywhere    its home: beside its softirq, even on a remote node
 *   not known               as if it followed; that is how it becomes known
 *
 * and from a core that has too much to do, to the nearest with room (place.h); from one that is
 * reserved for short-flow threads as if it were not NIC-local, unless home is fixed.
 */
#ifndef __STEER_TARGET_BPF_H
#define __STEER_TARGET_BPF_H

#include <bpf_experimental.h>
#include "reserve.bpf.h"

/* Loads need some windows to show what a move changed. */
#define SPILL_PACE_NS (3 * LOAD_WINDOW_NS)
/* How long a thread stays where it spilled to, at least: RFS follows every migration. */
#define SPILL_STAY_NS (1000 * 1000 * 1000ULL)

static __always_inline struct task_ctx *ctx_of(struct task_struct *p)
{
	return bpf_task_storage_get(&tasks, p, NULL, 0);
}

static __always_inline bool may_run_on(const struct task_struct *p, s32 cpu)
{
	return cpu >= 0 && is_online(cpu) && bpf_cpumask_test_cpu(cpu, p->cpus_ptr);
}

static __always_inline bool is_pinned(const struct task_struct *p)
{
	return p->nr_cpus_allowed == 1 || is_migration_disabled(p);
}

/*
 * The allowed NIC-local CPU whose core has the fewest long-flow threads, then whose cache
 * has, then with the least load: spread before stacking. The one it runs on wins a tie. One
 * that is reserved for short-flow threads only where it may use no other.
 * Global, so that the verifier walks it once, not for each of its callers.
 */
__weak __noinline s32 pick_nic_local(struct task_struct *p __arg_trusted, u32 nic, u64 now)
{
	s32 cpu, best = -1, current_cpu = scx_bpf_task_cpu(p);
	u32 cost, least = ~0U;

	bpf_for (cpu, 0, scx_bpf_nr_cpu_ids()) {
		if (!is_nic_local(cpu, nic) || is_exclusive(cpu) || !may_run_on(p, cpu))
			continue;
		cost = cost_of(cpu, now);
		if (is_reserved(cpu))
			cost |= COST_RESERVED;
		if (cost < least || (cost == least && cpu == current_cpu)) {
			best = cpu;
			least = cost;
		}
	}
	return best;
}

/*
 * The nearest CPU to @home, on its node, with room for a long-flow thread; NIC-local
 * if that is asked; or -1.
 */
__weak __noinline s32 pick_spill(struct task_struct *p __arg_trusted, s32 home, u32 nic,
				 bool local_only, u64 now)
{
	u64 cost, least = COST_NEVER;
	s32 cpu, best = -1;

	bpf_for (cpu, 0, scx_bpf_nr_cpu_ids()) {
		if (cpu == home || is_exclusive(cpu) || !may_run_on(p, cpu) ||
		    (is_reserved(cpu) && steering_follows(steering_of(nic))) ||
		    !load_has_room(state_of(cpu)->load) || (local_only && !is_nic_local(cpu, nic)))
			continue;
		cost = spill_cost(plan_of(home), plan_of(cpu), cost_of(cpu, now));
		if (cost < least) {
			best = cpu;
			least = cost;
		}
	}
	return best;
}

/* Does the NIC deliver where it will, whatever threads do? A thread that probes assumes not. */
static bool home_is_fixed(const struct task_ctx *task, u32 nic, u64 now)
{
	return steering_is_fixed(steering_of(nic)) && now >= task->probe_until_ns;
}

/* Now and then send a thread away from its remote, fixed home: do packets follow by now? */
static void maybe_probe(struct task_ctx *task, u32 nic, u64 now)
{
	if (steering_probe_due(steering_of(nic), now))
		task->probe_until_ns = now + PATIENCE_NS + SETTLE_NS;
}

/*
 * Leave the home, and watch whether the packets come along; see learn_steering(). Those
 * that arrived there so far have no say in where the next home is.
 */
static void depart(struct task_ctx *task, u64 now)
{
	task->home.bytes = 1;
	task->home.rival_bytes = 0;
	task->left_home = task->home.cpu;
	task->judge_ns = now + SETTLE_NS;
}

/* A core that is saturated lets a thread go, if that helps. */
static s32 spill(struct task_struct *p, struct task_ctx *task, s32 from, bool fixed, u64 now)
{
	struct core_use *core = core_of(from);
	s32 target;

	if (!load_saturates(state_of(from)->load) || now < core->spill_ns ||
	    !spill_helps(steering_of(task->home.nic), long_threads_on(from, now)))
		return from;
	target = pick_spill(p, from, task->home.nic, !fixed, now);
	if (target < 0)
		return from;
	core->spill_ns = now + SPILL_PACE_NS;
	count(CNT_LONG_SPILL);
	task->spilled = from == task->home.cpu;
	task->spill_until_ns = now + SPILL_STAY_NS;
	if (!fixed)
		depart(task, now);
	return target;
}

/* Does a thread that left its saturated home stay away? Not where its packets came along. */
static bool stays_spilled(const struct task_struct *p, struct task_ctx *task, u64 now)
{
	if (!task->spilled)
		return false;
	task->spilled =
		may_run_on(p, task->target) && !is_exclusive(task->target) &&
		task->target != task->home.cpu &&
		(now < task->spill_until_ns ||
		 !loads_fit_together(state_of(task->home.cpu)->load, state_of(task->target)->load));
	return task->spilled;
}

/* Is @target as near to the NIC as a long-flow thread wants it, and open to it still? */
static bool may_keep(const struct task_struct *p, s32 target, u32 nic)
{
	return may_run_on(p, target) && is_nic_local(target, nic) && !is_exclusive(target);
}

/* The CPU a long-flow thread belongs on, or -1 if it has no NIC to be near to. */
static s32 long_target(struct task_struct *p, struct task_ctx *task, u64 now)
{
	s32 home = task->home.cpu, target = task->target;
	u32 nic = task->home.nic;
	bool fixed, stays;

	if (!task->home.bytes || nic >= MAX_NICS) {
		task->target = -1;
		return -1;
	}
	if (stays_spilled(p, task, now))
		goto placed;

	fixed = home_is_fixed(task, nic, now);
	if (fixed && !is_nic_local(home, nic))
		maybe_probe(task, nic, now);
	/* just sent away from this home: wait for the packets to follow */
	stays = !fixed && home == task->left_home;

	if (may_run_on(p, home) && !is_exclusive(home) &&
	    (fixed || (is_nic_local(home, nic) && !is_reserved(home) && !stays))) {
		/* where it was sent, its packets are: that is still to be learned from */
		if (home != target)
			task->left_home = -1;
		target = home;
	} else if (!may_keep(p, target, nic) || is_reserved(target)) {
		target = pick_nic_local(p, nic, now);
		/* one reserved core is as good as another: stay */
		if (target >= 0 && is_reserved(target) && may_keep(p, task->target, nic))
			target = task->target;
		if (target < 0 && may_run_on(p, home) && !is_exclusive(home))
			target = home;
		else if (target >= 0 && target != home && target != task->target)
			depart(task, now);
	} else if (target != home && !fixed && !stays) {
		/* packets arrive elsewhere by now: do they follow a thread that stays? */
		depart(task, now);
	}
	if (target >= 0 && (target == home || !stays))
		target = spill(p, task, target, fixed, now);
placed:
	task->target = target;
	if (target >= 0)
		claim_core(task, target, now, place_settings.claim_ns);
	return target;
}

static void count_long(const struct task_ctx *task, s32 target)
{
	if (target < 0)
		count(CNT_LONG_UNPLACED);
	else if (!is_nic_local(target, task->home.nic))
		count(CNT_LONG_REMOTE);
	else
		count(target == task->home.cpu ? CNT_LONG_HOME : CNT_LONG_LOCAL);
}

/* An idle CPU that no long-flow thread claims, taken out of the idle set; or < 0. */
static s32 pick_free_idle(struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	struct bpf_cpumask *mask;
	s32 cpu = -ENOENT;

	/*
	 * A synchronous wake-up from softirq would pull the thread to the CPU that took
	 * the interrupt, across nodes (sched-ext/scx#3245). One from a thread, that is
	 * about to sleep, rightly brings the two together.
	 */
	if (bpf_in_interrupt())
		wake_flags &= ~SCX_WAKE_SYNC;
	mask = free_cpus;
	if (mask)
		cpu = scx_bpf_select_cpu_and(p, prev_cpu, wake_flags, cast_mask(mask), 0);
	return cpu;
}

/* Some CPU @p may use that is not claimed, busy as it may be; or < 0. */
static s32 any_free(const struct task_struct *p, s32 cpu, u64 now)
{
	struct bpf_cpumask *mask;
	u32 free = ~0U;

	if (!is_claimed(cpu, now) && !is_exclusive(cpu) && may_run_on(p, cpu))
		return cpu;
	mask = free_cpus;
	if (mask)
		free = bpf_cpumask_any_and_distribute(cast_mask(mask), p->cpus_ptr);
	return free < scx_bpf_nr_cpu_ids() ? (s32)free : -1;
}

/* Some CPU @p may use that is not exclusive, claimed as it may be: @cpu if it is one; or < 0. */
static __noinline s32 any_shared(const struct task_struct *p, s32 cpu)
{
	struct bpf_cpumask *mask;
	u32 shared = ~0U;

	if (!is_exclusive(cpu) && may_run_on(p, cpu))
		return cpu;
	mask = shared_cpus;
	if (mask)
		shared = bpf_cpumask_any_and_distribute(cast_mask(mask), p->cpus_ptr);
	return shared < scx_bpf_nr_cpu_ids() ? (s32)shared : -1;
}

/* @cpu, if @p may use it, else some that it may. */
static s32 allowed(const struct task_struct *p, s32 cpu)
{
	return may_run_on(p, cpu) ? cpu : (s32)bpf_cpumask_first(p->cpus_ptr);
}

#endif /* __STEER_TARGET_BPF_H */
