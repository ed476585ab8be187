/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's types and BPF's helpers. sched_ext's headers declare kfuncs in their own way, so the
 * prototypes in vmlinux.h are left out, whichever header comes first. */
#ifndef __STEER_KERNEL_BPF_H
#define __STEER_KERNEL_BPF_H

#define BPF_NO_KFUNC_PROTOTYPES
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#endif /* __STEER_KERNEL_BPF_H */
