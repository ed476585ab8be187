/* SPDX-License-Identifier: GPL-2.0-only */
/* The clock of all time stamps. Each object defines its own. */
#ifndef __STEER_NOW_BPF_H
#define __STEER_NOW_BPF_H

#include "ground/kernel.bpf.h"

static u64 clock_now(void);

#endif /* __STEER_NOW_BPF_H */
