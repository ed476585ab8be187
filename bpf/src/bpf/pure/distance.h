/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Distance: how far one CPU is from another. Pure, like flow.h.
 *
 * Nearest first: same cache, SMT sibling, same node, elsewhere. The sibling shares the cache
 * too, but also the execution units. Once one core is saturated, two cores that share a cache
 * do best (multicore paper).
 */
#ifndef __STEER_DISTANCE_H
#define __STEER_DISTANCE_H

#include "intf.h"

enum cpu_distance { DISTANCE_SELF, DISTANCE_LLC, DISTANCE_SIBLING, DISTANCE_NODE, DISTANCE_FAR };

static inline enum cpu_distance cpu_distance(const struct cpu_plan *a, const struct cpu_plan *b)
{
	if (a == b)
		return DISTANCE_SELF;
	if (a->core == b->core)
		return DISTANCE_SIBLING;
	/* before the cache: with sub-NUMA clustering a cache spans nodes */
	if (a->node != b->node)
		return DISTANCE_FAR;
	return a->llc == b->llc ? DISTANCE_LLC : DISTANCE_NODE;
}

#endif /* __STEER_DISTANCE_H */
