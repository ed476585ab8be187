/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Crowds: how much weight do the CPUs in a shard carry? The clock tells: where threads of more
 * weight share the CPUs, virtual time passes more slowly. Pure, like flow.h.
 */
#ifndef __STEER_CROWD_H
#define __STEER_CROWD_H

#include "intf.h"

/* No shard counts as more crowded: 11 threads of nice -20 per CPU. */
#define MOST_CROWD (1ULL << 20)

/*
 * Weight per CPU (of nice 0: 1024) where each CPU was in use for @used_ns, while @passed_ns of
 * virtual time passed. A shard that idled carries nothing, however little virtual time passed.
 */
static inline u64 crowd_of(u64 used_ns, u64 passed_ns)
{
	u64 weight = (used_ns << 10) / (passed_ns ?: 1);

	return weight < MOST_CROWD ? weight : MOST_CROWD;
}

/*
 * Is another shard, with @weight per CPU, so much more crowded than this one, with @own_weight,
 * that taking a thread of @thread_weight does not reverse the imbalance?
 */
static inline bool is_more_crowded(u64 weight, u64 own_weight, u32 own_cpus, u64 thread_weight)
{
	return weight > own_weight + thread_weight / (own_cpus ?: 1);
}

#endif /* __STEER_CROWD_H */
