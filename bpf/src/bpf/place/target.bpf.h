/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a long-flow thread belongs, by its home and by what is known of its NIC's steering.
 *
 *   steering    home        a long-flow thread goes to
 *   follows     NIC-local   its home, which is where it ran last
 *   follows     elsewhere   the NIC-local core with the fewest such threads; packets follow
 *   fixed       anywhere    its home: beside its softirq, even on a remote node
 *   not known               as if packets followed; the move reveals the steering
 *
 * From a core with too much to do, it goes to the nearest CPU with room (pure/spill.h). A core
 * that is reserved for short-flow threads counts as NIC-remote, unless home is fixed.
 *
 * choose_long() decides and changes nothing; place_long() carries its decision out.
 */
#ifndef __STEER_TARGET_BPF_H
#define __STEER_TARGET_BPF_H

#include <scx/common.bpf.h>
#include "ground/affinity.bpf.h"
#include "ground/counters.bpf.h"
#include "ground/settings.bpf.h"
#include "ground/steering.bpf.h"
#include "ground/subject.bpf.h"
#include "place/cores.bpf.h"
#include "place/load.bpf.h"
#include "pure/load.h"
#include "pure/spill.h"

/* Loads need some windows to show the effect of a move. */
#define SPILL_PACE_NS (3 * LOAD_WINDOW_NS)
/* How long a thread stays where it spilled to, at least: RFS follows every migration. */
#define SPILL_STAY_NS (1000 * 1000 * 1000ULL)
/* A thread that waits this long on the core that it claimed is held up. */
#define HELD_UP_NS (4 * 1000 * 1000ULL)
/* It takes a window to see whether a core is still full once a thread has left it. */
#define ALARM_PACE_NS (2 * FULL_WINDOW_NS)
/* How long a thread stays where it went on an alarm: by then, loads tell whether it was right. */
#define ALARM_STAY_NS (2 * LOAD_WINDOW_NS)
/* After a false alarm, none counts for this long; the time doubles, three times at most. */
#define ALARM_QUIET_NS (4 * 1000 * 1000 * 1000ULL)
/* A thread looks for a NIC-local core once per window of 2^24 ns = 17 ms: it may find none. */
#define SEARCH_WINDOW_SHIFT 24

/*
 * The allowed NIC-local CPU whose core has the fewest long-flow threads, then whose cache has the
 * fewest, then with the least load: spread before stacking. In a tie, the CPU that the thread runs
 * on wins. A reserved CPU only if the thread may use no other.
 * Global, so that the verifier walks it once and not for each caller.
 */
__weak __noinline s32 pick_nic_local(struct task_struct *p __arg_trusted, u32 nic, u64 now)
{
	s32 cpu, best = -1, current_cpu = scx_bpf_task_cpu(p);
	u32 cost, least = ~0U;

	bpf_for (cpu, 0, scx_bpf_nr_cpu_ids()) {
		if (!is_nic_local(cpu, nic) || is_exclusive(cpu) || is_taken(cpu) ||
		    !may_run_on(p, cpu))
			continue;
		cost = cost_of(cpu, now);
		if (is_reserved(cpu))
			cost |= COST_RESERVED;
		if (cost < least || (cost == least && cpu == current_cpu)) {
			best = cpu;
			least = cost;
		}
	}
	return best;
}

/*
 * The CPU nearest to @home, on its node, with room for a long-flow thread; NIC-local if
 * @local_only; or -1.
 */
__weak __noinline s32 pick_spill(struct task_struct *p __arg_trusted, s32 home, u32 nic,
				 bool local_only, u64 now)
{
	u64 cost, least = COST_NEVER;
	s32 cpu, best = -1;

	bpf_for (cpu, 0, scx_bpf_nr_cpu_ids()) {
		if (cpu == home || is_exclusive(cpu) || is_taken(cpu) || !may_run_on(p, cpu) ||
		    (is_reserved(cpu) && steering_follows(steering_of(nic))) ||
		    !load_has_room(state_of(cpu)->load_1024ths) ||
		    (local_only && !is_nic_local(cpu, nic)))
			continue;
		cost = spill_cost(plan_of(home), plan_of(cpu), cost_of(cpu, now));
		if (cost < least) {
			best = cpu;
			least = cost;
		}
	}
	return best;
}

/* What choose_long() decided, besides the CPU. */
struct long_place {
	s32 spills_from;     /* a CPU of the full core that it leaves if others have room, or -1 */
	bool spills;	     /* they have */
	bool alarmed;	     /* it was held up there, before the averages tell */
	bool searched;	     /* it looked for a NIC-local core */
	bool home_is_fixed;  /* its packets do not follow it */
	bool departs;	     /* it leaves its home: watch its packets */
	bool stops_watching; /* its home is where its packets arrive */
	bool spilled;	     /* it is away from its saturated home */
};

/* Does it help a thread to leave @from? */
static __always_inline bool may_spill(const struct task_ctx *task, s32 from, u64 now)
{
	return spill_helps(steering_of(task->home.nic), long_threads_on(from, now));
}

/* Should a thread leave @from, whose core is saturated? Not all of them at once. */
static __always_inline bool wants_to_spill(const struct task_ctx *task, s32 from, u64 now)
{
	return load_saturates(state_of(from)->load_1024ths) &&
	       now >= core_of(from)->next_spill_ns && may_spill(task, from, now);
}

/*
 * The same, before the averages tell: others keep a full core from a thread that claimed it. Often
 * it is softirq, which leaves the thread nearly nothing.
 */
static __always_inline bool is_alarmed(const struct task_ctx *task, s32 from, u64 now)
{
	return task->held_up && state_of(from)->full && now >= core_of(from)->next_alarm_ns &&
	       may_spill(task, from, now);
}

/* A thread begins to run. */
static __always_inline void note_wait(struct task_ctx *task, u64 now)
{
	task->held_up = now > task->queued_ns + HELD_UP_NS;
}

/* @task goes back to its home, which it had left. If it left on an alarm, was that right? */
static __always_inline void judge_alarm(const struct task_ctx *task, u64 now)
{
	struct core_use *home = core_of(task->home.cpu);

	if (!task->alarmed)
		return;
	if (now >= task->spill_until_ns + LOAD_WINDOW_NS) {
		home->false_alarms = 0;
		return;
	}
	home->next_alarm_ns = now + (ALARM_QUIET_NS << (home->false_alarms & 3));
	home->false_alarms += home->false_alarms < 3;
}

/* Average how much of a CPU @p uses. */
static void note_use(const struct task_struct *p, struct task_ctx *task, u64 now)
{
	u64 window_ns = now - task->used_mark_ns;

	if (window_ns < LOAD_WINDOW_NS)
		return;
	task->used_1024ths = load_update(task->used_1024ths,
					 p->se.sum_exec_runtime - task->used_ran_ns, window_ns);
	task->used_mark_ns = now;
	task->used_ran_ns = p->se.sum_exec_runtime;
}

/* The window of @now in which a thread searches once. */
static __always_inline u32 search_window(u64 now)
{
	return now >> SEARCH_WINDOW_SHIFT;
}

/* Does a thread that left its saturated home stay away? Not if its packets came along. */
static bool stays_spilled(const struct task_struct *p, const struct task_ctx *task, u64 now)
{
	return task->spilled && may_run_on_inline(p, task->target_cpu) &&
	       !is_exclusive(task->target_cpu) && !is_taken(task->target_cpu) &&
	       task->target_cpu != task->home.cpu &&
	       (now < task->spill_until_ns ||
		!loads_fit_together(state_of(task->home.cpu)->load_1024ths, task->used_1024ths));
}

/* Is @target as near to the NIC as a long-flow thread wants it, and still open to it? */
static bool may_keep(const struct task_struct *p, s32 target, u32 nic)
{
	return may_run_on_inline(p, target) && is_nic_local(target, nic) && !is_exclusive(target) &&
	       !is_taken(target);
}

/*
 * The CPU where the long-flow thread @p belongs, whose home is known; or -1: nowhere. Writes
 * nothing but @place. Global, as pick_nic_local().
 */
__weak __noinline s32 choose_long(struct long_place *place __arg_nonnull,
				  struct task_struct *p __arg_trusted,
				  const struct task_ctx *task __arg_nonnull, u64 now)
{
	s32 home = task->home.cpu, target = task->target_cpu, spill;
	u32 nic = task->home.nic;
	bool known, fixed, stays, open;

	*place = (struct long_place){.spills_from = -1, .spilled = true};
	if (stays_spilled(p, task, now))
		return target;
	place->spilled = false;
	/* of a socket that takes datagrams from anybody, only the NIC is known */
	known = home >= 0;
	fixed = known && home_is_fixed(task, nic, now);
	place->home_is_fixed = fixed;
	/* it was just sent away from this home: wait for the packets to follow */
	stays = known && !fixed && home == task->left_home_cpu;

	open = may_run_on_inline(p, home) && !is_exclusive(home) && !is_taken(home);
	if (open && (fixed || (is_nic_local(home, nic) && !is_reserved(home) && !stays))) {
		/* if it was sent here, the packets followed, and that is still to be learned */
		place->stops_watching = home != target;
		target = home;
	} else if (!may_keep(p, target, nic) || is_reserved(target)) {
		place->searched = task->searched_window != search_window(now);
		target = place->searched ? pick_nic_local(p, nic, now) : -1;
		/* one reserved core is as good as another: stay */
		if ((target < 0 || is_reserved(target)) && may_keep(p, task->target_cpu, nic))
			target = task->target_cpu;
		if (target < 0 && open)
			target = home;
		else
			place->departs =
				target >= 0 && target != home && target != task->target_cpu;
	} else {
		/* packets arrive elsewhere by now: do they follow a thread that stays? */
		place->departs = target != home && !fixed && !stays;
	}
	if (target >= 0 && (target == home || !stays)) {
		spill = -1;
		place->alarmed = is_alarmed(task, target, now);
		if (place->alarmed || wants_to_spill(task, target, now)) {
			place->spills_from = target;
			spill = pick_spill(p, target, nic, !fixed, now);
		}
		if (spill >= 0) {
			place->spills = true;
			place->spilled = target == home;
			place->departs |= !fixed;
			target = spill;
		}
	}
	return target;
}

/* Send the thread to @cpu, which choose_long() chose, and claim its core. */
static __always_inline void place_long(struct task_ctx *task, s32 cpu,
				       const struct long_place *place, u64 now)
{
	u32 nic = task->home.nic;

	if (place->stops_watching)
		stop_watching(task);
	if (place->departs)
		depart(task, now);
	/* from the next time on, a thread that probes leaves its home */
	if (place->home_is_fixed && !is_nic_local(task->home.cpu, nic) &&
	    steering_probe_is_due(steering_of(nic), now))
		probe(task, nic, now);
	if (place->searched)
		task->searched_window = search_window(now);
	if (place->spills_from >= 0) {
		struct core_use *full = core_of(place->spills_from);

		full->next_spill_ns = now + SPILL_PACE_NS;
		if (full->next_alarm_ns < now + ALARM_PACE_NS)
			full->next_alarm_ns = now + ALARM_PACE_NS;
	}
	if (task->spilled && !place->spilled)
		judge_alarm(task, now);
	if (place->searched || place->spills_from >= 0)
		count(CNT_LONG_SEARCH);
	if (place->spills) {
		task->alarmed = place->alarmed;
		task->spill_until_ns = now + (place->alarmed ? ALARM_STAY_NS : SPILL_STAY_NS);
		count(CNT_LONG_SPILL);
	}
	task->spilled = place->spilled;
	task->target_cpu = cpu;
	if (cpu >= 0)
		claim_core(task, cpu, now, place_settings.claim_ns);
}

/* Place @p, which goes by its packets, and claim its core. Returns its CPU, or -1. */
static s32 place_by_packets(struct task_struct *p, struct task_ctx *task, u64 now)
{
	struct long_place place;
	s32 cpu;

	/* it has no NIC to be near to */
	if (!task->home.bytes || task->home.nic >= MAX_NICS) {
		task->target_cpu = -1;
		return -1;
	}
	note_use(p, task, now);
	look_if_full(task->target_cpu >= 0 ? task->target_cpu : task->home.cpu, now);
	cpu = choose_long(&place, p, task, now);
	place_long(task, cpu, &place, now);
	return cpu;
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

#endif /* __STEER_TARGET_BPF_H */
