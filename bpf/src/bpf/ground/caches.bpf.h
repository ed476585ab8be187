/* SPDX-License-Identifier: GPL-2.0-only */
/* The last-level caches. A CPU that comes or goes ends the scheduler, so they never change. */
#ifndef __STEER_CACHES_BPF_H
#define __STEER_CACHES_BPF_H

#include "ground/kernel.bpf.h"
#include "intf.h"

const volatile u32 nr_llcs = 1;

/* How many CPUs are online under each. */
const volatile u32 cpus_of_llc[MAX_LLCS];

/* The @i-th cache after @llc, in a circle. */
static __always_inline u32 next_llc(u32 llc, u32 i)
{
	return (llc + i < nr_llcs ? llc + i : llc + i - nr_llcs) & (MAX_LLCS - 1);
}

#endif /* __STEER_CACHES_BPF_H */
