/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads: what their flows cost lately, their class, and the home CPU of their
 * long flows. Pure, like flow.h.
 *
 * Each event charges its estimated CPU cost to the class of its flow; both sums
 * halve every half-life. The class follows the share of the long-flow cost, with
 * bands that overlap, so that a thread at a boundary does not flap:
 *
 *   share of long   0 ······ 1/4 ··· 3/8 ········ 5/8 ··· 3/4 ······ 1
 *   enters               short                         long
 *   leaves                        short     long
 *
 * and is none while the sum is under the floor.
 */
#ifndef __STEER_THREAD_H
#define __STEER_THREAD_H

#include "intf.h"

struct thread_load {
	u64 stamp_ns; /* the sums are as of then */
	u64 long_ns;
	u64 short_ns;
	u8 class; /* enum traffic_class */
};

/* The CPU that most of the thread's long-flow bytes arrive on lately, and by which NIC. */
struct home {
	u64 bytes;	 /* that arrived there; 0 = unknown */
	u64 rival_bytes; /* by which one of the others leads the rest of them */
	u64 stamp_ns;	 /* the sums are as of then */
	s32 cpu;
	u32 nic;
	s32 rival_cpu;
	u32 rival_nic;
};

/*
 * A thread that serves several flows in turns, as event loops do, shall not follow each turn. They
 * are as long as a send buffer lasts: 4 MiB (net.ipv4.tcp_wmem) at 1 Gb/s take 34 ms.
 */
#define HOME_HALF_LIFE_NS (200 * 1000 * 1000ULL)
/* When a flow moves away, more than this is forgotten: bounds how soon it is followed. */
#define HOME_MOVED_BYTES (128 * 1024)
/* Bytes count no further (a TiB): no counter value overflows the sums. */
#define HOME_MOST_BYTES (1ULL << 40)

static inline void thread_decay(struct thread_load *t, const struct class_settings *s, u64 now)
{
	u64 halvings;

	/* the division is for the few events that need it */
	if (now <= t->stamp_ns || now - t->stamp_ns < s->half_life_ns)
		return;
	halvings = (now - t->stamp_ns) / s->half_life_ns;
	t->stamp_ns += halvings * s->half_life_ns;
	t->long_ns = halvings < 64 ? t->long_ns >> halvings : 0;
	t->short_ns = halvings < 64 ? t->short_ns >> halvings : 0;
}

/* The thread's class at @now; remembers it, for the hysteresis. */
static inline u8 thread_class(struct thread_load *t, const struct class_settings *s, u64 now)
{
	u64 sum, eighths;

	/* most threads move no data */
	if (!(t->long_ns | t->short_ns)) {
		t->class = CLASS_NONE;
		return CLASS_NONE;
	}
	thread_decay(t, s, now);
	sum = t->long_ns + t->short_ns;
	/* once classified, the floor is an eighth: leaving takes three half-lives longer */
	if (sum < (t->class == CLASS_NONE ? s->floor_ns : s->floor_ns / 8) || !sum) {
		t->class = CLASS_NONE;
		return CLASS_NONE;
	}
	eighths = !t->long_ns ? 0 : !t->short_ns ? 8 : t->long_ns * 8 / sum;
	if (eighths >= 6 || (t->class == CLASS_LONG && eighths >= 5))
		t->class = CLASS_LONG;
	else if (eighths < 2 || (t->class == CLASS_SHORT && eighths < 3))
		t->class = CLASS_SHORT;
	else
		t->class = CLASS_MIXED;
	return t->class;
}

/* A mixed thread is placed as the class that costs more CPU. */
static inline u8 thread_placed_as(const struct thread_load *t)
{
	if (t->class != CLASS_MIXED)
		return t->class;
	return t->long_ns >= t->short_ns ? CLASS_LONG : CLASS_SHORT;
}

/* Sums stop here (18 minutes of CPU): no counter value overflows the arithmetic above. */
#define LOAD_MAX_NS (1ULL << 40)

/* Charge an event of a flow of class @flow_class. An event of a flow not classified yet is free. */
static inline void thread_charge(struct thread_load *t, const struct class_settings *s,
				 u8 flow_class, u64 bytes, bool message, u64 now)
{
	u64 cost, *sum;

	if (flow_class != CLASS_LONG && flow_class != CLASS_SHORT)
		return;
	thread_decay(t, s, now);
	sum = flow_class == CLASS_LONG ? &t->long_ns : &t->short_ns;
	if (bytes > LOAD_MAX_NS)
		bytes = LOAD_MAX_NS;
	cost = bytes / 1024 * s->cost_ns_per_kib + (message ? s->cost_ns_per_message : 0);
	*sum = cost < LOAD_MAX_NS - *sum ? *sum + cost : LOAD_MAX_NS;
}

static inline void home_decay(struct home *h, u64 now)
{
	u64 halvings;

	if (now <= h->stamp_ns || now - h->stamp_ns < HOME_HALF_LIFE_NS)
		return;
	halvings = (now - h->stamp_ns) / HOME_HALF_LIFE_NS;
	h->stamp_ns += halvings * HOME_HALF_LIFE_NS;
	/* old as it may be, home is known */
	h->bytes = (halvings < 64 ? h->bytes >> halvings : 0) ?: !!h->bytes;
	h->rival_bytes = halvings < 64 ? h->rival_bytes >> halvings : 0;
}

/*
 * Bytes of a flow that arrive on @cpu by @nic, and arrived on @before until now. The rival is
 * found by a majority vote among all but the home (Boyer and Moore), and takes its place when it
 * has half as much again. Where the flow that made the home moves, that is after at most 1.5 times
 * HOME_MOVED_BYTES.
 */
static inline void home_vote(struct home *h, s32 cpu, s32 before, u32 nic, u64 bytes, u64 now)
{
	home_decay(h, now);
	if (bytes > HOME_MOST_BYTES)
		bytes = HOME_MOST_BYTES;
	if (h->bytes && h->cpu == cpu && h->nic == nic) {
		h->bytes += bytes;
	} else if (h->rival_bytes && h->rival_cpu == cpu && h->rival_nic == nic) {
		h->rival_bytes += bytes;
	} else if (h->rival_bytes > bytes) {
		h->rival_bytes -= bytes;
	} else {
		h->rival_cpu = cpu;
		h->rival_nic = nic;
		h->rival_bytes = bytes - h->rival_bytes ?: 1;
	}
	if (before != cpu && before == h->cpu && h->bytes > HOME_MOVED_BYTES)
		h->bytes = HOME_MOVED_BYTES;
	if (h->rival_bytes > h->bytes + h->bytes / 2) {
		struct home left = *h;

		h->cpu = left.rival_cpu;
		h->nic = left.rival_nic;
		h->bytes = left.rival_bytes;
		h->rival_cpu = left.cpu;
		h->rival_nic = left.nic;
		h->rival_bytes = left.bytes;
	}
	if (h->bytes > HOME_MOST_BYTES)
		h->bytes = HOME_MOST_BYTES;
}

#endif /* __STEER_THREAD_H */
