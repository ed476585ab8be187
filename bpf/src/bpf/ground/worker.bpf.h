/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's worker threads. */
#ifndef __STEER_WORKER_BPF_H
#define __STEER_WORKER_BPF_H

#include "ground/kernel.bpf.h"

/* include/linux/sched.h; a macro, so not in BTF. As in scx/common.bpf.h, which others include. */
#define PF_WQ_WORKER 0x00000020

/* Is @p a worker of a work queue? It works for others, for as long as that takes. */
static __always_inline bool is_worker(const struct task_struct *p)
{
	return p->flags & PF_WQ_WORKER;
}

#endif /* __STEER_WORKER_BPF_H */
