/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Learning how each NIC steers, all in one place. The arithmetic is in pure/steering.h.
 *
 *   depart         placement sends a thread away from its home; from then on it is watched
 *   learn_steering its sockets' next packets tell whether they came along: one vote
 *   probe          a NIC counts as fixed, a home is remote: send a thread away all the same
 *   question_fixed cores near a fixed NIC are wanted: two votes must confirm "fixed" again
 */
#ifndef __STEER_STEERING_BPF_H
#define __STEER_STEERING_BPF_H

#include "ground/kernel.bpf.h"
#include "ground/counters.bpf.h"
#include "pure/flow.h"
#include "pure/steering.h"
#include "pure/task.h"

/* After a move, packets in flight and a stale RFS entry still arrive at the old home. */
#define SETTLE_NS (50 * 1000 * 1000ULL)
/* How long packets may stay behind before that counts again. NICs that learn from what a thread
 * sends (ATR; virtio) need it to send from its new place first. */
#define PATIENCE_NS (150 * 1000 * 1000ULL)
/* How often "fixed" is put in question, while cores are wanted. */
#define RETEST_NS (10 * 1000 * 1000 * 1000ULL)

/* By NIC of the plan. User space clears it when NICs get other numbers. */
struct nic_steering nic_steering[MAX_NICS];

static struct nic_steering *steering_of(u32 nic)
{
	return &nic_steering[nic & (MAX_NICS - 1)];
}

/* Does @nic deliver packets to one place, whatever threads do? A probing thread assumes not, nor
 * does one that polls the NIC. */
static inline bool home_is_fixed(const struct task_ctx *task, u32 nic, u64 now)
{
	return steering_is_fixed(steering_of(nic)) && now >= task->probe_until_ns;
}

/* A bit for each NIC whose packets do not follow threads. */
static inline u64 fixed_nics(void)
{
	u64 fixed = 0;
	u32 nic;

	bpf_for (nic, 0, MAX_NICS)
		if (steering_is_fixed(steering_of(nic)))
			fixed |= 1ULL << nic;
	return fixed;
}

/* The thread leaves its home. From now on, watch whether its packets come along. */
static inline void depart(struct task_ctx *task, u64 now)
{
	home_leave(&task->home);
	task->left_home_cpu = task->home.cpu;
	task->judge_ns = now + SETTLE_NS;
}

/* The thread is where its packets arrive: there is nothing left to watch. */
static __always_inline void stop_watching(struct task_ctx *task)
{
	task->left_home_cpu = -1;
}

/* For a while, the thread's packets are taken to follow it. */
static inline void assume_they_follow(struct task_ctx *task, u64 now)
{
	task->probe_until_ns = now + PATIENCE_NS + SETTLE_NS;
}

/* Send the thread away from its fixed home for a while. */
static inline void probe(struct task_ctx *task, u32 nic, u64 now)
{
	steering_note_probe(steering_of(nic), now);
	assume_they_follow(task, now);
}

/* May packets of a thread that runs on @cpu tell now whether they came along? */
static __always_inline bool is_watched(const struct task_ctx *task, s32 cpu, u64 now)
{
	return task->left_home_cpu >= 0 && now >= task->judge_ns && cpu == task->target_cpu;
}

/* Packets of a thread that left its home arrived on @softirq_cpu by @nic. */
static void learn_steering(struct task_ctx *task, u32 nic, s32 softirq_cpu, u64 now)
{
	bool followed = softirq_cpu == task->target_cpu;

	task->judge_ns = now + PATIENCE_NS;
	if (followed || softirq_cpu == task->left_home_cpu) {
		steering_vote(steering_of(nic), followed);
		count(followed ? CNT_STEERING_FOLLOWED : CNT_STEERING_STAYED);
	}
	if (task->home.cpu != task->left_home_cpu)
		stop_watching(task);
}

/* Are homes still fixed? That may have changed, or load may have misled us. */
static inline void question_fixed(u64 now)
{
	u32 nic;

	bpf_for (nic, 0, MAX_NICS) {
		struct nic_steering *s = steering_of(nic);

		if (!steering_is_fixed(s) || now < s->next_retest_ns)
			continue;
		s->next_retest_ns = now + RETEST_NS;
		steering_question(s);
	}
}

#endif /* __STEER_STEERING_BPF_H */
