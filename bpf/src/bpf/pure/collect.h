/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Most events tell nothing new of their flow: one more read of a bulk transfer, one more small
 * request. They are collected in the flow, and charged to the thread a few at a time. Pure, like
 * flow.h.
 *
 *   long    an event of the same burst, if no short burst came before it
 *   short   an event that leaves the burst short, after as many short bursts as are counted;
 *           not of datagrams, whose turns may tell that it is not short
 *
 * This changes when a thread is charged, not what the flow is: with every event, its class, burst
 * and number of short bursts are as flow_account() would have them (property test).
 */
#ifndef __STEER_COLLECT_H
#define __STEER_COLLECT_H

#include "pure/flow.h"

/* Events that wait at most. Even, so that requests and answers are charged in turns. */
#define COLLECTED_EVENTS 6
/* A larger event is charged at once. */
#define COLLECTED_BYTES (1024 * 1024)
/* An event is charged at once if the one before is older than this part of a half-life. */
#define COLLECTED_AGE_SHIFT 4

/* Does an event that leaves the burst at @burst_bytes tell nothing new? @ended: it began a burst.
 */
static inline bool flow_is_settled(const struct flow *f, const struct class_settings *s, bool ended,
				   u64 burst_bytes)
{
	if (f->class == CLASS_LONG)
		return !ended && !f->short_bursts;
	return !f->datagrams && burst_bytes <= s->short_burst_bytes &&
	       f->short_bursts >= s->short_bursts_to_leave_long;
}

/* Collect an event of @thread. False: it must be accounted, and with it what was collected. */
static inline bool flow_collect(struct flow *f, const struct class_settings *s, u32 thread,
				u8 direction, u64 bytes, u64 now)
{
	u64 age = now > f->last_ns ? now - f->last_ns : 0;
	bool turned = f->direction != direction, ended = turned || age > s->idle_gap_ns;
	u64 burst = bytes + (ended ? 0 : f->burst_bytes);
	bool collects = f->collector == thread && f->collected_events < COLLECTED_EVENTS &&
			bytes <= COLLECTED_BYTES && age <= s->half_life_ns >> COLLECTED_AGE_SHIFT &&
			burst >= bytes && flow_is_settled(f, s, ended, burst);

	if (collects) {
		f->direction = direction;
		f->last_ns = now;
		f->burst_bytes = burst;
		f->collected_bytes += bytes;
		f->collected_events++;
		f->collected_messages += turned;
	}
	return collects;
}

/* What was collected has been charged. From now on, collect for @thread, which is under @policy. */
static inline void flow_collect_for(struct flow *f, u32 thread, u16 policy)
{
	f->collector = thread;
	f->policy = policy;
	f->collected_bytes = 0;
	f->collected_events = 0;
	f->collected_messages = 0;
}

#endif /* __STEER_COLLECT_H */
