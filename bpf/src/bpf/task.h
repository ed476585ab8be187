/* SPDX-License-Identifier: GPL-2.0-only */
/* What the scheduler keeps of each thread. User space reads it for `policy explain`. */
#ifndef __STEER_TASK_H
#define __STEER_TASK_H

#include "thread.h"

/* What a thread's policy was found by. */
struct policy_cache {
	u64 cgroup;
	u64 name[2]; /* of the process, if a policy of the cgroup asks for names */
	u32 generation;
	u32 policy;
	bool by_name;
};

/* How many of its last bursts are kept per thread, for `policy explain`. */
enum { KEPT_BURSTS = 4 };

/* What select_cpu decided for a thread that wakes. */
enum wake {
	WAKE_UNSEEN, /* nothing: it was passed by */
	WAKE_QUEUE,  /* to wait */
	WAKE_RUN,    /* to run at once */
	WAKE_PREEMPT /* ... in place of who runs there */
};

/* What the scheduler knows of a thread. */
struct task_ctx {
	struct thread_load load;
	struct home home;
	s32 target;	    /* the CPU a long-flow thread was last sent to, -1 before */
	s32 left_home;	    /* the home it was sent away from, while it is open who moves; or -1 */
	u64 judge_ns;	    /* when that is next looked at */
	u64 probe_until_ns; /* until then, take the NIC's steering as following threads */
	u64 spill_until_ns; /* until then at least, a spilled thread stays away from its home */
	u64 queued_ns;	    /* when it last woke or began to wait in a queue, but to resume */
	u32 counted_window; /* the last window it was counted in (cores.bpf.h), and where */
	s32 counted_cpu;
	struct policy_cache policy;
	u64 bursts[KEPT_BURSTS]; /* bytes of those it moved last */
	u32 newest_burst;	 /* index of the last, counted on without end */
	bool spilled;		 /* left its saturated home, and its packets stayed */
	u8 queued_as;		 /* its class when it began to wait */
	u8 wake;		 /* enum wake, until enqueue does it */
	s32 wake_cpu;		 /* ... there */
	u32 clock;		 /* the cache by whose clock its virtual time is told */
};

#endif /* __STEER_TASK_H */
