/* SPDX-License-Identifier: GPL-2.0-only */
/* Crowds: does another cache have more threads waiting per CPU? Pure, like flow.h. */
#ifndef __STEER_CROWD_H
#define __STEER_CROWD_H

#include "intf.h"

/*
 * Do so many more threads wait for each CPU of another cache that taking one of them does not
 * reverse the imbalance?
 */
static inline bool is_more_crowded(u32 waiting, u32 cpus, u32 own_waiting, u32 own_cpus)
{
	return (u64)waiting * own_cpus > (own_waiting + 1ULL) * cpus;
}

#endif /* __STEER_CROWD_H */
