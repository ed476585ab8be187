/* SPDX-License-Identifier: GPL-2.0-only */
/* Threads that run where they do not belong: their flow became long, or their policy changed. */
#ifndef __STEER_MISPLACED_BPF_H
#define __STEER_MISPLACED_BPF_H

#include <scx/common.bpf.h>
#include "ground/affinity.bpf.h"
#include "ground/pool.bpf.h"
#include "ground/subject.bpf.h"
#include "place/cores.bpf.h"
#include "place/target.bpf.h"

/* Does @p, which runs on @cpu, belong elsewhere? By its packets it belongs on @target, if >= 0. */
static __always_inline bool is_misplaced(const struct subject *s, s32 cpu, s32 target)
{
	if (target >= 0)
		return target != cpu;
	if (s->policy->pool)
		return !is_in_pool(cpu, s->policy->pool);
	return is_exclusive(cpu) || (s->class == CLASS_SHORT && is_claimed(cpu, s->now));
}

/* Place @p anew, which runs on @cpu, so that it keeps its claim. True if it must leave @cpu. */
static bool place_running(struct task_struct *p, const struct subject *s, s32 cpu)
{
	s32 target = -1;

	if (!s->task || is_pinned(p))
		return false;
	if (goes_by_packets(s))
		target = place_by_packets(p, s->task, s->now);
	return is_misplaced(s, cpu, target);
}

#endif /* __STEER_MISPLACED_BPF_H */
