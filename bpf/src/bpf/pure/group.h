/* SPDX-License-Identifier: GPL-2.0-only */
/* What the scheduler keeps of each cgroup with the cpu controller. User space reads it. */
#ifndef __STEER_GROUP_H
#define __STEER_GROUP_H

#include "pure/quota.h"
#include "pure/weight.h"

/*
 * Cgroups have numbers from 1; 0 is the root cgroup, which has no weight and no limit. Fields are
 * written by the timer (shares.bpf.h), unless another file stands after them.
 */
struct group {
	/* accessed together when a thread of the cgroup is charged or queued */
	struct group_share share;
	u32 limiter;	/* the nearest cgroup with a quota, itself or above; 0: none */
	u32 above;	/* the next such cgroup above it */
	bool idle;	/* it or a cgroup above it is cpu.idle */
	bool listed;	/* in the list of active cgroups: shares.bpf.h and group.bpf.h */
	bool throttled; /* its quota is used up: limit.bpf.h */
	u64 chunk_ns;	/* how much of the quota a CPU draws at once */
	u64 id;		/* of the cgroup; 0: the number is not in use: group.bpf.h */
	u32 parent;	/* number of the cgroup above: group.bpf.h */

	/* accessed together by the timers; the pool also by a CPU that has used up its chunk */
	s64 pool_ns __attribute__((aligned(64))); /* what is left of the quota: limit.bpf.h */
	u64 quota_ns;				  /* per period; QUOTA_NONE: no limit */
	u64 period_ns;
	u64 burst_ns;
	u64 refill_ns;	      /* when the next period begins: limit.bpf.h */
	u64 throttled_ns;     /* when it was throttled last: limit.bpf.h */
	u64 throttled_sum_ns; /* how long it was throttled in all: limit.bpf.h */
	u64 throttled_times;  /* how often: limit.bpf.h */

	/* accessed by the timer only */
	u64 inside_average
		__attribute__((aligned(64))); /* weight of what is active inside, in 2^-10 */
	u64 active_average;		      /* part of the time in which anything is, in 2^-20 */
	u64 children_weight;		      /* of active cgroups below, since the last look */
	u64 gone_ns;  /* when a thread last had to wait although its limit is gone: limit.bpf.h */
	u32 released; /* threads that the timer let go just now: limit.bpf.h */
	u32 weight;   /* its own: cpu.weight */
	bool child_is_active; /* was one, since the last look? */
	bool own_idle;	      /* cpu.idle */
} __attribute__((aligned(64)));

_Static_assert(__builtin_offsetof(struct group, pool_ns) == 64 &&
		       __builtin_offsetof(struct group, inside_average) == 128,
	       "one group of fields per cache line");

/* What one CPU counts for one cgroup. */
struct group_cpu {
	s64 weight;  /* of its runnable threads. They may come here and go elsewhere: group.bpf.h */
	s64 threads; /* how many: group.bpf.h */
	s64 budget_ns; /* left of the chunk that the CPU drew; below 0: owed: limit.bpf.h */
};

#endif /* __STEER_GROUP_H */
