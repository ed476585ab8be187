/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mixed_share (ARCHITECTURE.md): time for long flows on a CPU where short flows took 5 % or more of
 * the same 100 ms window.
 */
#ifndef __STEER_SHARED_TIME_H
#define __STEER_SHARED_TIME_H

#include "intf.h"

#define WINDOW_NS	(100 * 1000 * 1000ULL)
#define WINDOW_SHARE_NS (WINDOW_NS / 20)

/* The number of the window that @now is in. */
static inline u64 window_of(u64 now)
{
	return now / WINDOW_NS;
}

static inline void close_window(struct shared_time *s)
{
	s->long_ns += s->window_long_ns;
	if (s->window_short_ns >= WINDOW_SHARE_NS)
		s->mixed_ns += s->window_long_ns;
	s->window_long_ns = 0;
	s->window_short_ns = 0;
}

/*
 * Add @ns of CPU time for @class that ended at @now. Calls come in the order of @now. A mixed
 * thread's time counts as long and as short.
 */
static inline void shared_time_add(struct shared_time *s, u8 class, u64 ns, u64 now)
{
	bool is_long = class == CLASS_LONG || class == CLASS_MIXED;
	bool is_short = class == CLASS_SHORT || class == CLASS_MIXED;
	u64 first = window_of(now - ns), before, whole;

	if (first > s->window) {
		close_window(s);
		s->window = first;
	}
	if (window_of(now) > s->window) {
		/* the part before this window: first into the open window, then whole windows */
		before = ns - now % WINDOW_NS;
		whole = before / WINDOW_NS * WINDOW_NS;
		s->window_long_ns += is_long ? before - whole : 0;
		s->window_short_ns += is_short ? before - whole : 0;
		close_window(s);
		s->long_ns += is_long ? whole : 0;
		s->mixed_ns += is_long && is_short ? whole : 0;
		s->window = window_of(now);
		ns -= before;
	}
	s->window_long_ns += is_long ? ns : 0;
	s->window_short_ns += is_short ? ns : 0;
}

#endif /* __STEER_SHARED_TIME_H */
