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

/* The CPU that most of the thread's long-flow bytes arrive on, and by which NIC. */
struct home {
	u64 weight; /* bytes by which it leads the others; 0 = unknown */
	s32 cpu;
	u32 nic;
};

/* A leader by more than this is followed no further: bounds how long a change of home takes. */
#define HOME_WEIGHT_MAX (256 * 1024)

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

/*
 * A majority vote by bytes (Boyer and Moore): the CPU that carries more than half
 * stays the leader, a new one takes over after at most HOME_WEIGHT_MAX bytes.
 */
static inline void home_vote(struct home *h, s32 cpu, u32 nic, u64 bytes)
{
	if (bytes > HOME_WEIGHT_MAX)
		bytes = HOME_WEIGHT_MAX;
	if (h->weight && h->cpu == cpu && h->nic == nic) {
		h->weight += bytes;
		if (h->weight > HOME_WEIGHT_MAX)
			h->weight = HOME_WEIGHT_MAX;
	} else if (h->weight > bytes) {
		h->weight -= bytes;
	} else {
		h->cpu = cpu;
		h->nic = nic;
		h->weight = bytes - h->weight ?: 1;
	}
}

#endif /* __STEER_THREAD_H */
