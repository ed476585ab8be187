/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Crowds: how much weight do the CPUs under a cache carry? The clock tells: where threads of more
 * weight share the CPUs, virtual time passes more slowly. Pure, like flow.h.
 */
#ifndef __STEER_CROWD_H
#define __STEER_CROWD_H

#include "intf.h"

/* Weight per CPU (of nice 0: 1024) where @passed_ns of virtual time passed in @window_ns. */
static inline u64 crowd_of(u64 window_ns, u64 passed_ns)
{
	return (window_ns << 10) / (passed_ns ?: 1);
}

/*
 * Is another cache, with @weight per CPU, so much more crowded than this one, with @own_weight,
 * that taking a thread of @thread_weight does not reverse the imbalance?
 */
static inline bool is_more_crowded(u64 weight, u64 own_weight, u32 own_cpus, u64 thread_weight)
{
	return weight > own_weight + thread_weight / (own_cpus ?: 1);
}

#endif /* __STEER_CROWD_H */
