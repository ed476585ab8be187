/* SPDX-License-Identifier: GPL-2.0-only */
/* Decision counters, one per `steer_counter` and CPU. */
#ifndef __STEER_COUNTERS_BPF_H
#define __STEER_COUNTERS_BPF_H

#include "ground/kernel.bpf.h"
#include "intf.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, NR_COUNTERS);
	__type(key, u32);
	__type(value, u64);
} counters SEC(".maps");

static __always_inline void count(u32 which)
{
	u64 *n = bpf_map_lookup_elem(&counters, &which);

	if (n)
		(*n)++;
}

#endif /* __STEER_COUNTERS_BPF_H */
