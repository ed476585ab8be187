/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Quotas (cpu.max): what a cgroup may still run in this period. A CPU draws CPU time for a cgroup
 * in chunks, so that CPUs seldom meet at the pool. A thread may run a little too long, until the
 * next tick. The pool owes that then, and later periods repay it. Pure, like flow.h.
 */
#ifndef __STEER_QUOTA_H
#define __STEER_QUOTA_H

#include "intf.h"

#define QUOTA_NONE  (~0ULL)	    /* RUNTIME_INF, kernel/sched/sched.h */
#define CHUNK_LEAST (500 * 1000ULL) /* ns */
#define CHUNK_MOST                                                                                 \
	(5 * 1000 * 1000ULL) /* ns; sched_cfs_bandwidth_slice_us, kernel/sched/fair.c              \
			      */

/*
 * How much a CPU draws at once. A sixteenth of the quota: what CPUs have drawn and not used stays
 * small beside it.
 */
static inline u64 quota_chunk(u64 quota_ns)
{
	u64 chunk = quota_ns / 16;

	return chunk < CHUNK_LEAST ? CHUNK_LEAST : chunk > CHUNK_MOST ? CHUNK_MOST : chunk;
}

/* How much of a chunk a pool can give that has @pool, or owes it if that is below 0. */
static inline s64 quota_granted(s64 pool, s64 chunk)
{
	return pool <= 0 ? 0 : pool < chunk ? pool : chunk;
}

/* The pool after @periods more have begun: unused time is kept up to the burst. */
static inline s64 quota_refilled(s64 pool, u64 quota_ns, u64 burst_ns, u64 periods)
{
	s64 most = quota_ns + burst_ns, filled;

	/* so many periods fill any pool */
	if (periods > 1000)
		periods = 1000;
	filled = pool + (s64)(quota_ns * periods);
	return filled < most ? filled : most;
}

#endif /* __STEER_QUOTA_H */
