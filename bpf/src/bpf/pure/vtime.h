/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Virtual time: CPU time divided by weight, told by one clock per shard. When a thread begins to
 * run, the clock advances to that thread's virtual time; it never goes back. Pure, like flow.h.
 */
#ifndef __STEER_VTIME_H
#define __STEER_VTIME_H

#include "intf.h"

/*
 * How far a thread may be ahead of its clock, or behind, in slices, each as long as it is in the
 * thread's virtual time. With a bound that is the same for all weights, either a thread of little
 * weight would get too much, or others would wait for seconds. The kernel's own scheduler allows
 * two slices (update_entity_lag, kernel/sched/fair.c, 6.6). Ours end at ticks only, so a thread may
 * run for two ticks of 10 ms in one of 5 ms. With two slices, a thread of nice 10 got .084 of two
 * CPUs instead of .05, with four .048 to .065.
 */
enum { MOST_LAG = 8 };

/*
 * @vtime is told by a clock that shows @from; tell it by a clock that shows @to. The thread
 * stays as far ahead or behind as it was, but at most @most.
 */
static inline u64 vtime_by(u64 vtime, u64 from, u64 to, u64 most)
{
	s64 ahead = vtime - from, bound = most;

	return to + (ahead < -bound ? -bound : ahead > bound ? bound : ahead);
}

/* A bound that no thread reaches. */
#define NO_BOUND (1ULL << 62)

/*
 * The virtual time of a thread that begins to wait, by a clock that shows @now. It may catch up by
 * one slice. With more, threads of a CPU that had less time than others in the shard would starve
 * the threads that come later. And it waits for others to catch up by @most, at most.
 */
static inline u64 vtime_limited(u64 vtime, u64 now, u64 slice_ns, u64 most)
{
	s64 ahead = vtime - now, least = -(s64)slice_ns, bound = most;

	return now + (ahead < least ? least : ahead > bound ? bound : ahead);
}

/*
 * The virtual time, by a clock that shows @now, by which the first thread of a queue is compared
 * with that of another queue. Where a CPU is more crowded than others, all that wait for it fall
 * behind, and vtime_limited() has forgiven them different debts. So of those that are a slice
 * behind or more, the one that has waited longest counts as furthest behind.
 */
static inline u64 vtime_of_head(u64 vtime, u64 now, u64 slice_ns, s64 waited_ns)
{
	u64 least = now - slice_ns;

	if ((s64)(vtime - least) > 0)
		return vtime;
	return least - (waited_ns > 0 ? waited_ns : 0);
}

#endif /* __STEER_VTIME_H */
