/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shards: the CPUs under one last-level cache, or an equal part of them where they are many. The
 * threads of a shard wait in one queue, by one clock (queue/). Memory is near in the whole cache:
 * who asks for that compares llc_of(). A CPU that comes or goes ends the scheduler, so shards never
 * change.
 */
#ifndef __STEER_SHARDS_BPF_H
#define __STEER_SHARDS_BPF_H

#include "ground/kernel.bpf.h"
#include "intf.h"

const volatile u32 nr_shards = 1;

/* How many online CPUs each has. */
const volatile u32 cpus_of_shard[MAX_SHARDS];

/* The @i-th shard after @shard, in a circle. */
static __always_inline u32 next_shard(u32 shard, u32 i)
{
	return (shard + i < nr_shards ? shard + i : shard + i - nr_shards) & (MAX_SHARDS - 1);
}

#endif /* __STEER_SHARDS_BPF_H */
