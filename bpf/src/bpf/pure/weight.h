/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Weights: how much CPU time a thread gets, relative to the threads that it competes with. Units as
 * in the kernel's own scheduler: a thread of nice 0 and a cgroup of cpu.weight 100 have 1024.
 *
 * A cgroup competes as one with the threads and cgroups beside it. Its share is divided among what
 * is active inside. So a thread's weight is multiplied, for each cgroup above it, by
 *
 *      weight of the cgroup / weight of all that is active inside
 *
 * Example: cgroup A (1024) has four threads of 1024, cgroup B (3072) has one.
 *
 *      threads in A: 1024 * 1024 / 4096 = 256 each      thread in B: 1024 * 3072 / 1024 = 3072
 *
 * Pure, like flow.h.
 */
#ifndef __STEER_WEIGHT_H
#define __STEER_WEIGHT_H

#include "intf.h"

enum {
	WEIGHT_NICE_0 = 1024, /* of nice 0, and of cpu.weight 100 */
	WEIGHT_OF_IDLE = 3,   /* of SCHED_IDLE and cpu.idle (WEIGHT_IDLEPRIO, kernel/sched) */
	WEIGHT_SHIFT = 20,    /* effective weights are in units of 2^-20 */
	AVERAGE_SHIFT = 10,   /* averages of weights are in units of 2^-10 */
	MOST_WEIGHT = 88761,  /* of nice -20 */
	MOST_GROUP = 102400,  /* of cpu.weight 10000 */
};

/* By nice value, from -20 to 19: sched_prio_to_weight, kernel/sched/core.c, 6.18. */
static const u32 nice_weights[40] = {
	88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916,
	9548,  7620,  6100,  4904,  3906,  3121,  2501,	 1991,	1586,  1277,
	1024,  820,   655,   526,   423,   335,	  272,	 215,	172,   137,
	110,   87,    70,    56,    45,	   36,	  29,	 23,	18,    15,
};

/* The weight of a thread with this static_prio: 100 is nice -20. */
static inline u32 nice_weight(u32 static_prio)
{
	u32 i = static_prio - 100;

	return nice_weights[i < 40 ? i : 20];
}

/* What a cgroup passes on to what runs inside. The root cgroup passes on weights as they are. */
struct group_share {
	u64 top;    /* weight of the cgroup among all threads, in 2^-20; 0: the root cgroup */
	u64 inside; /* weight of all that is active inside, averaged */
};

/*
 * The weight among all threads of something that has @weight inside a cgroup, in 2^-20. At least 1.
 * While only this is active it gets all that the cgroup has: an average cannot be less than it.
 */
static inline u64 weight_in(const struct group_share *share, u32 weight)
{
	u64 inside = share->inside > weight ? share->inside : weight;

	if (!share->top)
		return (u64)weight << WEIGHT_SHIFT;
	return share->top * weight / (inside ?: 1) ?: 1;
}

/* In 2^-20, a weight that is kept in 1024ths. */
static inline u64 weight_of_1024ths(u32 weight_1024ths)
{
	return (u64)weight_1024ths << (WEIGHT_SHIFT - 10);
}

/* Virtual time that passes for a thread of @weight (in 2^-20) that runs for @ran_ns. */
static inline u64 vtime_of(u64 ran_ns, u64 weight)
{
	const u64 most = 1ULL << 33; /* 8 s: nothing runs that long between two ticks */

	return ((ran_ns < most ? ran_ns : most) << (WEIGHT_SHIFT + 10)) / (weight ?: 1);
}

/*
 * The average (in 2^-10) after one more look that found @now (as a plain weight). It moves by a
 * quarter: with a look every 20 ms, half way in 48 ms.
 */
static inline u64 weight_average(u64 average, u64 now)
{
	u64 found = now << AVERAGE_SHIFT;

	/* a step that rounds to nothing would never arrive */
	if (found + 4 > average && average + 4 > found)
		return found;
	return average < found ? average + (found - average) / 4 : average - (average - found) / 4;
}

#endif /* __STEER_WEIGHT_H */
