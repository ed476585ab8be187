/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * scx_steer: run long-flow threads near their packets, short-flow threads apart.
 *
 * Telemetry (telemetry.bpf.h) knows each thread's class and, for long flows, the
 * home CPU where softirq processes its packets. From that:
 *
 *   long   → beside its softirq or on a NIC-local core (target.bpf.h), which it claims
 *            (cores.bpf.h).
 *   short  → an idle CPU that is not claimed, else one that runs a thread without
 *            traffic, else queued.
 *   none   → an idle CPU, a claimed one too while its owner is away, else queued.
 *   per-CPU kthreads (ksoftirqd, NAPI threads) → their CPU, ahead of all.
 *
 * Example: 2 nodes of 2 CPUs, NIC on node 1, two long flows L, four RPC threads S,
 * one batch thread N per node:
 *
 *      node 0: CPU 0  S S N      node 1: CPU 2  L N
 *              CPU 1  S S                CPU 3  L
 *
 * A class decides only where a thread runs and whether its wake-up may preempt; time
 * is shared by weight whatever the class (queue.bpf.h).
 *
 * Wins where threads that move bulk data share a host with others. Not honoured:
 * weights of cgroups (cpu.weight); a thread's own nice value is.
 */
#include <scx/common.bpf.h>
#include <scx/compat.bpf.h>
#include "queue.bpf.h"

char _license[] SEC("license") = "GPL";

UEI_DEFINE(uei);

/* The thread's class for placement, now. */
static u8 place_class(struct task_ctx *task, u64 now)
{
	if (!task)
		return CLASS_NONE;
	thread_class(&task->load, classes(), now);
	return thread_placed_as(&task->load);
}

/* On the CPU that select_cpu returns, as soon as it is free; or at once, ahead of what runs. */
static void run_there(struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, place_settings.slice_ns, enq_flags);
}

/*
 * May a wake-up on @cpu preempt what runs there? Only a thread without traffic: one
 * that is further ahead than the woken one; on a claimed CPU, for the owner, any that
 * could run elsewhere as well, since it only borrows.
 */
static bool may_preempt(const struct task_struct *p, s32 cpu, bool owner, u64 now)
{
	const struct cpu_state *state = state_of(cpu);
	u64 ran = now > state->started_ns ? now - state->started_ns : 0;

	if (state->class != CLASS_NONE)
		return false;
	return (owner && state->borrows) || time_before(p->scx.dsq_vtime, state->vtime + ran);
}

/* How many CPUs a short-flow thread looks at for one to preempt. */
#define PREEMPT_SCAN 8

/* An unclaimed CPU where the short-flow thread @p may preempt: @cpu or a few that share its cache.
 */
static s32 pick_preemptible(const struct task_struct *p, s32 cpu, u64 now)
{
	s32 i, other;

	bpf_for (i, 0, PREEMPT_SCAN) {
		other = i == 0 ? cpu : cpu - cpu % PREEMPT_SCAN + i;
		if (other < scx_bpf_nr_cpu_ids() && llc_of(other) == llc_of(cpu) &&
		    !is_claimed(other, now) && may_run_on(p, other) &&
		    may_preempt(p, other, false, now))
			return other;
	}
	return -1;
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
			if (scx_bpf_test_and_clear_cpu_idle(cpu)) {
				run_there(p, 0);
			} else if (may_preempt(p, cpu, true, now)) {
				count(CNT_PREEMPT);
				run_there(p, SCX_ENQ_PREEMPT);
			}
			return cpu;
		}
	}

	cpu = pick_free_idle(p, prev_cpu, wake_flags);
	if (cpu >= 0) {
		count(class == CLASS_SHORT ? CNT_SHORT_IDLE : CNT_NONE_IDLE);
		run_there(p, 0);
		return cpu;
	}
	if (class == CLASS_SHORT) {
		cpu = pick_preemptible(p, prev_cpu, now);
		if (cpu >= 0) {
			count(CNT_PREEMPT);
			run_there(p, SCX_ENQ_PREEMPT);
			return cpu;
		}
	} else {
		cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
		if (cpu >= 0) {
			count(CNT_NONE_LENT);
			run_there(p, 0);
			return cpu;
		}
	}
	count(class == CLASS_SHORT ? CNT_SHORT_QUEUED : CNT_NONE_QUEUED);
	cpu = any_free(p, prev_cpu, now);
	if (cpu < 0)
		cpu = may_run_on(p, prev_cpu) ? prev_cpu : (s32)bpf_cpumask_first(p->cpus_ptr);
	return cpu;
}

/* A CPU that went idle since select_cpu looked has not seen what was just queued. */
static void announce(struct task_struct *p, s32 belongs, u8 class, bool only_there)
{
	s32 idle = -1;

	if (!only_there)
		idle = class == CLASS_SHORT ? pick_free_idle(p, belongs, 0)
					    : scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
	scx_bpf_kick_cpu(idle >= 0 ? idle : belongs, SCX_KICK_IDLE);
}

void BPF_STRUCT_OPS(steer_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct task_ctx *task = ctx_of(p);
	u64 now = scx_bpf_now();
	u8 class = place_class(task, now);
	s32 cpu = scx_bpf_task_cpu(p), belongs = -1;
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
	/* the kernel does not look at this queue again by itself: the CPU is about to idle */
	if (enq_flags & SCX_ENQ_LAST && (belongs == cpu || class == CLASS_NONE)) {
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, place_settings.slice_ns, enq_flags);
		scx_bpf_kick_cpu(cpu, 0);
		return;
	}
	/* a pinned thread's wake-up does not pass through select_cpu */
	if (is_pinned(p) && enq_flags & SCX_ENQ_WAKEUP && class != CLASS_NONE &&
	    may_preempt(p, cpu, class == CLASS_LONG, now)) {
		count(CNT_PREEMPT);
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, place_settings.slice_ns,
				   enq_flags | SCX_ENQ_PREEMPT);
		return;
	}

	if (task) {
		task->queued_ns = now;
		task->queued_as = class;
	}
	scx_bpf_dsq_insert_vtime(p, only_there ? DSQ_CPU | belongs : DSQ_LLC | llc_of(belongs),
				 place_settings.slice_ns, clamp_vtime(p, llc_of(belongs)),
				 enq_flags);
	announce(p, belongs, class, only_there);
}

/* Does the thread that runs on @cpu belong elsewhere? */
static bool is_misplaced(struct task_struct *p, s32 cpu, bool claimed, u64 now)
{
	struct task_ctx *task = ctx_of(p);
	u8 class = place_class(task, now);

	if (!task || is_pinned(p))
		return false;
	if (class == CLASS_LONG) {
		s32 target = long_target(p, task, now);

		return target >= 0 && target != cpu;
	}
	return class == CLASS_SHORT && claimed;
}

void BPF_STRUCT_OPS(steer_dispatch, s32 cpu, struct task_struct *prev)
{
	u64 now = scx_bpf_now();
	bool claimed = is_claimed(cpu, now);

	if (take_own(cpu, claimed, now))
		return;
	if (!prev || !(prev->scx.flags & SCX_TASK_QUEUED))
		take_foreign(cpu, claimed, now);
	else if (!is_misplaced(prev, cpu, claimed, now))
		scx_bpf_task_set_slice(prev, place_settings.slice_ns);
}

void BPF_STRUCT_OPS(steer_tick, struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct cpu_state *state = state_of(cpu);
	struct task_ctx *task = ctx_of(p);
	u64 now = scx_bpf_now();

	count_long_time(state, p);
	/* a thread whose flow became long while it ran moves now, not when it sleeps */
	state->class = place_class(task, now);
	if (state->class == CLASS_LONG && is_misplaced(p, cpu, is_claimed(cpu, now), now))
		scx_bpf_task_set_slice(p, 0);
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
	state->exec_mark = p->se.sum_exec_runtime;
	state->class = place_class(task, now);
	state->borrows = !is_pinned(p);
	if (state->class == CLASS_LONG && task && task->target == cpu)
		claim_core(task, cpu, now, place_settings.claim_ns);
}

void BPF_STRUCT_OPS(steer_stopping, struct task_struct *p, bool runnable)
{
	struct cpu_state *state = state_of(scx_bpf_task_cpu(p));
	u64 now = scx_bpf_now(), ran = now > state->started_ns ? now - state->started_ns : 0;

	count_long_time(state, p);
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
	task->left_home = -1;
	return 0;
}

s32 BPF_STRUCT_OPS_SLEEPABLE(steer_init)
{
	s32 err;

	if (scx_bpf_nr_cpu_ids() > MAX_CPUS) {
		scx_bpf_error("CPU numbers up to %u, but the tables end at %u",
			      scx_bpf_nr_cpu_ids() - 1, MAX_CPUS);
		return -E2BIG;
	}
	err = init_queues();
	return err ?: init_cores();
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
