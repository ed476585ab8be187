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

#endif /* __STEER_LOAD_H */
