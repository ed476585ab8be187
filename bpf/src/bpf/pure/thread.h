/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads: what their flows cost lately, their class, and the home CPU of their long flows.
 * Pure, like flow.h.
 *
 * Each event charges its estimated CPU cost to the class of its flow. Both sums halve every
 * half-life. The class follows the long flows' share of the cost. The bands overlap, so a
 * thread at a boundary does not flap:
 *
 *   share of long   0 ······ 1/4 ··· 3/8 ········ 5/8 ··· 3/4 ······ 1
 *   enters               short                         long
 *   leaves                        short     long
 *
 * A thread whose sum is below the floor has no class.
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

/* The CPU on which most of the thread's long-flow bytes arrived lately, and by which NIC. */
struct home {
	u64 bytes;	 /* that arrived there; 0 = the home is unknown */
	u64 rival_bytes; /* by how many the leading other CPU is ahead of the rest */
	u64 stamp_ns;	 /* the sums are as of then */
	s32 cpu;
	u32 nic;
	s32 rival_cpu;
	u32 rival_nic;
};

/*
 * A thread that serves several flows in turns, as event loops do, should not follow each turn. A
 * turn lasts as long as a send buffer: 4 MiB (net.ipv4.tcp_wmem) take 34 ms at 1 Gb/s.
 */
#define HOME_HALF_LIFE_NS (200 * 1000 * 1000ULL)
/* When a flow moves away, the home keeps no more than this: the thread follows soon. */
#define HOME_MOVED_BYTES (128 * 1024)
/* The sums stop at this (a TiB), so no counter value overflows them. */
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

/* Bring the thread's class up to date and return it. It is kept, for the hysteresis. */
static inline u8 thread_classify(struct thread_load *t, const struct class_settings *s, u64 now)
{
	u64 sum, eighths;

	/* most threads move no data */
	if (!(t->long_ns | t->short_ns)) {
		t->class = CLASS_NONE;
		return CLASS_NONE;
	}
	thread_decay(t, s, now);
	sum = t->long_ns + t->short_ns;
	/* once classified, the floor is an eighth, so a class lasts three half-lives longer */
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

/* The sums stop at this (18 minutes of CPU), so no counter value overflows the arithmetic. */
#define LOAD_MAX_NS (1ULL << 40)

/*
 * Charge @bytes in @messages of a flow of class @flow_class. While a flow has no class, it is free.
 */
static inline void thread_charge(struct thread_load *t, const struct class_settings *s,
				 u8 flow_class, u64 bytes, u32 messages, u64 now)
{
	u64 cost, *sum;

	if (flow_class != CLASS_LONG && flow_class != CLASS_SHORT)
		return;
	thread_decay(t, s, now);
	sum = flow_class == CLASS_LONG ? &t->long_ns : &t->short_ns;
	if (bytes > LOAD_MAX_NS)
		bytes = LOAD_MAX_NS;
	cost = bytes / 1024 * s->cost_ns_per_kib + messages * s->cost_ns_per_message;
	*sum = cost < LOAD_MAX_NS - *sum ? *sum + cost : LOAD_MAX_NS;
}

static inline void home_decay(struct home *h, u64 now)
{
	u64 halvings;

	if (now <= h->stamp_ns || now - h->stamp_ns < HOME_HALF_LIFE_NS)
		return;
	halvings = (now - h->stamp_ns) / HOME_HALF_LIFE_NS;
	h->stamp_ns += halvings * HOME_HALF_LIFE_NS;
	/* however old, the home stays known */
	h->bytes = (halvings < 64 ? h->bytes >> halvings : 0) ?: !!h->bytes;
	h->rival_bytes = halvings < 64 ? h->rival_bytes >> halvings : 0;
}

/*
 * @bytes of a flow arrived on @cpu by @nic; until now they arrived on @before. A majority vote
 * among all CPUs but the home (Boyer and Moore) finds the rival. The rival becomes the home when it
 * has half as many bytes again. If the flow that made the home moves, that takes 1.5 times
 * HOME_MOVED_BYTES at most.
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

/* The thread leaves its home: the bytes so far have no say in where its next home is. */
static inline void home_leave(struct home *h)
{
	h->bytes = 1;
	h->rival_bytes = 0;
}

#endif /* __STEER_THREAD_H */
