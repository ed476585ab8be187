/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Clocks tell the virtual time of threads. There is one per shard, and one per CPU for the threads
 * in that CPU's own queue. A thread goes by the clock of the queue where it last waited, or of the
 * shard in which it woke. It keeps that clock while a CPU of another shard runs it: it competes
 * with the threads of the queue where it waited.
 *
 * A CPU's clock is the shard's, less a lift. Threads that may use one crowded CPU only get less CPU
 * time than others in the shard, so they fall behind the shard's clock. Then the lift grows, and
 * brings all threads of the queue nearer to that clock: the one furthest behind is a slice behind,
 * as any other thread that lacked CPU time (vtime_limited). What they owe each other stays, and so
 * their weights hold, and a thread that comes from elsewhere does not wait until they have caught
 * up. The other way round, a long-flow thread alone on a claimed core gets ahead of the shard's
 * clock while only short-flow threads wait there. The lift shrinks then: it does not pay for that
 * later.
 *
 * A shard's clock advances to threads that had to wait for a CPU. For others it advances to a slice
 * ahead of those that share the shard's CPUs, at most: a thread of little weight that has a CPU to
 * itself, here or in another shard, would drag it along, and what the others are owed would be lost
 * to vtime_limited(). A thread shares CPUs if it waited for one not long ago.
 */
#ifndef __STEER_CLOCK_BPF_H
#define __STEER_CLOCK_BPF_H

#include <scx/common.bpf.h>
#include "ground/cpu.bpf.h"
#include "ground/settings.bpf.h"
#include "ground/shards.bpf.h"
#include "pure/task.h"
#include "pure/vtime.h"
#include "pure/weight.h"
#include "queue/hint.bpf.h"

/* Number of a clock: that of the shard, or this and the number of the CPU. */
#define CLOCK_CPU MAX_CPUS
#define NR_CLOCKS (2 * MAX_CPUS)
_Static_assert(MAX_SHARDS <= CLOCK_CPU, "shards and CPUs share the numbers of clocks");

/* A slice that ends at the next tick. */
#define UNTIL_TICK_NS 1
/* A thread that waited for so long shares CPUs, */
#define SHARE_WAIT_NS (1000 * 1000ULL)
/* for so long. One of nice 10 that is bound to a CPU makes others wait once in a tenth of this. */
#define SHARES_NS (1000 * 1000 * 1000ULL)
/* How often a clock that advances looks which threads do. */
#define LOOK_NS (1000 * 1000ULL)

static struct clock {
	u64 vtime;     /* of the thread that is furthest ahead of those that began to run */
	u64 lift;      /* the shard's clock, less this one; 0 for a shard's own */
	u64 looked_ns; /* when it last looked who shares the CPUs, if this is a shard's clock */
	u64 most;      /* ... and how far it may advance by that */
} __attribute__((aligned(64))) clocks[NR_CLOCKS];

static __always_inline struct clock *clock_at(u32 number)
{
	/* or the compiler, which knows that the mask changes nothing, leaves it out */
	barrier_var(number);
	return &clocks[number & (NR_CLOCKS - 1)];
}

/* The number of the clock of the shard to which clock @number belongs. */
static __always_inline u32 shard_clock(u32 number)
{
	return number < CLOCK_CPU ? number : shard_of(number - CLOCK_CPU);
}

/* @vtime is told by clock @number; tell it by that of the shard. */
static __always_inline u64 lifted(u64 vtime, u32 number)
{
	return vtime + clock_at(number)->lift;
}

/* How far a thread of this weight may be ahead of its clock, or behind (MOST_LAG). */
static __always_inline u64 most_lag_of(u32 weight_1024ths)
{
	return MOST_LAG * vtime_of(place_settings.slice_ns, weight_of_1024ths(weight_1024ths));
}

/*
 * @vtime is told by clock @from; tell it by clock @to. It stays within MOST_LAG of the clock also
 * in the same shard: a long-flow thread that had its core to itself, and was ahead by much, does
 * not wait for long among others once its flow has ended. Global, so that the verifier walks it
 * once and not for each caller.
 */
__weak __noinline u64 vtime_between(u64 vtime, u32 from, u32 to, u32 weight_1024ths)
{
	u32 from_shard = shard_clock(from), to_shard = shard_clock(to);

	vtime = vtime_by(lifted(vtime, from), clock_at(from_shard)->vtime,
			 clock_at(to_shard)->vtime, most_lag_of(weight_1024ths));
	return vtime - clock_at(to)->lift;
}

/* The virtual time of @p by clock @number. */
static __always_inline u64 vtime_at(const struct task_struct *p, const struct task_ctx *task,
				    u32 number)
{
	u64 vtime = p->scx.dsq_vtime;

	if (!task || task->clock == number)
		return vtime;
	return vtime_between(vtime, task->clock, number, task->weight_1024ths);
}

/*
 * @vtime is told by clock @from; tell it by that of @shard, to compare threads. Unlike
 * vtime_by() this has no bound: a thread that has waited longest must not tie with one that just
 * came.
 */
static __always_inline u64 vtime_told_by(u32 shard, u64 vtime, u32 from)
{
	return lifted(vtime, from) + clock_at(shard)->vtime - clock_at(shard_clock(from))->vtime;
}

/* From now on, clock @number tells the thread's virtual time, which the caller has set. */
static __always_inline void note_clock(struct task_ctx *task, u32 number)
{
	task->clock = number;
}

/*
 * Lift the clock of @cpu's queue, so that @vtime, told by it, is near the shard's clock: a slice
 * behind at most, or MOST_LAG ahead. Global, as vtime_between().
 */
__weak __noinline int lift_clock_near(s32 cpu, u64 vtime, u32 weight_1024ths)
{
	struct clock *own = clock_at(CLOCK_CPU | slot(cpu));
	s64 ahead = vtime + own->lift - clock_at(shard_of(cpu))->vtime,
	    least = -(s64)place_settings.slice_ns, most = most_lag_of(weight_1024ths);

	if (ahead < least)
		own->lift += least - ahead;
	else if (ahead > most)
		own->lift -= ahead - most;
	return 0;
}

/* Lift the clock of @cpu's queue for @p, so that it competes with the threads of the shard. */
static __always_inline void lift_clock_for(s32 cpu, const struct task_struct *p,
					   const struct task_ctx *task)
{
	lift_clock_near(cpu, p->scx.dsq_vtime, task ? task->weight_1024ths : 0);
}

/* The time that clock @number shows. A CPU's shows no more than its shard's. */
static u64 clock_time(u32 number)
{
	const struct clock *own = clock_at(number);
	u64 of_shard = clock_at(shard_clock(number))->vtime - own->lift;

	return time_before(own->vtime, of_shard) ? own->vtime : of_shard;
}

/* By the clock of @cpu's queue: a virtual time before that of all threads which @cpu serves. */
static u64 first_vtime(s32 cpu)
{
	return clock_time(CLOCK_CPU | slot(cpu)) - 2 * place_settings.slice_ns;
}

/*
 * However long @p slept or lacked CPU time, it is behind its clock by one slice at most. However
 * long it had a CPU to itself, it is ahead of a shard's clock by MOST_LAG at most, or by a slice.
 * (Of a CPU's clock: lift_clock_near.)
 */
static __always_inline void limit_lag(struct task_struct *p, const struct task_ctx *task)
{
	u64 now, vtime, most = NO_BOUND, slice_ns = place_settings.slice_ns;

	if (!task)
		return;
	now = clock_time(task->clock);
	vtime = p->scx.dsq_vtime;
	/* a division, which most threads do not need */
	if (task->clock < CLOCK_CPU && time_before(now + slice_ns, vtime))
		most = most_lag_of(task->weight_1024ths);
	vtime = vtime_limited(vtime, now, slice_ns, most);
	if (vtime != p->scx.dsq_vtime)
		scx_bpf_task_set_dsq_vtime(p, vtime);
}

/* Clock @number tells the virtual time of @p instead of the one that did, within limit_lag(). */
static void change_clock(struct task_struct *p, struct task_ctx *task, u32 number)
{
	scx_bpf_task_set_dsq_vtime(p, vtime_at(p, task, number));
	note_clock(task, number);
	limit_lag(p, task);
}

/* From now on, clock @number tells the virtual time of @p. */
static __always_inline void set_clock(struct task_struct *p, struct task_ctx *task, u32 number)
{
	if (task && task->clock != number)
		change_clock(p, task, number);
}

/* @p, which runs on @state's CPU, has paid for its time until @now. */
static __always_inline void note_paid(struct cpu_state *state, const struct task_struct *p, u64 now)
{
	state->vtime_ns = p->scx.dsq_vtime;
	state->started_ns = now;
}

/* The virtual time of the thread on @state's CPU, which has @ran since it was last charged. */
static __always_inline u64 running_vtime(const struct cpu_state *state, u64 ran)
{
	return state->vtime_ns + vtime_of(ran, weight_of_1024ths(state->weight_1024ths));
}

/*
 * How far may the clock of @shard advance? To a slice ahead of the thread that is furthest behind
 * of those that share its CPUs: they run there, or wait first in its queue. If none does, as far as
 * it likes. Global, so that the verifier walks it once.
 */
__weak __noinline int look_who_shares(u32 shard, u64 now)
{
	struct clock *clock = clock_at(shard);
	u64 most = clock->vtime + NO_BOUND, vtime;
	struct task_struct *p;
	s32 cpu;

	/* to the verifier, a global function of a timer may sleep as ops.init may */
	bpf_rcu_read_lock();
	p = __COMPAT_scx_bpf_dsq_peek(DSQ_SHARD | shard);
	if (p)
		most = p->scx.dsq_vtime;
	bpf_rcu_read_unlock();
	bpf_for (cpu, 0, scx_bpf_nr_cpu_ids()) {
		const struct cpu_state *state = state_of(cpu);

		if (shard_of(cpu) != shard || state->clock != shard || !runs_ours(cpu) ||
		    now > state->shares_until_ns)
			continue;
		vtime = running_vtime(state, ran_for(state, now));
		if (time_before(vtime, most))
			most = vtime;
	}
	clock->most = most + place_settings.slice_ns;
	clock->looked_ns = now;
	return 0;
}

/* Clock @number advances to @vtime. */
static __always_inline void advance_clock(u32 number, u64 vtime)
{
	if (time_before(clock_at(number)->vtime, vtime))
		clock_at(number)->vtime = vtime;
}

/* The clock of @shard advances to @vtime, or as far as it may. */
static void advance_shard(u32 shard, u64 vtime, u64 now)
{
	struct clock *clock = clock_at(shard);

	if (!time_before(clock->vtime, vtime))
		return;
	if (now > clock->looked_ns + LOOK_NS)
		look_who_shares(shard, now);
	advance_clock(shard, time_before(clock->most, vtime) ? clock->most : vtime);
}

/* A thread with @vtime by clock @number runs: that clock advances, and the shard's. */
static void advance_clocks(u32 number, u64 vtime, u64 now)
{
	if (number >= CLOCK_CPU)
		advance_clock(number, vtime);
	advance_shard(shard_clock(number), lifted(vtime, number), now);
}

/* @p begins to run on @state's CPU, or goes on with a new slice since no other thread waits. */
static __always_inline void start_slice(struct cpu_state *state, const struct task_struct *p,
					const struct task_ctx *task, u64 now)
{
	u32 number = task ? task->clock : 0;

	advance_clocks(number, p->scx.dsq_vtime, now);
	note_paid(state, p, now);
	state->clock = number;
	state->shares_until_ns = task ? task->shares_until_ns : 0;
}

/*
 * Is the thread on @state's CPU ahead of those that share the CPUs, so that any of them that waits
 * should have its place?
 */
static __always_inline bool gives_way(const struct cpu_state *state)
{
	return time_before(clock_at(shard_clock(state->clock))->vtime + place_settings.slice_ns,
			   lifted(state->vtime_ns, state->clock));
}

/* The thread is queued; if it @resumes, it has the CPU again in no time. */
static __always_inline void note_in_queue(struct task_ctx *task, bool resumes)
{
	task->queued = !resumes;
}

/* @p begins to run. If it has waited, it shares the CPUs that it may use. */
static void note_waited(const struct task_struct *p, struct task_ctx *task, u64 now)
{
	if (task->queued && now > task->queued_ns + SHARE_WAIT_NS) {
		task->shares_until_ns = now + SHARES_NS;
		if (task->clock < CLOCK_CPU)
			advance_clock(task->clock, p->scx.dsq_vtime);
	}
	task->queued = false;
}

#endif /* __STEER_CLOCK_BPF_H */
