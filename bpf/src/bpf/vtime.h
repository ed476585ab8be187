/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Virtual time: CPU time over weight, on one clock per last-level cache. A clock stands
 * where the thread furthest ahead of those that ran under its cache began to run. Pure,
 * like flow.h.
 */
#ifndef __STEER_VTIME_H
#define __STEER_VTIME_H

#include "intf.h"

/* What a thread may owe at most, in slices. */
enum { MOST_OWED = 20 };

/*
 * The time @vtime by the clock that now shows @from, as told by one that shows @to: the
 * thread takes along how far ahead or behind it was. A sleeper may catch up by one slice
 * and no more; nor does any thread owe more than MOST_OWED.
 */
static inline u64 vtime_by(u64 vtime, u64 from, u64 to, u64 slice_ns)
{
	s64 ahead = vtime - from, least = -(s64)slice_ns, most = MOST_OWED * slice_ns;

	return to + (ahead < least ? least : ahead > most ? most : ahead);
}

#endif /* __STEER_VTIME_H */
