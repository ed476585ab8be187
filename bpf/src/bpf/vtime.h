/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Virtual time: CPU time over weight, on one clock per last-level cache. A clock stands
 * where the thread furthest ahead of those that ran under its cache began to run, which
 * was the one furthest behind of those that waited. Pure, like flow.h.
 */
#ifndef __STEER_VTIME_H
#define __STEER_VTIME_H

#include "intf.h"

/* How far a thread may be ahead of its clock, or behind, in slices. */
enum { MOST_LAG = 20 };

/*
 * The time @vtime by the clock that now shows @from, as told by one that shows @to: the
 * thread takes along how far ahead or behind it was, within MOST_LAG.
 */
static inline u64 vtime_by(u64 vtime, u64 from, u64 to, u64 slice_ns)
{
	s64 ahead = vtime - from, most = MOST_LAG * slice_ns;

	return to + (ahead < -most ? -most : ahead > most ? most : ahead);
}

/*
 * The time of a thread that comes to wait, by a clock that shows @now: it may catch up by one
 * slice. More would starve those who come after, of a CPU where threads have run less than
 * elsewhere under the cache.
 */
static inline u64 vtime_limited(u64 vtime, u64 now, u64 slice_ns)
{
	u64 least = now - slice_ns;

	return (s64)(vtime - least) < 0 ? least : vtime;
}

#endif /* __STEER_VTIME_H */
