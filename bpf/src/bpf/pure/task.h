/* SPDX-License-Identifier: GPL-2.0-only */
/* What the scheduler keeps of each thread. User space reads it for `policy explain`. */
#ifndef __STEER_TASK_H
#define __STEER_TASK_H

#include "pure/thread.h"

/* The policy that was found for a thread, and what it was found by. */
struct policy_cache {
	u64 cgroup;
	u32 generation;
	u32 policy;
	u64 name[2]; /* of the process, if a policy of the cgroup asks for names */
	bool by_name;
};

/* How many of its last bursts are kept per thread, for `policy explain`. */
enum { KEPT_BURSTS = 4 };

/* What select_cpu decided for a thread that wakes. */
enum wake {
	WAKE_UNSEEN, /* nothing: the wake-up did not pass through select_cpu */
	WAKE_QUEUE,  /* the thread waits */
	WAKE_NEAR,   /* it waits for a CPU where its data is, which another thread leaves soon */
	WAKE_RUN,    /* it runs at once, on an idle CPU */
	WAKE_PREEMPT /* it runs at once, in place of the thread that runs there */
};

/*
 * What the scheduler knows of a thread. After each field stands the one file that writes it, once
 * ops.init_task has set the start values. Task storage begins 8 bytes into a cache line (struct
 * bpf_local_storage_elem, 6.18). So each of the first three groups fills one line.
 */
struct task_ctx {
	/* accessed together on every wake-up and switch */
	struct thread_load load; /* thread.h: sums of telemetry, class of look_at() */
	u64 queued_ns; /* when it last woke or began to wait, but not to resume: context.bpf.h */
	s32 wake_cpu;  /* the CPU of `wake`: wake.bpf.h */
	u32 clock;     /* the clock that tells its virtual time: clock.bpf.h */
	u32 group;     /* number of its cgroup: group.bpf.h */
	u8 wake;       /* enum wake, until enqueue carries it out: wake.bpf.h */
	u8 queued_as;  /* its class when it began to wait: wake.bpf.h */
	bool held_up;  /* it waited long before it last ran: target.bpf.h */
	bool queued;   /* it began to wait since it last ran, but not to resume: clock.bpf.h */

	/* accessed together on every wake-up (the policy), and when a long-flow thread is placed */
	struct policy_cache policy; /* policy.bpf.h */
	s32 target_cpu;	   /* where a long-flow thread was last sent, -1 before: target.bpf.h */
	s32 left_home_cpu; /* the home it left, while its packets are watched, or -1: steering.bpf.h
			    */
	u64 probe_until_ns; /* until then, assume that packets follow: steering.bpf.h */
	u64 spill_until_ns; /* a spilled thread stays away until then, at least: target.bpf.h */

	/* accessed together when a long-flow thread is placed or its sockets move data */
	struct home home;    /* thread.h: votes of telemetry, departures of steering */
	u64 judge_ns;	     /* when its packets next tell of steering: steering.bpf.h */
	u32 counted_window;  /* the last window it was counted in: cores.bpf.h */
	s32 counted_cpu;     /* ... and where: cores.bpf.h */
	u32 searched_window; /* the last in which it looked for a NIC-local core: target.bpf.h */
	bool spilled;	     /* it left its saturated home, and its packets stayed: target.bpf.h */
	bool alarmed;	     /* ... on an alarm, before the averages told: target.bpf.h */

	/* accessed together when it is queued and when it is charged */
	u64 charged_ns;	     /* its CPU time when it was last charged: charge.bpf.h */
	u32 weight_1024ths;  /* its weight among all threads at that time: charge.bpf.h */
	u32 counted_group;   /* the cgroup in which it is counted as runnable: group.bpf.h */
	u32 counted_weight;  /* ... and as what; 0: it is not: group.bpf.h */
	u64 shares_until_ns; /* until then it shares CPUs with others: clock.bpf.h */
	u32 followed_window; /* the last in which it followed its packets: follow.bpf.h */
	u64 handed_ns;	     /* when it woke another to sleep itself, or 0: handoff.bpf.h */
	u32 slept_after_ns;  /* how soon it slept then, averaged: handoff.bpf.h */
	bool overdue;	     /* it runs although its cgroup is throttled: limit.bpf.h */

	/* accessed when sockets move data */
	u64 polled_ns;		      /* when it last polled a NIC, or 0: telemetry.bpf.h */
	u64 burst_bytes[KEPT_BURSTS]; /* of its last bursts: telemetry.bpf.h */
	u32 newest_burst; /* index of the last one; counts on without end: telemetry.bpf.h */

	/* accessed when a long-flow thread is placed */
	u32 used_1024ths; /* how much of a CPU it uses, averaged: target.bpf.h */
	u64 used_mark_ns; /* ... as of then: target.bpf.h */
	u64 used_ran_ns;  /* its CPU time then: target.bpf.h */
};

#define STORAGE_OFFSET 8
#define CACHE_LINE     64

_Static_assert(__builtin_offsetof(struct task_ctx, policy) == CACHE_LINE - STORAGE_OFFSET &&
		       __builtin_offsetof(struct task_ctx, home) ==
			       2 * CACHE_LINE - STORAGE_OFFSET &&
		       __builtin_offsetof(struct task_ctx, charged_ns) ==
			       3 * CACHE_LINE - STORAGE_OFFSET,
	       "one group per cache line");

#endif /* __STEER_TASK_H */
