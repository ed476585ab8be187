/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Spilling: what it costs a long-flow thread to go to a CPU, and whether leaving a full core
 * helps at all. Pure, like flow.h.
 */
#ifndef __STEER_SPILL_H
#define __STEER_SPILL_H

#include "pure/distance.h"
#include "pure/steering.h"

/*
 * What one more long-flow thread costs on a CPU: first by the number of such threads on its
 * core, then by their number under its cache, then by its load. Eight flows on one core lost
 * 19 % of their throughput, mostly to cache misses (host-network-stack paper, incast).
 */
static inline u32 spread_cost(u32 on_core, u32 on_llc, u32 load)
{
	enum { MOST = 1023 };

	on_core = on_core < MOST ? on_core : MOST;
	on_llc = on_llc < MOST ? on_llc : MOST;
	return on_core << 21 | on_llc << 11 | load;
}

/* Added for a reserved CPU. Such a CPU costs more than any other. */
#define COST_RESERVED (1U << 31)

/* The cost of a CPU that is out of the question. */
#define COST_NEVER (~0ULL)

/*
 * What it costs a thread to leave @from for @to: the distance first, then @spread. Another
 * node is out of the question: softirq and thread on two nodes did 0.46 of the work of one
 * NIC-local core (ARCHITECTURE.md). Two threads that share one core get 0.5 each.
 */
static inline u64 spill_cost(const struct cpu_plan *from, const struct cpu_plan *to, u32 spread)
{
	enum cpu_distance distance = cpu_distance(from, to);

	if (distance > DISTANCE_NODE)
		return COST_NEVER;
	return (u64)distance << 32 | spread;
}

/*
 * Does it help a thread to leave a full core that has @threads long-flow threads? If the
 * thread is alone there and its packets follow, no: all that filled the core comes along.
 * Until the steering is known, even a lone thread leaves; the move reveals the steering.
 */
static inline bool spill_helps(const struct nic_steering *s, u32 threads)
{
	return threads > 1 || !steering_follows(s);
}

#endif /* __STEER_SPILL_H */
