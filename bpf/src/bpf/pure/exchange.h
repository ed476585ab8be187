/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Exchanges: what a thread moves on one socket before it turns to another one, or begins again. To
 * look up what is known of a socket's flow costs three cache misses if the host has many sockets. A
 * thread that only exchanges small messages tells the same of each, so only each fourth exchange is
 * accounted. Of the others, the thread's own note is kept. Pure, like flow.h.
 *
 *   recv A, send A | recv B, send B | recv A, send A      both ways: three of four are skipped
 *   recv A | send B, recv B | send A | recv C             some one way: none is skipped
 *   recv A, send A | recv B 9K, 9K, 9K                    accounted once it is no small message
 *
 * The note is as exact as the flow: if an exchange is accounted after all, the flow takes it
 * over. So a flow becomes long with the same event as if each were accounted, if its thread does
 * not go to other sockets meanwhile. If it does, the burst may count for more or less, by a short
 * one.
 */
#ifndef __STEER_EXCHANGE_H
#define __STEER_EXCHANGE_H

#include "pure/flow.h"

/* So many exchanges in a row went both ways, and were small, before the first is skipped. */
#define EXCHANGES_TO_SKIP 64
/* One of so many is accounted. */
#define EXCHANGE_PERIOD 4

/* A thread's note of its exchange in progress. */
struct exchange {
	u64 socket; /* its address; only compared */
	u64 last_ns;
	u64 skipped_bytes; /* of all exchanges, not charged yet */
	u32 burst_bytes;
	u16 skipped_messages;
	u8 direction : 2;
	u8 first : 2;	  /* the direction in which it began */
	bool turned : 1;  /* it went both ways */
	bool skips : 1;	  /* its events are skipped */
	bool skipped : 1; /* some were, so the flow does not know of them */
	u8 both_ways;	  /* exchanges in a row that were; then a counter of the period */
};

static inline void exchange_begin(struct exchange *x, u64 socket, u8 direction)
{
	if (!x->turned)
		x->both_ways = 0;
	else if (++x->both_ways >= EXCHANGES_TO_SKIP + EXCHANGE_PERIOD)
		x->both_ways = EXCHANGES_TO_SKIP;
	x->socket = socket;
	x->first = direction;
	x->turned = false;
	x->skips = x->both_ways > EXCHANGES_TO_SKIP;
	x->skipped = false;
}

static inline void exchange_note(struct exchange *x, u8 direction, u64 burst, u64 now)
{
	x->direction = direction;
	x->turned |= direction != x->first;
	x->burst_bytes = burst < ~0U ? burst : ~0U;
	x->last_ns = now;
}

/* The burst after @bytes more in @direction. */
static inline u64 exchange_burst(const struct exchange *x, const struct class_settings *s,
				 u8 direction, u64 bytes, u64 now)
{
	bool idled = now > x->last_ns && now - x->last_ns > s->idle_gap_ns;

	return x->direction != direction || idled ? bytes : x->burst_bytes + bytes;
}

/*
 * The thread moved @bytes on @socket. True: the event is skipped. False: it must be accounted, with
 * exchange_account().
 */
static inline bool exchange_skips(struct exchange *x, const struct class_settings *s, u64 socket,
				  u8 direction, u64 bytes, u64 now)
{
	u64 age = now > x->last_ns ? now - x->last_ns : 0, burst;
	bool other = x->socket != socket, turned = other || x->direction != direction;

	if (other || (turned && direction == x->first)) {
		exchange_begin(x, socket, direction);
		x->direction = DIR_NONE;
	}
	burst = exchange_burst(x, s, direction, bytes, now);
	/* after a half-life, what was skipped must be charged first */
	if (!x->skips || burst > s->short_burst_bytes || age > s->half_life_ns)
		return false;
	x->skipped = true;
	x->skipped_bytes += bytes;
	x->skipped_messages += turned;
	exchange_note(x, direction, burst, now);
	return true;
}

/* The thread does not only exchange small messages. */
static inline void exchange_forbid(struct exchange *x)
{
	x->both_ways = 0;
	x->skips = false;
}

/* The event is about to be accounted in @f, and so are the others of the exchange. */
static inline void exchange_account(struct exchange *x, struct flow *f,
				    const struct class_settings *s, u8 direction, u64 bytes,
				    u64 now)
{
	u64 burst = exchange_burst(x, s, direction, bytes, now);

	/* a flow that is new knows nothing of its socket yet */
	if (x->skipped && f->direction != DIR_NONE) {
		f->direction = x->direction;
		f->burst_bytes = x->burst_bytes;
		f->last_ns = x->last_ns;
	}
	x->skipped = false;
	x->skips = false;
	exchange_note(x, direction, burst, now);
	if (burst > s->short_burst_bytes || f->class == CLASS_LONG || f->datagrams)
		exchange_forbid(x);
}

/* What was skipped has been charged. */
static inline void exchange_charged(struct exchange *x)
{
	x->skipped_bytes = 0;
	x->skipped_messages = 0;
}

#endif /* __STEER_EXCHANGE_H */
