/* SPDX-License-Identifier: GPL-2.0-only */
/* The machine, by CPU number. User space writes it at load and when the set of NICs changes. */
#ifndef __STEER_PLAN_BPF_H
#define __STEER_PLAN_BPF_H

#include "ground/kernel.bpf.h"
#include "intf.h"

struct cpu_plan cpu_plan[MAX_CPUS];

/*
 * A CPU number as an index. Numbers are below MAX_CPUS (checked at load). The mask tells the
 * verifier so, without a branch that the compiler could move.
 */
static __always_inline u32 slot(u32 cpu)
{
	return cpu & (MAX_CPUS - 1);
}

static __always_inline struct cpu_plan *plan_of(s32 cpu)
{
	return &cpu_plan[slot(cpu)];
}

/* Affinity masks of threads contain offline CPUs too. No thread may be sent to one. */
static __always_inline bool is_online(s32 cpu)
{
	return plan_of(cpu)->online;
}

static __always_inline bool is_nic_local(s32 cpu, u32 nic)
{
	return cpu >= 0 && nic < MAX_NICS && plan_of(cpu)->nics_local & (1ULL << nic);
}

static __always_inline u32 llc_of(s32 cpu)
{
	return plan_of(cpu)->llc & (MAX_LLCS - 1);
}

static __always_inline u32 shard_of(s32 cpu)
{
	return plan_of(cpu)->shard & (MAX_SHARDS - 1);
}

#endif /* __STEER_PLAN_BPF_H */
