/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Cores: which belong to long-flow threads just now, how many of them each has, and
 * how busy they are with it.
 *
 * A long-flow thread claims the core it is placed on for claim_ns, again each time it
 * wakes or runs there. A claim is a time stamp that runs out by itself: no count of
 * claimants that a thread which dies, blocks or loses its class could leave behind.
 * Threads per core are likewise counted anew in every window. The free mask is the
 * complement of the claims and of exclusive pools, brought up to date by a timer, for the idle
 * search; the stamp itself is what decides.
 */
#ifndef __STEER_CORES_BPF_H
#define __STEER_CORES_BPF_H

#include <scx/percpu.bpf.h>
#include "pool.bpf.h"
#include "telemetry.bpf.h"

const volatile struct place_settings place_settings;

/* How often the free mask forgets claims that ran out. A fraction of claim_ns. */
#define CLAIM_REFRESH_NS (20 * 1000 * 1000ULL)
/* How often loads are averaged; a multiple of the above. */
#define LOAD_WINDOW_NS (5 * CLAIM_REFRESH_NS)
/* Windows in which threads are counted: 2^27 ns = 134 ms. */
#define COUNT_WINDOW_SHIFT 27

/* Indexed by the lowest CPU number of the core: SMT siblings share one claim. */
struct core_use {
	u64 until_ns; /* the claim's end */
	u64 spill_ns; /* no further thread leaves for lack of room before this */
	struct head_count threads;
	u32 cpus;      /* online ones */
	bool reserved; /* left to short-flow threads (reserve.bpf.h) */
} __attribute__((aligned(64)));

struct core_use cores[MAX_CPUS]; /* user space reads which are reserved */

/* The long-flow threads of each last-level cache. */
static struct llc_use {
	struct head_count threads;
	u32 cpus; /* online ones */
} __attribute__((aligned(64))) llc_uses[MAX_LLCS];

/* What a CPU is running, for those who think of preempting it, and what it has done. */
struct cpu_state {
	u64 vtime; /* of the running thread when its slice began, by @clock */
	u64 started_ns;
	u64 rescue_dsq; /* a queue where a thread waited too long, or 0 */
	u64 crowd;	/* another cache's queue where more threads wait per CPU, or 0 */
	u64 balance_ns; /* when that is next looked for */
	u64 exec_mark;	/* the running thread's CPU time when last counted */
	u64 busy_ns;	/* CPU time of threads that make load */
	u64 short_ns;	/* ... of other short-flow threads */
	u64 busy_mark;	/* both, and of softirq and irq, when loads were last averaged */
	u64 short_mark;
	u64 softirq_mark;
	u32 load; /* of long-flow threads and of what packets cost the kernel here, see place.h */
	u32 short_load; /* of short-flow threads */
	u32 clock;	/* the cache whose clock tells the running thread's virtual time */
	u8 class;	/* of the running thread, or NR_CLASSES: not to be preempted */
	u8 pool;	/* its policy's */
	bool pinned;
	bool makes_load;
	bool preempted; /* it is, for one that is soon done */
} __attribute__((aligned(64)));

static struct cpu_state cpu_states[MAX_CPUS];

private
(claims) struct bpf_cpumask __kptr *free_cpus;

struct core_timer {
	struct bpf_timer timer;
	u64 averaged_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct core_timer);
} core_timers SEC(".maps");

/* Is softirq time kept out of the threads that it interrupts? */
extern bool CONFIG_IRQ_TIME_ACCOUNTING __kconfig __weak;

static __always_inline struct cpu_state *state_of(s32 cpu)
{
	return &cpu_states[slot(cpu)];
}

static __always_inline struct core_use *core_of(s32 cpu)
{
	return &cores[slot(plan_of(cpu)->core)];
}

static __always_inline bool is_claimed(s32 cpu, u64 now)
{
	return now < core_of(cpu)->until_ns;
}

static __always_inline struct llc_use *llc_use_of(s32 cpu)
{
	return &llc_uses[plan_of(cpu)->llc & (MAX_LLCS - 1)];
}

/* Long-flow threads on the core of @cpu. */
static u32 long_threads_on(s32 cpu, u64 now)
{
	return heads_in(&core_of(cpu)->threads, now >> COUNT_WINDOW_SHIFT);
}

/* What @cpu costs one more of them. Global for the verifier's sake, as pick_nic_local(). */
__weak __noinline u32 cost_of(s32 cpu, u64 now)
{
	u32 on_llc = heads_in(&llc_use_of(cpu)->threads, now >> COUNT_WINDOW_SHIFT);

	return spread_cost(long_threads_on(cpu, now), on_llc, state_of(cpu)->load);
}

/* Once per thread and window. Two CPUs that count at once may lose one. */
static void count_thread(struct core_use *core, struct task_ctx *task, s32 cpu, u64 now)
{
	u32 window = now >> COUNT_WINDOW_SHIFT;

	if (task->counted_window == window && task->counted_cpu == cpu)
		return;
	task->counted_window = window;
	task->counted_cpu = cpu;
	heads_add(&core->threads, window);
	heads_add(&llc_use_of(cpu)->threads, window);
}

static void claim_core(struct task_ctx *task, s32 cpu, u64 now, u64 claim_ns)
{
	struct core_use *core = core_of(cpu);
	struct bpf_cpumask *mask;
	bool fresh = now >= core->until_ns;

	core->until_ns = now + claim_ns;
	count_thread(core, task, cpu, now);
	if (!fresh)
		return;
	count(CNT_CLAIM);
	mask = free_cpus;
	if (mask)
		bpf_cpumask_clear_cpu(cpu, mask);
}

static __always_inline bool is_per_cpu_kthread(const struct task_struct *p)
{
	return p->flags & PF_KTHREAD && p->nr_cpus_allowed == 1;
}

/*
 * Note what runs on @state's CPU: a thread of @class, or a kthread of the CPU, which nobody may
 * preempt. The load is of long-flow threads and of ksoftirqd and its like: their time the kernel
 * does not account as softirq.
 */
static __always_inline void note_running(struct cpu_state *state, const struct task_struct *p,
					 u8 class)
{
	bool kthread = is_per_cpu_kthread(p);

	state->class = kthread ? NR_CLASSES : class;
	state->makes_load = kthread || class == CLASS_LONG;
}

/* Count the CPU time of the running thread @p, if it moves data. On its own CPU. */
static __always_inline void count_busy_time(struct cpu_state *state, const struct task_struct *p)
{
	u64 ran = p->se.sum_exec_runtime;

	if (state->makes_load)
		state->busy_ns += ran - state->exec_mark;
	else if (state->class == CLASS_SHORT)
		state->short_ns += ran - state->exec_mark;
	state->exec_mark = ran;
}

/* Time @cpu spent in softirq and irq so far, as the kernel accounts it. */
static u64 softirq_time(s32 cpu)
{
	const struct kernel_cpustat *stat = bpf_per_cpu_ptr(&kernel_cpustat, cpu);

	return stat ? stat->cpustat[CPUTIME_SOFTIRQ] + stat->cpustat[CPUTIME_IRQ] : 0;
}

static void average_load(s32 cpu, u64 window_ns)
{
	struct cpu_state *state = state_of(cpu);
	u64 busy_ns = state->busy_ns, short_ns = state->short_ns, softirq = softirq_time(cpu);
	u64 busy, stolen;

	busy = busy_ns - state->busy_mark;
	stolen = softirq - state->softirq_mark;
	state->busy_mark = busy_ns;
	state->softirq_mark = softirq;
	/* without irq accounting the threads' time includes what interrupted them */
	if (CONFIG_IRQ_TIME_ACCOUNTING)
		busy += stolen;
	else if (busy < stolen)
		busy = stolen;
	state->load = load_update(state->load, busy, window_ns);
	state->short_load = load_update(state->short_load, short_ns - state->short_mark, window_ns);
	state->short_mark = short_ns;
}

/*
 * Forget claims that ran out, average loads: true if that was due. Called every
 * CLAIM_REFRESH_NS.
 */
static bool refresh_cores(struct core_timer *timer, u64 now)
{
	u64 window_ns = now - timer->averaged_ns;
	bool average = window_ns >= LOAD_WINDOW_NS;
	struct bpf_cpumask *mask;
	s32 cpu;

	mask = free_cpus;
	if (mask) {
		bpf_for (cpu, 0, scx_bpf_nr_cpu_ids()) {
			if (!is_online(cpu) || is_claimed(cpu, now) || is_exclusive(cpu))
				bpf_cpumask_clear_cpu(cpu, mask);
			else
				bpf_cpumask_set_cpu(cpu, mask);
			if (average)
				average_load(cpu, window_ns);
		}
	}
	if (average)
		timer->averaged_ns = now;
	return average;
}

/* Called once from ops.init. */
static s32 init_cores(void)
{
	struct bpf_cpumask *mask = bpf_cpumask_create();
	s32 cpu;

	if (!mask)
		return -ENOMEM;
	bpf_for (cpu, 0, scx_bpf_nr_cpu_ids())
		if (is_online(cpu)) {
			bpf_cpumask_set_cpu(cpu, mask);
			llc_use_of(cpu)->cpus++;
			core_of(cpu)->cpus++;
		}
	mask = bpf_kptr_xchg(&free_cpus, mask);
	if (mask)
		bpf_cpumask_release(mask);
	return 0;
}

#endif /* __STEER_CORES_BPF_H */
