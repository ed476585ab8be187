/* SPDX-License-Identifier: GPL-2.0-only */
/* Loads: how busy a CPU is, in 1024ths, and what fits on it. Pure, like flow.h. */
#ifndef __STEER_LOAD_H
#define __STEER_LOAD_H

#include "intf.h"

/* A CPU that is always busy. */
enum { LOAD_FULL = 1024 };

/* The average after a window in which the CPU was busy for @busy_ns. It moves half way. */
static inline u32 load_update(u32 load, u64 busy_ns, u64 window_ns)
{
	u64 now = busy_ns / (window_ns / LOAD_FULL ?: 1);

	return (load + (now < LOAD_FULL ? now : LOAD_FULL)) / 2;
}

/* The average length of runs, after one more of @ran_ns. It moves by an eighth. */
static inline u32 run_average(u32 average_ns, u64 ran_ns)
{
	const u64 most = 1 << 28; /* 268 ms */

	return (average_ns * 7ULL + (ran_ns < most ? ran_ns : most)) / 8;
}

/*
 * The speed that a CPU needs, in 1024ths, of which @used are used on average: a quarter more than
 * it uses, as schedutil's (map_util_perf, kernel/sched/cpufreq_schedutil.c, 6.6).
 */
static inline u32 performance_for(u32 used)
{
	u32 wanted = used + used / 4;

	return wanted < LOAD_FULL ? wanted : LOAD_FULL;
}

/* Too much for one core: a long-flow thread should leave its softirq. */
static inline bool load_saturates(u32 load)
{
	return load >= LOAD_FULL * 9 / 10;
}

/* Was a core busy without a break, in a window in which it was busy for @busy_ns? */
static inline bool load_fills(u64 busy_ns, u64 window_ns)
{
	return busy_ns >= window_ns / 16 * 15;
}

/* This core can take a whole long-flow thread. */
static inline bool load_has_room(u32 load)
{
	return load <= LOAD_FULL / 2;
}

/*
 * Softirq and thread were split because one core was too small. Do they fit on one again? @thread
 * is what the thread uses. The load of the CPU where it is says less: that has softirq of its own.
 */
static inline bool loads_fit_together(u32 home, u32 thread)
{
	return home + thread <= LOAD_FULL * 8 / 10;
}

/* A thread that moves fills a cache anew: 1 MiB, as an L2 is today, at 10 GB/s. */
#define MOVE_COST_NS (100 * 1000U)

/*
 * May a thread that was preempted by one that moves data wait until that is done, though it could
 * go on elsewhere at once? It loses @run_ns each time, and if it moved, what moving costs. But on a
 * core with much traffic it would wait for most of the time.
 */
static inline bool load_passes(u32 load, u32 run_ns)
{
	return load <= LOAD_FULL / 4 && run_ns <= MOVE_COST_NS;
}

/* No core is lent before: threads that take turns wait for about as long. */
#define LEND_LEAST_NS (2 * 1000 * 1000ULL)

/*
 * How long a short-flow thread waits before it gets a claimed core: the less the core's traffic
 * loads it, the sooner. A core full of traffic is lent after @most_ns.
 */
static inline u64 lend_wait(u64 most_ns, u32 load)
{
	u64 wait_ns = most_ns / LOAD_FULL * load;
	u64 least_ns = most_ns < LEND_LEAST_NS ? most_ns : LEND_LEAST_NS;

	return wait_ns > least_ns ? wait_ns : least_ns;
}

#endif /* __STEER_LOAD_H */
