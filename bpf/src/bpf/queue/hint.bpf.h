/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hints: where threads may wait. A look at a queue's length is a search in a hash table, and each
 * wake-up would make six of them; most find nothing.
 *
 * A hint may say that a thread waits where none does. It never says that none waits where one does,
 * with one exception: a thread that goes to another CPU's queue, or to a shard's, arrives there
 * only after the program has ended. So such a queue is looked at for SENT_NS after it was noted,
 * whatever the hint says. If it takes longer, which only a CPU of a virtual machine that is not
 * run can do, the timer finds the thread.
 */
#ifndef __STEER_HINT_BPF_H
#define __STEER_HINT_BPF_H

#include <scx/common.bpf.h>
#include "ground/shards.bpf.h"
#include "ground/cpu.bpf.h"

/*
 * Queue numbers: kind | number of the CPU, shard, pool or cgroup. Pools count from 1. No CPU serves
 * the queue of a cgroup: its threads are throttled (limit.bpf.h).
 */
enum { DSQ_CPU = 1 << 16, DSQ_SHARD = 2 << 16, DSQ_POOL = 3 << 16, DSQ_GROUP = 4 << 16 };

/* How long a thread may be on its way to a queue. */
#define SENT_NS (1000 * 1000ULL)

/* A thread goes to the queue of @cpu, under the lock of @cpu's run queue: it is there at once. */
static __always_inline void note_own(s32 cpu)
{
	state_of(cpu)->own_waiting++;
}

/* A thread goes to the queue of @cpu, from anywhere. */
static __always_inline void note_sent(s32 cpu, u64 now)
{
	state_of(cpu)->own_sent_ns = now;
}

/*
 * A thread that is enqueued on @here goes to the queue of @cpu. Global: inlined, it makes the
 * verifier of 6.18 follow a branch that cannot be, and complain.
 */
__weak __noinline int note_enqueued(s32 cpu, s32 here, u64 now)
{
	if (cpu == here)
		note_own(cpu);
	else
		note_sent(cpu, now);
	return 0;
}

/* @cpu has looked for a thread in its own queue. */
static __always_inline void note_taken(s32 cpu, bool taken)
{
	struct cpu_state *state = state_of(cpu);

	if (!taken)
		state->own_waiting = scx_bpf_dsq_nr_queued(DSQ_CPU | cpu);
	else if (state->own_waiting)
		state->own_waiting--;
}

/* May a thread wait in @cpu's own queue? Called there. */
static __always_inline bool own_may_wait(s32 cpu, u64 now)
{
	struct cpu_state *state = state_of(cpu);
	u64 sent_ns = state->own_sent_ns;

	if (sent_ns != state->own_seen_ns) {
		if (now > sent_ns + SENT_NS)
			state->own_seen_ns = sent_ns;
		state->own_waiting = scx_bpf_dsq_nr_queued(DSQ_CPU | cpu);
	}
	return state->own_waiting;
}

/* One bit per shard: a thread may wait in its queue. Idle CPUs skip the other shards. */
static u64 shards_waiting[MAX_SHARDS / 64];

/* When a thread was last sent there, to half of SENT_NS. */
static struct sent {
	u64 ns;
} __attribute__((aligned(64))) shards_sent[MAX_SHARDS];

static __always_inline u64 *waiting_word(u32 shard)
{
	return &shards_waiting[shard / 64 & (MAX_SHARDS / 64 - 1)];
}

static __always_inline u64 waiting_bit(u32 shard)
{
	return 1ULL << (shard & 63);
}

static __always_inline bool may_wait(u32 shard)
{
	return *waiting_word(shard) & waiting_bit(shard);
}

static __always_inline struct sent *sent_to(u32 shard)
{
	return &shards_sent[shard & (MAX_SHARDS - 1)];
}

/* Called when a thread is queued at @shard, before a CPU is woken for it. */
static __always_inline void note_waiting(u32 shard, u64 now)
{
	struct sent *sent = sent_to(shard);

	if (now > sent->ns + SENT_NS / 2)
		sent->ns = now;
	if (!may_wait(shard))
		__sync_fetch_and_or(waiting_word(shard), waiting_bit(shard));
}

/* Called when nothing was found at @shard. Keeps the bit if a thread came meanwhile. */
static void note_empty(u32 shard, u64 now)
{
	__sync_fetch_and_and(waiting_word(shard), ~waiting_bit(shard));
	if (scx_bpf_dsq_nr_queued(DSQ_SHARD | shard))
		note_waiting(shard, now);
}

/* Does a thread wait at @shard? Called by its CPUs. */
static bool waits_in(u32 shard, u64 now)
{
	bool settled = now > sent_to(shard)->ns + 2 * SENT_NS;

	if (settled && !may_wait(shard))
		return false;
	if (scx_bpf_dsq_nr_queued(DSQ_SHARD | shard))
		return true;
	if (settled)
		note_empty(shard, now);
	return false;
}

/* May a thread wait at another shard than @shard? With more than 64 shards, it may. */
static __always_inline bool may_wait_elsewhere(u32 shard)
{
	return nr_shards > 64 || shards_waiting[0] & ~waiting_bit(shard);
}

#endif /* __STEER_HINT_BPF_H */
