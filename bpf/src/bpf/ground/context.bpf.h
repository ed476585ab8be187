/* SPDX-License-Identifier: GPL-2.0-only */
/* The context of each thread: what the scheduler keeps of it, in its task storage. */
#ifndef __STEER_CONTEXT_BPF_H
#define __STEER_CONTEXT_BPF_H

#include "ground/kernel.bpf.h"
#include "pure/task.h"

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_ctx);
} tasks SEC(".maps");

/* NULL for a thread that ops.init_task has not seen. */
static __always_inline struct task_ctx *ctx_of(struct task_struct *p)
{
	return bpf_task_storage_get(&tasks, p, NULL, 0);
}

/* NULL if there is no memory. */
static __always_inline struct task_ctx *new_ctx(struct task_struct *p)
{
	return bpf_task_storage_get(&tasks, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

/* The thread waits from @now on. */
static __always_inline void note_waits_since(struct task_ctx *task, u64 now)
{
	task->queued_ns = now;
}

#endif /* __STEER_CONTEXT_BPF_H */
