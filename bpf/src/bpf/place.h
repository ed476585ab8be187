/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What placement decides from numbers alone: does a NIC's steering follow threads,
 * how far is one CPU from another, when has a core too much to do. Pure, like flow.h.
 */
#ifndef __STEER_PLACE_H
#define __STEER_PLACE_H

#include "intf.h"

/*
 * Steering, learned per NIC. After a long-flow thread was sent away from its home,
 * either its packets follow (RFS, aRFS, XPS with ATR) or they keep arriving where
 * they did (RSS hash, ntuple rule). Each such move is one vote, and another while they
 * still have not followed, a while later:
 *
 *   score  -2 ········ -1 ········ +1 ········ +2
 *          fixed    (not known)         follows
 *
 * A vote against the sign starts over at its own side, so two in a row settle it and
 * one is enough to doubt it.
 */
struct nic_steering {
	s32 score;
	u32 probes;   /* since packets followed last */
	u64 probe_ns; /* when a thread is next sent away from a home that is fixed and remote */
	u64 doubt_ns; /* when it is next doubted that homes are fixed, their cores being wanted */
};

enum { STEERING_SETTLED = 2 };

static inline bool steering_is_fixed(const struct nic_steering *s)
{
	return s->score <= -STEERING_SETTLED;
}

static inline bool steering_follows(const struct nic_steering *s)
{
	return s->score >= STEERING_SETTLED;
}

static inline void steering_vote(struct nic_steering *s, bool followed)
{
	s32 vote = followed ? 1 : -1;

	if (followed)
		s->probes = 0;
	if (s->score * vote < 0)
		s->score = vote;
	else if (s->score * vote < STEERING_SETTLED)
		s->score += vote;
}

#define PROBE_NS (1000 * 1000 * 1000ULL)

/*
 * Is it time to send a thread away from a remote home, to see whether it is fixed still? It can
 * have been learned in error under load, or someone has switched RFS on. After a second, then
 * twice as long each time, 16 s at the most: threads that rightly stay are seldom bothered.
 */
static inline bool steering_probe_due(struct nic_steering *s, u64 now)
{
	enum { MOST = 4 };
	bool due = now >= s->probe_ns;

	if (due) {
		s->probe_ns = now + (PROBE_NS << (s->probes & 7));
		s->probes += s->probes < MOST;
	}
	return due;
}

/* What was known is to be seen again: one vote settles it as it was. */
static inline void steering_doubt(struct nic_steering *s)
{
	s->score /= STEERING_SETTLED;
}

/*
 * How far a CPU is from the one whose softirq feeds a thread, nearest first: same
 * cache, SMT sibling, same node, elsewhere. The sibling has the cache too, but not
 * the execution units to itself (multicore paper: a pair that shares a cache is
 * best once one core is saturated).
 */
enum cpu_distance { DISTANCE_SELF, DISTANCE_LLC, DISTANCE_SIBLING, DISTANCE_NODE, DISTANCE_FAR };

static inline enum cpu_distance cpu_distance(const struct cpu_plan *a, const struct cpu_plan *b)
{
	if (a == b)
		return DISTANCE_SELF;
	if (a->core == b->core)
		return DISTANCE_SIBLING;
	/* first, as a cache may span nodes (sub-NUMA clustering) */
	if (a->node != b->node)
		return DISTANCE_FAR;
	return a->llc == b->llc ? DISTANCE_LLC : DISTANCE_NODE;
}

/* Loads are in 1024ths of a CPU. */
enum { LOAD_FULL = 1024 };

/*
 * How many long-flow threads some CPUs have, counted anew in every window: no thread
 * that dies, blocks or changes its class leaves a count behind.
 */
struct head_count {
	u32 window; /* that `now` counts */
	u16 now;    /* seen in it */
	u16 before; /* ... in the one before */
};

/* Count one more in @window. */
static inline void heads_add(struct head_count *h, u32 window)
{
	if (h->window != window) {
		h->before = h->window + 1 == window ? h->now : 0;
		h->now = 0;
		h->window = window;
	}
	if (h->now < (u16)~0)
		h->now++;
}

/* How many there are in @window: a window that has just begun has not seen all of them. */
static inline u32 heads_in(const struct head_count *h, u32 window)
{
	if (h->window == window)
		return h->now > h->before ? h->now : h->before;
	return h->window + 1 == window ? h->now : 0;
}

/*
 * What a CPU costs one more long-flow thread: how many its core has, then how many its
 * cache, then how busy it is. Eight on one core lost 19 % each, mostly to cache misses
 * (host-network-stack paper, incast).
 */
static inline u32 spread_cost(u32 on_core, u32 on_llc, u32 load)
{
	enum { MOST = 1023 };

	on_core = on_core < MOST ? on_core : MOST;
	on_llc = on_llc < MOST ? on_llc : MOST;
	return on_core << 21 | on_llc << 11 | load;
}

/* Beyond any of these: of a CPU that is reserved, for those who may use no other near their NIC. */
#define COST_RESERVED (1U << 31)

/* The cost of a CPU that is out of the question. */
#define COST_NEVER (~0ULL)

/*
 * What it costs a thread to leave @from for @to: the distance, then @spread. Never
 * to another node: split across nodes, softirq and thread did 0.46 of the work of one
 * NIC-local core (DESIGN's priced prototype), which is less than half of a core that
 * two share.
 */
static inline u64 spill_cost(const struct cpu_plan *from, const struct cpu_plan *to, u32 spread)
{
	enum cpu_distance distance = cpu_distance(from, to);

	if (distance > DISTANCE_NODE)
		return COST_NEVER;
	return (u64)distance << 32 | spread;
}

/*
 * Does it help a thread to leave a full core that has so many long-flow threads? Not one
 * that is alone there, if its packets follow: all that filled the core would come along.
 * As long as that is not known, leaving is how it becomes known.
 */
static inline bool spill_helps(const struct nic_steering *s, u32 threads)
{
	return threads > 1 || !steering_follows(s);
}

/* The average follows a change by half per window. */
static inline u32 load_update(u32 load, u64 busy_ns, u64 window_ns)
{
	u64 now = busy_ns / (window_ns / LOAD_FULL ?: 1);

	return (load + (now < LOAD_FULL ? now : LOAD_FULL)) / 2;
}

/* Too much for one core: time for a long-flow thread to leave its softirq. */
static inline bool load_saturates(u32 load)
{
	return load >= LOAD_FULL * 9 / 10;
}

/* A core that can take a whole long-flow thread. */
static inline bool load_has_room(u32 load)
{
	return load <= LOAD_FULL / 2;
}

/* Softirq and thread, apart since one core was too small, would fit on one again. */
static inline bool loads_fit_together(u32 home, u32 thread)
{
	return home + thread <= LOAD_FULL * 7 / 10;
}

/*
 * How many of @cpus short-flow threads should have to themselves, at these sums of loads: so
 * many that they are three quarters busy, if long-flow threads can do with the others. If they
 * cannot, those that they do without, or as many as short-flow threads fill now: mixed, both
 * lose more than half of what they do (host-network-stack paper, fig 11). Less than a twentieth
 * of a CPU is not worth one; it does not count as mixed either (observer.bpf.c).
 */
static inline u32 cpus_for_short(u32 short_load, u32 long_load, u32 cpus)
{
	u32 wanted = short_load / (LOAD_FULL * 3 / 4) + 1;
	u32 filled = (short_load + LOAD_FULL / 4) / LOAD_FULL;
	u32 needed = long_load / (LOAD_FULL * 9 / 10) + 1;
	u32 spare = cpus > needed ? cpus - needed : 0;

	if (short_load < LOAD_FULL / 20)
		return 0;
	if (wanted <= spare)
		return wanted;
	if (filled <= spare)
		return spare;
	return filled < cpus ? filled : cpus - 1;
}

/*
 * Do so many more threads wait for each CPU of another cache that taking one of them does
 * not turn it round?
 */
static inline bool is_more_crowded(u32 waiting, u32 cpus, u32 own_waiting, u32 own_cpus)
{
	return (u64)waiting * own_cpus > (own_waiting + 1ULL) * cpus;
}

#endif /* __STEER_PLACE_H */
