/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Limits of cgroups (cpu.max). Under sched_ext the kernel leaves them to the scheduler.
 *
 * A CPU that runs a thread draws CPU time from the pool of the thread's cgroup and of each cgroup
 * above that has a quota, in chunks, and charges it at ticks and when the thread stops. When a pool
 * is empty, the cgroup is throttled: its threads wait in a queue of the cgroup, and so do those of
 * the cgroups below. The timer fills the pool when a period begins, and lets them go.
 *
 * Kernel threads and exiting threads are exempt, and so is a thread preempted while it reads under
 * RCU: it would keep the grace period from ending.
 */
#ifndef __STEER_LIMIT_BPF_H
#define __STEER_LIMIT_BPF_H

#include <scx/common.bpf.h>
#include "ground/group.bpf.h"
#include "ground/idle.bpf.h"
#include "queue/clock.bpf.h"
#include "queue/queue.bpf.h"
#include "queue/shares.bpf.h"

/* How many cgroups with a quota may be nested. Those further up do not limit. */
#define MAX_LIMITERS 8
/* How often the timer looks for periods that begin. */
#define LIMIT_REFRESH_NS (10 * 1000 * 1000ULL)
/* For how long it looks after a limit is gone: a thread may be on its way to the cgroup's queue. */
#define LIMIT_GONE_NS (1000 * 1000 * 1000ULL)
/* How many threads it lets go of one cgroup each time. */
#define RELEASE_BATCH 256
/* A thread that was throttled for so long runs for a tick: the kernel's watchdog would eject us. */
#define THROTTLE_MOST_NS (10 * 1000 * 1000 * 1000ULL)

/* @here has used up its chunk, or more: the pool pays what is too much. Draw another chunk. */
static void draw(struct group *group, struct group_cpu *here, u64 now)
{
	s64 chunk = group->chunk_ns, wanted = chunk - here->budget_ns, left, granted;

	left = __sync_fetch_and_add(&group->pool_ns, -wanted) + here->budget_ns;
	granted = quota_granted(left, chunk);
	if (granted < chunk)
		__sync_fetch_and_add(&group->pool_ns, chunk - granted);
	here->budget_ns = granted;
	if (granted || group->throttled)
		return;
	group->throttled = true;
	group->throttled_ns = now;
	__sync_fetch_and_add(&group->throttled_times, 1);
}

/* A thread of cgroup @number ran here for @ran_ns. Global, so that the verifier walks it once. */
__weak __noinline int charge_quotas(u32 number, u64 ran_ns, u64 now)
{
	struct group *group = group_at(number);
	u32 i;

	if (!group)
		return 0;
	number = group->limiter;
	bpf_for (i, 0, MAX_LIMITERS) {
		struct group_cpu *here;

		if (!number)
			break;
		group = group_at(number);
		here = group_here(number);
		if (!group || !here)
			break;
		here->budget_ns -= ran_ns;
		if (here->budget_ns <= 0)
			draw(group, here, now);
		number = group->above;
	}
	return 0;
}

/* Is @p in a place where it must go on whatever its quota? */
static __always_inline bool is_exempt(const struct task_struct *p)
{
	if (p->flags & (PF_KTHREAD | PF_EXITING))
		return true;
	if (!bpf_core_field_exists(p->rcu_read_lock_nesting))
		return false;
	/* entering this program was one more rcu_read_lock() of the current thread */
	return p->rcu_read_lock_nesting > (p == bpf_get_current_task_btf());
}

/* Cgroup @number or the one above it whose quota is used up; 0: none. Global, as charge_quotas().
 */
__weak __noinline u32 throttled_at(u32 number)
{
	struct group *group = group_at(number);
	u32 i;

	if (!group)
		return 0;
	number = group->limiter;
	bpf_for (i, 0, MAX_LIMITERS) {
		if (!number)
			break;
		group = group_at(number);
		if (!group)
			break;
		if (group->throttled)
			return number;
		number = group->above;
	}
	return 0;
}

/* Does a quota bind the thread? */
static bool is_limited(const struct task_ctx *task)
{
	struct group *group = nr_limited && task && task->group ? group_at(task->group) : NULL;

	return group && group->limiter;
}

/* The cgroup, of @p or above, for whose quota @p has to wait; 0: it may run. */
static u32 throttled_by(const struct task_struct *p, const struct task_ctx *task)
{
	u32 number;

	if (!nr_limited || !task || !task->group || task->overdue)
		return 0;
	number = throttled_at(task->group);
	return number && !is_exempt(p) ? number : 0;
}

/* The thread has had its tick. */
static __always_inline void end_overdue(struct task_ctx *task)
{
	task->overdue = false;
}

/* Let @p go, to which @it points: to the queue of another throttled cgroup, or to run. */
static void let_go(struct bpf_iter_scx_dsq *it, struct task_struct *p, struct task_ctx *task,
		   u32 number, u64 now)
{
	s32 cpu = scx_bpf_task_cpu(p), idle;
	u32 other = throttled_by(p, task), shard;
	u64 dsq;

	if (other == number)
		return;
	if (other) {
		scx_bpf_dsq_move_vtime(it, p, DSQ_GROUP | other, 0);
		return;
	}
	cpu = allowed(p, cpu);
	shard = shard_of(cpu);
	dsq = is_pinned(p) || is_exclusive(cpu) ? DSQ_CPU | cpu : DSQ_SHARD | shard;
	if (dsq >= DSQ_SHARD)
		note_waiting(shard, now);
	else
		note_sent(cpu, now);
	if (!requeue(it, p, task, dsq, cpu, vtime_at(p, task, clock_of_queue(dsq, cpu))))
		return;
	note_waits_since(task, now);
	idle = dsq >= DSQ_SHARD ? pick_any_idle(p, cpu) : cpu;
	if (idle >= 0)
		scx_bpf_kick_cpu(idle, SCX_KICK_IDLE);
}

/* Let threads of a cgroup go that is no longer throttled; if it is, one that waits for too long. */
static void release_from(struct group *group, u32 number, u64 now)
{
	struct task_struct *p;

	group->released = 0; /* not on the stack: there the verifier would follow every value */
	if (!scx_bpf_dsq_nr_queued(DSQ_GROUP | number))
		return;
	bpf_for_each (scx_dsq, p, DSQ_GROUP | number, 0) {
		struct task_ctx *task = ctx_of(p);

		if (!task || ++group->released > RELEASE_BATCH)
			break;
		if (group->throttled) {
			if (now < task->queued_ns + THROTTLE_MOST_NS)
				break;
			task->overdue = true;
		}
		let_go(BPF_FOR_EACH_ITER, p, task, number, now);
	}
}

/* A look at one cgroup with a quota. Global, so that the verifier walks it once. */
__weak __noinline int refill(u32 number, u64 now)
{
	struct group *group = group_at(number);
	u64 periods;

	if (!group)
		return 0;
	if (!group->id || group->quota_ns == QUOTA_NONE) {
		if (group->throttled || scx_bpf_dsq_nr_queued(DSQ_GROUP | number) > 0)
			group->gone_ns = now;
		else if (now > group->gone_ns + LIMIT_GONE_NS)
			note_limit(number, false);
		group->throttled = false;
	} else if (!group->refill_ns) {
		group->refill_ns = now + group->period_ns;
		group->pool_ns = group->quota_ns;
	} else if (now >= group->refill_ns) {
		periods = (now - group->refill_ns) / (group->period_ns ?: 1) + 1;
		group->refill_ns += periods * group->period_ns;
		/* CPUs draw meanwhile: their part of the change must not be lost */
		__sync_fetch_and_add(
			&group->pool_ns,
			quota_refilled(group->pool_ns, group->quota_ns, group->burst_ns, periods) -
				group->pool_ns);
	}
	if (group->throttled && group->pool_ns > 0) {
		group->throttled_sum_ns += now - group->throttled_ns;
		group->throttled = false;
	}
	bpf_rcu_read_lock();
	release_from(group, number, now);
	bpf_rcu_read_unlock();
	return 0;
}

/* Look at all cgroups with a quota. Called by the timer. */
static void refill_all(u64 now)
{
	u32 word, bit;

	bpf_for (word, 0, nr_groups / 64 + 1) {
		u64 limited = *limited_word(word * 64);

		if (!limited)
			continue;
		bpf_for (bit, 0, 64)
			if (limited >> bit & 1)
				refill(word * 64 + bit, now);
	}
}

#endif /* __STEER_LIMIT_BPF_H */
