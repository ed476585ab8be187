/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Flows: bursts in, class out. Pure: no map, no helper, no clock. Compiled for BPF and also
 * natively, where property tests run it (bpf/tests/pure.rs).
 *
 * A burst is what moves one way until the direction turns or the socket idles:
 *
 *   recv 4K | send 4K | recv 4K | ...        each turn ends a burst of 4K: short
 *   recv 32K, 32K, 16K ...                   64K at the second read: long
 *   recv 32K, (idle), recv 20K, (idle)       between the bounds: keeps its class
 *
 * A flow becomes long the moment a burst crosses the bound. It leaves that class only after
 * several short bursts in a row: a stall of the sender or of the CPU ends a burst too, and must
 * not turn a bulk transfer into an RPC.
 *
 * TCP's acknowledgements are not seen here. Those of QUIC are: they are datagrams, and end bursts
 * of a bulk transfer. A datagram that is answered by one of quite another size may be a request or
 * may be data, so it counts against "short": such a flow has no class.
 */
#ifndef __STEER_FLOW_H
#define __STEER_FLOW_H

#include "intf.h"

struct flow {
	u64 last_ns;
	u64 burst_bytes;
	u64 served_since_ns; /* since when @served_on has not changed */
	u32 napi;	     /* the NAPI context its packets come from, 0 if unknown */
	u32 ifindex;	     /* the device they come in by, 0 if unknown */
	u32 plan_generation; /* of the plan that @nic refers to, 0 before the first */
	u16 served_on;	     /* the CPU of the last send or receive, counted from 1; 0 = none yet */
	u16 arrived_on;	     /* the CPU on which its packets then arrived, counted the same way */
	u8 direction : 2;    /* enum direction */
	bool datagrams : 1;  /* not a stream: set at the first event */
	u8 class;	     /* enum traffic_class, never MIXED */
	u8 short_bursts;     /* in a row */
	s8 nic;		     /* the NIC of the plan that napi and ifindex mean, or -1 */

	/* what is collected, see collect.h */
	u32 collector; /* the thread that it is for, 0 = none */
	u32 collected_bytes;
	u16 policy; /* that thread's */
	u8 collected_events;
	u8 collected_messages;
};

/* Of sk storage that begins 8 bytes into a cache line (6.18): an event touches one line. */
_Static_assert(sizeof(struct flow) == 56, "one cache line");

#define NIC_UNKNOWN ((u32) - 1)
_Static_assert(MAX_NICS <= 128, "flow.nic is an s8");

/* A datagram is that many times as large as its acknowledgement, or more. */
#define ACK_RATIO 16

/* A burst of datagrams is answered by @bytes: may one be the acknowledgement of the other? */
static inline bool flow_may_acknowledge(const struct flow *f, u64 bytes)
{
	return f->datagrams &&
	       (f->burst_bytes / ACK_RATIO >= bytes || bytes / ACK_RATIO >= f->burst_bytes);
}

/* End the burst in progress and count it against "short". */
static inline void flow_doubt(struct flow *f)
{
	if (f->class == CLASS_SHORT && f->short_bursts)
		f->short_bursts--;
	if (f->class == CLASS_SHORT && !f->short_bursts)
		f->class = CLASS_NONE;
	f->burst_bytes = 0;
}

/* End the burst in progress and count it for or against "short". */
static inline void flow_end_burst(struct flow *f, const struct class_settings *s)
{
	if (f->burst_bytes && f->burst_bytes <= s->short_burst_bytes) {
		if (f->short_bursts < s->short_bursts_to_leave_long)
			f->short_bursts++;
		if (f->class != CLASS_LONG || f->short_bursts >= s->short_bursts_to_leave_long)
			f->class = CLASS_SHORT;
	}
	f->burst_bytes = 0;
}

/*
 * Account @bytes that moved in @direction at @now. Returns true if the direction turned: a message
 * ended and the answer began. If the clock steps back, as another CPU's may, no time has passed.
 */
static inline bool flow_account(struct flow *f, const struct class_settings *s, u8 direction,
				u64 bytes, u64 now)
{
	bool turned = f->direction != DIR_NONE && f->direction != direction;
	bool idled = now > f->last_ns && now - f->last_ns > s->idle_gap_ns;

	if (turned && flow_may_acknowledge(f, bytes))
		flow_doubt(f);
	else if (turned || idled)
		flow_end_burst(f, s);

	f->direction = direction;
	f->last_ns = now;
	if (f->burst_bytes + bytes < f->burst_bytes)
		f->burst_bytes = ~0ULL;
	else
		f->burst_bytes += bytes;

	if (f->burst_bytes >= s->long_burst_bytes) {
		f->class = CLASS_LONG;
		f->short_bursts = 0;
	}
	return turned;
}

#endif /* __STEER_FLOW_H */
