/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Heads: how many long-flow threads some CPUs have. The count starts over in every window, so
 * a thread that dies, blocks or changes its class leaves nothing behind. Pure, like flow.h.
 */
#ifndef __STEER_HEADS_H
#define __STEER_HEADS_H

#include "intf.h"

struct head_count {
	u32 window; /* the number of the window that `now` counts */
	u16 now;    /* threads seen in it */
	u16 before; /* threads seen in the window before */
};

/* Count one more thread in @window. */
static inline void heads_add(struct head_count *h, u32 window)
{
	if (h->window != window) {
		h->before = h->window + 1 == window ? h->now : 0;
		h->now = 0;
		h->window = window;
	}
	if (h->now < (u16)~0)
		h->now++;
}

/* How many threads there are in @window. A window that just began has not seen all of them. */
static inline u32 heads_in(const struct head_count *h, u32 window)
{
	if (h->window == window)
		return h->now > h->before ? h->now : h->before;
	return h->window + 1 == window ? h->now : 0;
}

#endif /* __STEER_HEADS_H */
