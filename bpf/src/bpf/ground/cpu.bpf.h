/* SPDX-License-Identifier: GPL-2.0-only */
/* The state of each CPU: what it runs, and what it has done. */
#ifndef __STEER_CPU_BPF_H
#define __STEER_CPU_BPF_H

#include "ground/affinity.bpf.h"
#include "pure/load.h"

/*
 * After each field stands the one file that writes it. The first group is one cache line: every
 * switch writes it, and wake-ups that may preempt read it. The second group is another line.
 */
struct cpu_state {
	/* accessed together on every switch, and by wake-ups that may preempt */
	u64 vtime_ns;	/* virtual time of the running thread as its slice began: clock.bpf.h */
	u64 started_ns; /* when the slice began: clock.bpf.h */
	u64 busy_ns;	/* CPU time of threads that make load: cpu.bpf.h */
	u64 short_ns;	/* CPU time of other short-flow threads: cpu.bpf.h */
	u64 crowd_dsq;	/* a more crowded queue of another shard, or 0: balance.bpf.h */
	u64 shares_until_ns; /* until then the running thread shares CPUs: clock.bpf.h */
	u32 clock;	     /* the clock that tells `vtime_ns`: clock.bpf.h */
	u32 weight_1024ths;  /* of the running thread; of nice 0: 2^20: charge.bpf.h */
	u8 class;	     /* of the running thread; NR_CLASSES: do not preempt it: cpu.bpf.h */
	u8 pool;	     /* of its policy: cpu.bpf.h */
	bool pinned;	     /* it may use this CPU only: cpu.bpf.h */
	bool idle;	     /* it is SCHED_IDLE, or a cgroup of it cpu.idle: cpu.bpf.h */
	bool makes_load;     /* its CPU time counts in `busy_ns`: cpu.bpf.h */
	bool preempted;	     /* it is being preempted by a thread that is done soon: cpu.bpf.h */
	bool wanted;   /* a thread that woke is to have the CPU from the next tick: cpu.bpf.h */
	bool tickless; /* the running thread's slice has no end: tickless.bpf.h */

	/* accessed together at ticks and by the timer; the loads also to place long-flow threads */
	u64 balance_ns;	     /* when crowds are next looked for: balance.bpf.h */
	u64 rescue_dsq;	     /* a queue where a thread waited too long, or 0: rescue.bpf.h */
	u64 busy_mark_ns;    /* `busy_ns` when loads were last averaged: load.bpf.h */
	u64 short_mark_ns;   /* `short_ns` then: load.bpf.h */
	u64 softirq_mark_ns; /* softirq and irq time then: load.bpf.h */
	u32 load_1024ths; /* of long-flow threads and of packets' cost to the kernel: load.bpf.h */
	u32 short_load_1024ths; /* of short-flow threads: load.bpf.h */
	u64 taken_mark_ns; /* `started_ns` when a thread of a higher class was last seen: load.bpf.h
			    */
	u64 used_mark_ns; /* time that was not idle when `used_1024ths` was averaged: power.bpf.h */
	u16 used_1024ths; /* how much of the CPU is used: power.bpf.h */
	u16 saved_1024ths; /* of full speed, what the governor was told to save: power.bpf.h */
	bool taken;	   /* such a thread keeps the CPU from ours: load.bpf.h */
	bool full;	   /* it was busy for a whole short window: load.bpf.h */
	u32 short_run_ns;  /* how long short-flow threads run at a time, averaged: cpu.bpf.h */
	u32 load_run_ns;   /* how long threads do that make load, averaged: cpu.bpf.h */

	/* accessed when a long-flow thread is placed, once per such window */
	u64 full_mark_ns; /* when that window began: load.bpf.h */
	u64 full_busy_ns; /* busy time then: load.bpf.h */

	/* accessed whenever the CPU looks for a thread */
	u64 own_sent_ns; /* when a thread was last sent to its queue: hint.bpf.h */
	u64 own_seen_ns; /* of these, the last that must have arrived: hint.bpf.h */
	u32 own_waiting; /* threads in its queue, or more: hint.bpf.h */

	/* accessed when softirq here wakes a short-flow thread */
	s32 woke_cpu; /* the CPU where it last woke one to run at once: cpu.bpf.h */
	u64 woke_ns;  /* ... and when: cpu.bpf.h */
} __attribute__((aligned(64)));

_Static_assert(__builtin_offsetof(struct cpu_state, balance_ns) == 64, "one group per cache line");

static struct cpu_state cpu_states[MAX_CPUS];

static __always_inline struct cpu_state *state_of(s32 cpu)
{
	return &cpu_states[slot(cpu)];
}

/* Does a real-time or deadline thread keep @cpu from our threads? */
static __always_inline bool is_taken(s32 cpu)
{
	return state_of(cpu)->taken;
}

/*
 * @p runs on @state's CPU, as a thread of @class or as a kernel thread that no thread may preempt.
 * Long-flow threads make load, and so do such kernel threads: the kernel does not account the time
 * of ksoftirqd and NAPI threads as softirq.
 */
static __always_inline void note_class(struct cpu_state *state, const struct task_struct *p,
				       u8 class)
{
	bool kthread = is_per_cpu_kthread(p) || is_napi_thread(p);

	state->class = kthread ? NR_CLASSES : class;
	state->makes_load = kthread || class == CLASS_LONG;
}

/* @p begins to run on @state's CPU. */
static __always_inline void note_running(struct cpu_state *state, const struct task_struct *p,
					 u8 class, u8 pool, bool idle)
{
	state->preempted = false;
	state->wanted = false;
	note_class(state, p, class);
	state->pool = pool;
	state->pinned = is_pinned(p);
	state->idle = idle;
}

/* The next thread may be of another scheduling class, so it is not ours to preempt. */
static __always_inline void note_stopping(struct cpu_state *state)
{
	state->class = NR_CLASSES;
}

/* Does @cpu run one of our threads, so that it looks at its queues once that stops? Exact under the
 * lock of its run queue. */
static __always_inline bool runs_ours(s32 cpu)
{
	return state_of(cpu)->class != NR_CLASSES;
}

/* For how long has the slice on @state's CPU run? CPUs' clocks differ, so @now may be before it. */
static __always_inline u64 ran_for(const struct cpu_state *state, u64 now)
{
	return now > state->started_ns ? now - state->started_ns : 0;
}

/*
 * A thread preempts the running one; @soon: it will be done soon. The next thread that wakes looks
 * elsewhere: two that preempt the same CPU would run one after the other there, the last one first,
 * and no other CPU could help.
 */
static __always_inline void note_preempted(struct cpu_state *state, bool soon)
{
	state->preempted = soon;
	state->class = NR_CLASSES;
}

/* A thread that woke waits, since the running one just began. Its slice ends at the next tick. */
static __always_inline void note_wanted(struct cpu_state *state)
{
	state->wanted = true;
}

/* Softirq on @state's CPU wakes a short-flow thread, to run at once on @cpu. */
static __always_inline void note_woken(struct cpu_state *state, s32 cpu, u64 now)
{
	state->woke_cpu = cpu;
	state->woke_ns = now;
}

/* The running thread had CPU time. It counts if the thread moves data. Called on its own CPU. */
static __always_inline void count_busy_time(struct cpu_state *state, u64 ran_ns)
{
	if (state->makes_load) {
		state->busy_ns += ran_ns;
		state->load_run_ns = run_average(state->load_run_ns, ran_ns);
	} else if (state->class == CLASS_SHORT) {
		state->short_ns += ran_ns;
		state->short_run_ns = run_average(state->short_run_ns, ran_ns);
	}
}

#endif /* __STEER_CPU_BPF_H */
