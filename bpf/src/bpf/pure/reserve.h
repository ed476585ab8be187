/* SPDX-License-Identifier: GPL-2.0-only */
/* How many cores short-flow threads should have for themselves. Pure, like flow.h. */
#ifndef __STEER_RESERVE_H
#define __STEER_RESERVE_H

#include "pure/load.h"

/*
 * How many of @cpus short-flow threads should have for themselves, at these sums of loads.
 *
 * As many as make short-flow threads three quarters busy, if long-flow threads can do with
 * the others. If they cannot: the CPUs that long-flow threads do without, or as many as
 * short-flow threads fill now, whichever is more. Mixed, both kinds lose more than half of
 * their throughput (host-network-stack paper, fig 11). A load below a twentieth of a CPU is
 * not worth a CPU; the observer does not count it as mixed either (observer.bpf.c).
 */
static inline u32 cpus_for_short(u32 short_load, u32 long_load, u32 cpus)
{
	u32 wanted = short_load / (LOAD_FULL * 3 / 4) + 1;
	u32 filled = (short_load + LOAD_FULL / 4) / LOAD_FULL;
	u32 needed = long_load / (LOAD_FULL * 9 / 10) + 1;
	u32 spare = cpus > needed ? cpus - needed : 0;

	if (short_load < LOAD_FULL / 20)
		return 0;
	if (wanted <= spare)
		return wanted;
	if (filled <= spare)
		return spare;
	return filled < cpus ? filled : cpus - 1;
}

#endif /* __STEER_RESERVE_H */
