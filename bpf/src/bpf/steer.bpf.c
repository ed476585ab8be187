/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * scx_steer: run long-flow threads near their packets, short-flow threads apart.
 *
 * Telemetry (telemetry.bpf.h) knows each thread's class and, for long flows, the
 * home CPU where softirq processes its packets. From that:
 *
 *   long   → its home CPU if that is NIC-local, else a NIC-local CPU whose core no
 *            other long-flow thread has claimed. It claims the core (claim.bpf.h).
 *   short  → any idle CPU that is not claimed, else queued where none is.
 *   none   → likewise, but may also borrow claimed CPUs while these idle.
 *   per-CPU kthreads (ksoftirqd, NAPI threads) → their CPU, ahead of all.
 *
 * Example: 2 nodes of 2 CPUs, NIC on node 1, two long flows L, four RPC threads S,
 * one batch thread N per node:
 *
 *      node 0: CPU 0  S S N      node 1: CPU 2  L N
 *              CPU 1  S S                CPU 3  L
 *
 * Queues: one per CPU for threads that should run just there, one per last-level
 * cache for all others, both ordered by virtual time on one scale. So weights hold
 * across classes and no class starves another; a class decides only where a thread
 * runs and whether its wake-up may preempt. A CPU takes from its own queue and its
 * cache's, whichever thread is further behind, then from other caches'. A claimed
 * CPU passes over short-flow threads there, unless one has waited for too long.
 *
 * Wins where threads that move bulk data share a host with others. Weak, so far:
 * it does not yet spread long flows off a saturated home, nor learn whether a NIC's
 * steering follows the thread; cgroup weights are not honoured.
 */
#include <scx/common.bpf.h>
#include <scx/compat.bpf.h>
#include "claim.bpf.h"

char _license[] SEC("license") = "GPL";

UEI_DEFINE(uei);

const volatile struct place_settings place_settings;
const volatile u32 nr_llcs = 1;

/* Virtual time per last-level cache: that of the thread furthest behind, roughly. */
struct llc_clock {
	u64 vtime;
} __attribute__((aligned(64)));

static struct llc_clock llc_clocks[MAX_LLCS];

/* What a CPU is running, for those who think of preempting it. */
struct cpu_state {
	u64 vtime; /* of the running thread when it started */
	u64 started_ns;
	u64 rescue_dsq; /* a queue where a thread waited too long, or 0 */
	u8 class;
} __attribute__((aligned(64)));

static struct cpu_state cpu_states[MAX_CPUS];

/* Queue numbers: kind | CPU or cache. */
enum { DSQ_CPU = 1 << 16, DSQ_LLC = 2 << 16 };

static __always_inline u32 llc_of(s32 cpu)
{
	return cpu_plan[slot(cpu)].llc & (MAX_LLCS - 1);
}

static __always_inline struct cpu_state *state_of(s32 cpu)
{
	return &cpu_states[slot(cpu)];
}

static __always_inline struct task_ctx *ctx_of(struct task_struct *p)
{
	return bpf_task_storage_get(&tasks, p, NULL, 0);
}

static __always_inline bool may_run_on(const struct task_struct *p, s32 cpu)
{
	return cpu >= 0 && bpf_cpumask_test_cpu(cpu, p->cpus_ptr);
}

static __always_inline bool is_pinned(const struct task_struct *p)
{
	return p->nr_cpus_allowed == 1 || is_migration_disabled(p);
}

static __always_inline bool is_nic_local(s32 cpu, u32 nic)
{
	return cpu >= 0 && nic < MAX_NICS && cpu_plan[slot(cpu)].nics_local & (1ULL << nic);
}

/* Where is there room for one more long-flow thread? An unclaimed NIC-local core, else any. */
static s32 pick_nic_local(const struct task_struct *p, u32 nic, u64 now)
{
	s32 cpu, best = -1;
	u64 until, best_until = ~0ULL;

	bpf_for (cpu, 0, scx_bpf_nr_cpu_ids()) {
		if (!is_nic_local(cpu, nic) || !may_run_on(p, cpu))
			continue;
		/* the oldest claim is the least used core; one that ran out counts as none */
		until = core_claims[core_of(cpu)].until_ns;
		until = until > now ? until : 0;
		if (until < best_until) {
			best = cpu;
			best_until = until;
		}
	}
	return best;
}

/* The CPU a long-flow thread belongs on, or -1 if it has no NIC to be near to. */
static s32 long_target(struct task_struct *p, struct task_ctx *task, u64 now)
{
	s32 home = task->home.cpu, target = -1;
	u32 nic = task->home.nic;

	if (!task->home.weight || nic == NIC_UNKNOWN)
		goto unplaced;

	if (may_run_on(p, home) && is_nic_local(home, nic)) {
		target = home;
	} else {
		target = task->target;
		if (!may_run_on(p, target) || !is_nic_local(target, nic))
			target = pick_nic_local(p, nic, now);
		if (target < 0 && may_run_on(p, home))
			target = home;
	}
unplaced:
	task->target = target;
	if (target >= 0)
		claim_core(target, now, place_settings.claim_ns);
	return target;
}

static void count_long(const struct task_ctx *task, s32 target)
{
	if (target < 0)
		count(CNT_LONG_UNPLACED);
	else if (!is_nic_local(target, task->home.nic))
		count(CNT_LONG_REMOTE);
	else
		count(target == task->home.cpu ? CNT_LONG_HOME : CNT_LONG_LOCAL);
}

/* An idle CPU that no long-flow thread claims, taken out of the idle set; or < 0. */
static s32 pick_free_idle(struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	struct bpf_cpumask *mask;
	s32 cpu = -ENOENT;

	/*
	 * Never as a synchronous wake-up: one from softirq would pull the thread to
	 * the CPU that took the interrupt, across nodes (sched-ext/scx#3245).
	 */
	bpf_rcu_read_lock();
	mask = free_cpus;
	if (mask)
		cpu = scx_bpf_select_cpu_and(p, prev_cpu, wake_flags & ~SCX_WAKE_SYNC,
					     cast_mask(mask), 0);
	bpf_rcu_read_unlock();
	return cpu;
}

/* Some CPU @p may use that is not claimed, busy as it may be; or < 0. */
static s32 any_free(const struct task_struct *p, s32 cpu, u64 now)
{
	struct bpf_cpumask *mask;
	u32 free = ~0U;

	if (!is_claimed(cpu, now) && may_run_on(p, cpu))
		return cpu;
	bpf_rcu_read_lock();
	mask = free_cpus;
	if (mask)
		free = bpf_cpumask_any_and_distribute(cast_mask(mask), p->cpus_ptr);
	bpf_rcu_read_unlock();
	return free < scx_bpf_nr_cpu_ids() ? (s32)free : -1;
}

/* The thread's class for placement, now. */
static u8 place_class(struct task_ctx *task, u64 now)
{
	if (!task)
		return CLASS_NONE;
	thread_class(&task->load, classes(), now);
	return thread_placed_as(&task->load);
}

static void run_now(struct task_struct *p)
{
	scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, place_settings.slice_ns, 0);
}

s32 BPF_STRUCT_OPS(steer_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	struct task_ctx *task = ctx_of(p);
	u64 now = scx_bpf_now();
	u8 class = place_class(task, now);
	s32 cpu;

	if (class == CLASS_LONG && task) {
		cpu = long_target(p, task, now);
		count_long(task, cpu);
		if (cpu >= 0) {
			if (scx_bpf_test_and_clear_cpu_idle(cpu))
				run_now(p);
			return cpu;
		}
	}

	cpu = pick_free_idle(p, prev_cpu, wake_flags);
	if (cpu >= 0) {
		count(class == CLASS_SHORT ? CNT_SHORT_IDLE : CNT_NONE_IDLE);
		run_now(p);
		return cpu;
	}
	if (class != CLASS_SHORT) {
		cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
		if (cpu >= 0) {
			count(CNT_NONE_LENT);
			run_now(p);
			return cpu;
		}
	}
	count(class == CLASS_SHORT ? CNT_SHORT_QUEUED : CNT_NONE_QUEUED);
	cpu = any_free(p, prev_cpu, now);
	if (cpu < 0)
		cpu = may_run_on(p, prev_cpu) ? prev_cpu : (s32)bpf_cpumask_first(p->cpus_ptr);
	return cpu;
}

/* Would a thread with @vtime, woken, run before what @cpu runs now? */
static bool may_preempt(s32 cpu, u64 vtime, u64 now)
{
	const struct cpu_state *state = state_of(cpu);
	u64 ran = now > state->started_ns ? now - state->started_ns : 0;

	return state->class == CLASS_NONE && time_before(vtime, state->vtime + ran);
}

/* How many CPUs a short-flow thread looks at for one to preempt. */
#define PREEMPT_SCAN 8

/* Make the CPUs see a thread just queued for @cpu: wake one that idles, or preempt. */
static void announce(struct task_struct *p, s32 cpu, u8 class, bool only_there, u64 vtime, u64 now)
{
	s32 i, other;

	if (class == CLASS_NONE) {
		scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
		return;
	}
	bpf_for (i, 0, only_there ? 1 : PREEMPT_SCAN) {
		other = cpu + i;
		if (other >= scx_bpf_nr_cpu_ids() || llc_of(other) != llc_of(cpu))
			break;
		if ((other != cpu && (is_claimed(other, now) || !may_run_on(p, other))) ||
		    !may_preempt(other, vtime, now))
			continue;
		count(CNT_PREEMPT);
		scx_bpf_kick_cpu(other, SCX_KICK_PREEMPT);
		return;
	}
	scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
}

/* Sleepers may catch up by one slice and no more; nor owe much after a change of cache. */
static u64 clamp_vtime(const struct task_struct *p, u32 llc)
{
	u64 clock = llc_clocks[llc & (MAX_LLCS - 1)].vtime, slice = place_settings.slice_ns;

	if (time_before(p->scx.dsq_vtime, clock - slice))
		return clock - slice;
	if (time_after(p->scx.dsq_vtime, clock + 20 * slice))
		return clock + 20 * slice;
	return p->scx.dsq_vtime;
}

void BPF_STRUCT_OPS(steer_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct task_ctx *task = ctx_of(p);
	u64 now = scx_bpf_now(), vtime;
	u8 class = place_class(task, now);
	s32 cpu = scx_bpf_task_cpu(p), belongs = -1, idle = -1;
	bool only_there;

	if (p->flags & PF_KTHREAD && p->nr_cpus_allowed == 1) {
		count(CNT_KTHREAD);
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, place_settings.slice_ns,
				   enq_flags | SCX_ENQ_PREEMPT);
		return;
	}

	/* one CPU only: by placement, by affinity, or as all that it may use is claimed */
	if (is_pinned(p))
		belongs = cpu;
	else if (class == CLASS_LONG && task)
		belongs = long_target(p, task, now);
	only_there = belongs >= 0;
	if (!only_there) {
		belongs = any_free(p, cpu, now);
		only_there = belongs < 0;
		if (only_there)
			belongs = cpu;
	}
	/* nobody else wants this CPU, and none may borrow a claimed one while that is so */
	if (enq_flags & SCX_ENQ_LAST && (belongs == cpu || class == CLASS_NONE)) {
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, place_settings.slice_ns, enq_flags);
		return;
	}

	if (task) {
		task->queued_ns = now;
		task->queued_as = class;
	}
	vtime = clamp_vtime(p, llc_of(belongs));
	scx_bpf_dsq_insert_vtime(p, only_there ? DSQ_CPU | belongs : DSQ_LLC | llc_of(belongs),
				 place_settings.slice_ns, vtime, enq_flags);

	/* a CPU that went idle since select_cpu looked has not seen what was just queued */
	if (!only_there)
		idle = class == CLASS_SHORT ? pick_free_idle(p, belongs, 0)
					    : scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
	if (idle >= 0)
		scx_bpf_kick_cpu(idle, SCX_KICK_IDLE);
	else
		announce(p, belongs, class, only_there, vtime, now);
}

static __always_inline bool take(u64 dsq)
{
	return scx_bpf_dsq_move_to_local(dsq, 0);
}

/* Virtual time of the first thread of @dsq, or the far future. */
static u64 head_vtime(u64 dsq)
{
	struct task_struct *p = __COMPAT_scx_bpf_dsq_peek(dsq);

	return p ? p->scx.dsq_vtime : ~0ULL;
}

/* How far into a queue a claimed CPU looks for a thread that it may run. */
#define LEND_SCAN 16

/* For a claimed CPU: the first thread of @dsq that is not short, or has waited too long. */
static bool take_not_short(s32 cpu, u64 dsq, u64 now)
{
	struct task_struct *p;
	u32 looked = 0;

	if (!scx_bpf_dsq_nr_queued(dsq))
		return false;
	bpf_for_each (scx_dsq, p, dsq, 0) {
		struct task_ctx *task = ctx_of(p);
		bool overdue = task && now > task->queued_ns + place_settings.lend_after_ns;

		if (++looked > LEND_SCAN)
			break;
		if ((task && task->queued_as == CLASS_SHORT && !overdue) || !may_run_on(p, cpu))
			continue;
		if (scx_bpf_dsq_move(BPF_FOR_EACH_ITER, p, SCX_DSQ_LOCAL, 0)) {
			if (overdue && task->queued_as == CLASS_SHORT)
				count(CNT_SHORT_LENT);
			return true;
		}
	}
	return false;
}

static bool take_shared(s32 cpu, u32 llc, bool claimed, u64 now)
{
	u64 dsq = DSQ_LLC | llc;

	return claimed ? take_not_short(cpu, dsq, now) : take(dsq);
}

/* From the queues that belong to @cpu, the thread furthest behind. */
static bool take_own(s32 cpu, bool claimed, u64 now)
{
	u64 own = DSQ_CPU | cpu, shared = DSQ_LLC | llc_of(cpu);

	if (!scx_bpf_dsq_nr_queued(own))
		return take_shared(cpu, llc_of(cpu), claimed, now);
	if (scx_bpf_dsq_nr_queued(shared) && time_before(head_vtime(shared), head_vtime(own)) &&
	    take_shared(cpu, llc_of(cpu), claimed, now))
		return true;
	return take(own);
}

/* Work of others, for a CPU with none of its own. */
static void take_foreign(s32 cpu, bool claimed, u64 now)
{
	struct cpu_state *state = state_of(cpu);
	u64 rescue = state->rescue_dsq;
	u32 llc = llc_of(cpu), i;

	if (rescue) {
		state->rescue_dsq = 0;
		if (take(rescue)) {
			count(CNT_RESCUE);
			return;
		}
	}
	bpf_for (i, 1, nr_llcs) {
		if (take_shared(cpu, (llc + i) % nr_llcs, claimed, now)) {
			count(CNT_STEAL);
			return;
		}
	}
}

void BPF_STRUCT_OPS(steer_dispatch, s32 cpu, struct task_struct *prev)
{
	u64 now = scx_bpf_now();
	bool claimed = is_claimed(cpu, now);

	if (take_own(cpu, claimed, now) || (prev && prev->scx.flags & SCX_TASK_QUEUED))
		return;
	take_foreign(cpu, claimed, now);
}

/*
 * The way out for who waits although a CPU idles: for a thread behind another on its
 * own CPU, for a short-flow thread while only claimed CPUs idle, for one that a CPU
 * just going idle did not see.
 */
static void rescue_from(u64 dsq, u64 now)
{
	struct task_struct *p;
	s32 idle = -1;

	if (!scx_bpf_dsq_nr_queued(dsq))
		return;
	bpf_for_each (scx_dsq, p, dsq, 0) {
		struct task_ctx *task = ctx_of(p);

		if (task && now > task->queued_ns + place_settings.lend_after_ns)
			idle = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
		break;
	}
	if (idle >= 0) {
		state_of(idle)->rescue_dsq = dsq;
		scx_bpf_kick_cpu(idle, SCX_KICK_IDLE);
	}
}

void BPF_STRUCT_OPS(steer_tick, struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);
	u64 now = scx_bpf_now();

	rescue_from(DSQ_CPU | cpu, now);
	rescue_from(DSQ_LLC | llc_of(cpu), now);
}

void BPF_STRUCT_OPS(steer_running, struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);
	u32 llc = llc_of(cpu);
	struct cpu_state *state = state_of(cpu);
	struct task_ctx *task = ctx_of(p);
	u64 now = scx_bpf_now(), vtime = clamp_vtime(p, llc);

	scx_bpf_task_set_dsq_vtime(p, vtime);
	if (time_before(llc_clocks[llc].vtime, vtime))
		llc_clocks[llc].vtime = vtime;

	state->vtime = vtime;
	state->started_ns = now;
	state->class = place_class(task, now);
	if (state->class == CLASS_LONG && task && task->target == cpu)
		claim_core(cpu, now, place_settings.claim_ns);
}

void BPF_STRUCT_OPS(steer_stopping, struct task_struct *p, bool runnable)
{
	u64 now = scx_bpf_now(), started = state_of(scx_bpf_task_cpu(p))->started_ns;
	u64 ran = now > started ? now - started : 0;

	scx_bpf_task_set_dsq_vtime(p, p->scx.dsq_vtime + ran * 100 / p->scx.weight);
}

void BPF_STRUCT_OPS(steer_enable, struct task_struct *p)
{
	scx_bpf_task_set_dsq_vtime(p, llc_clocks[llc_of(scx_bpf_task_cpu(p))].vtime);
}

s32 BPF_STRUCT_OPS(steer_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct task_ctx *task =
		bpf_task_storage_get(&tasks, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!task)
		return -ENOMEM;
	task->target = -1;
	return 0;
}

s32 BPF_STRUCT_OPS_SLEEPABLE(steer_init)
{
	s32 i, err = 0;

	if (scx_bpf_nr_cpu_ids() > MAX_CPUS) {
		scx_bpf_error("CPU numbers up to %u, but the tables end at %u",
			      scx_bpf_nr_cpu_ids() - 1, MAX_CPUS);
		return -E2BIG;
	}
	bpf_for (i, 0, scx_bpf_nr_cpu_ids()) {
		err = scx_bpf_create_dsq(DSQ_CPU | i, -1);
		if (err)
			return err;
	}
	bpf_for (i, 0, nr_llcs) {
		err = scx_bpf_create_dsq(DSQ_LLC | i, -1);
		if (err)
			return err;
	}
	return init_claims();
}

void BPF_STRUCT_OPS(steer_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(steer_ops, .select_cpu = (void *)steer_select_cpu, .enqueue = (void *)steer_enqueue,
	       .dispatch = (void *)steer_dispatch, .tick = (void *)steer_tick,
	       .running = (void *)steer_running, .stopping = (void *)steer_stopping,
	       .enable = (void *)steer_enable, .init_task = (void *)steer_init_task,
	       .init = (void *)steer_init, .exit = (void *)steer_exit, .flags = SCX_OPS_ENQ_LAST,
	       .timeout_ms = 10000U, .name = "scx_steer");
