/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Core scheduling: some kernels hang if a thread with a cookie runs under a sched_ext scheduler
 * (scheduler/doctor/src/core_scheduling.rs). There, none may be among those that it takes over.
 */
#ifndef __STEER_COOKIES_BPF_H
#define __STEER_COOKIES_BPF_H

#include <scx/common.bpf.h>

/* Whether this is such a kernel. */
const volatile bool cookies_hang;

/* With CONFIG_SCHED_CORE; not every vmlinux.h has the field. */
struct task_struct___core {
	unsigned long core_cookie;
} __attribute__((preserve_access_index));

/* An error, with a message, if @p may not be taken over. For a fork it is too late. */
static s32 refuse_cookie(struct task_struct *p, struct scx_init_task_args *args)
{
	struct task_struct___core *core = (void *)p;

	if (!cookies_hang || args->fork || !bpf_core_field_exists(core->core_cookie) ||
	    !BPF_CORE_READ(core, core_cookie))
		return 0;
	scx_bpf_error("%s[%d] uses core scheduling, with which this kernel can hang", p->comm,
		      p->pid);
	return -EBUSY;
}

#endif /* __STEER_COOKIES_BPF_H */
