/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A short-flow thread follows its packets to another cache, if a free CPU idles there. Each request
 * crosses between the two otherwise: the packet one way, the answer's buffers the other.
 */
#ifndef __STEER_FOLLOW_BPF_H
#define __STEER_FOLLOW_BPF_H

#include <scx/common.bpf.h>
#include <bpf_experimental.h>
#include "ground/affinity.bpf.h"
#include "ground/cpu.bpf.h"
#include "ground/subject.bpf.h"
#include "place/free.bpf.h"

/*
 * A thread follows once per window of 2^20 ns = 1 ms: packets of several flows may arrive at
 * several caches.
 */
#define FOLLOW_WINDOW_SHIFT 20

/*
 * Softirq on this CPU wakes @p, which ran on @prev_cpu. A free idle CPU under this CPU's cache, if
 * @p should follow its packets there: takes it out of the idle set. Else -1.
 */
static s32 follow_packets(const struct task_struct *p, const struct subject *s, s32 prev_cpu)
{
	s32 i, cpu, here = bpf_get_smp_processor_id();
	u32 window = s->now >> FOLLOW_WINDOW_SHIFT;

	if (s->class != CLASS_SHORT || !s->task || llc_of(here) == llc_of(prev_cpu) ||
	    s->task->followed_window == window || !bpf_in_interrupt())
		return -1;
	bpf_for (i, 0, BLOCK) {
		cpu = near_cpu(here, i);
		if (cpu >= 0 && take_free_idle(p, cpu, s->now)) {
			s->task->followed_window = window;
			note_woken(state_of(here), cpu, s->now);
			return cpu;
		}
	}
	return -1;
}

#endif /* __STEER_FOLLOW_BPF_H */
