/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Cores reserved for short-flow threads. Long-flow threads claim what they find; where that
 * would be every core, as many are left to short-flow threads as these have work for.
 *
 * Four CPUs, all NIC-local; long-flow threads L use half of each, RPC threads S a quarter:
 *
 *      before  L S | L S | L S | L S        after  L L | L | L | S S S S
 *
 * Not where packets are known not to follow: their softirq, and so their threads, stay. And
 * never all cores near a NIC: its long flows would be remote.
 */
#ifndef __STEER_RESERVE_BPF_H
#define __STEER_RESERVE_BPF_H

#include "cores.bpf.h"

/* How many load windows in a row must need fewer before one is given back: a second. */
#define RELEASE_WINDOWS 10

static u32 windows_with_fewer;

/* Sums over the CPUs that are not exclusive. Not on the stack, where the verifier tells apart
 * every value they could have. Written by the timer alone. */
static struct {
	u32 cpus;
	u32 apart; /* of them: no long-flow thread's, as reserved or without their packets */
	u32 long_load;
	u32 short_load;
} sums;

static __always_inline bool is_reserved(s32 cpu)
{
	return core_of(cpu)->reserved;
}

/* A bit for each NIC whose packets do not follow threads. */
static u64 fixed_nics(void)
{
	u64 fixed = 0;
	u32 nic;

	bpf_for (nic, 0, MAX_NICS)
		if (steering_is_fixed(steering_of(nic)))
			fixed |= 1ULL << nic;
	return fixed;
}

/* How often it is doubted that homes are fixed, while their cores are wanted. */
#define DOUBT_NS (10 * 1000 * 1000 * 1000ULL)

/* Are they? It may have changed, or been learned in error under load. */
static void doubt_fixed(u64 now)
{
	u32 nic;

	bpf_for (nic, 0, MAX_NICS) {
		struct nic_steering *s = steering_of(nic);

		if (!steering_is_fixed(s) || now < s->doubt_ns)
			continue;
		s->doubt_ns = now + DOUBT_NS;
		steering_doubt(s);
	}
}

/* What long flows lose with the core of @cpu, next to what short ones have there already. */
static u32 cost_to_reserve(s32 cpu)
{
	const struct cpu_state *state = state_of(cpu);

	return LOAD_FULL + state->load - state->short_load;
}

static void release(s32 cpu)
{
	core_of(cpu)->reserved = false;
	count(CNT_RELEASE);
}

/* The NICs near @cpu whose packets may follow threads. */
static u64 nics_that_may_follow(s32 cpu, u64 fixed)
{
	return plan_of(cpu)->nics_local & ~fixed;
}

static bool may_be_reserved(s32 cpu)
{
	return is_online(cpu) && !is_exclusive(cpu) && !is_reserved(cpu);
}

/*
 * The CPU whose core is reserved next: with the least to do for long flows and not for short
 * ones, where each NIC near it has another core. Or -1.
 */
static s32 next_to_reserve(u64 fixed)
{
	u64 once = 0, twice = 0, near;
	u32 cost, least = ~0U;
	s32 cpu, next = -1;

	bpf_for (cpu, 0, scx_bpf_nr_cpu_ids()) {
		if (!may_be_reserved(cpu) || plan_of(cpu)->core != (u32)cpu)
			continue;
		near = nics_that_may_follow(cpu, fixed);
		twice |= once & near;
		once |= near;
	}
	bpf_for (cpu, 0, scx_bpf_nr_cpu_ids()) {
		near = nics_that_may_follow(cpu, fixed);
		if (!may_be_reserved(cpu) || !near || (near & ~twice))
			continue;
		cost = cost_to_reserve(cpu);
		if (cost < least) {
			least = cost;
			next = cpu;
		}
	}
	return next;
}

/*
 * Reserve a core more, or give that back which costs long flows most, if it is needed. Called
 * whenever loads were averaged.
 */
static void reserve_cores(u64 now)
{
	u32 most = 0, wanted;
	u64 fixed = fixed_nics();
	s32 cpu, next, last = -1;

	__builtin_memset(&sums, 0, sizeof(sums));
	bpf_for (cpu, 0, scx_bpf_nr_cpu_ids()) {
		const struct cpu_state *state = state_of(cpu);

		if (!is_online(cpu) || is_exclusive(cpu))
			continue;
		sums.cpus++;
		sums.short_load += state->short_load;
		/* what softirq there is on a CPU without long-flow threads is for others */
		if (is_claimed(cpu, now))
			sums.long_load += state->load;
		else
			sums.short_load += state->load;

		if (!nics_that_may_follow(cpu, fixed)) {
			sums.apart += !is_claimed(cpu, now);
			if (is_reserved(cpu))
				release(cpu);
		} else if (is_reserved(cpu)) {
			sums.apart++;
			if (cost_to_reserve(cpu) >= most) {
				most = cost_to_reserve(cpu);
				last = cpu;
			}
		}
	}
	wanted = cpus_for_short(sums.short_load, sums.long_load, sums.cpus);
	if (last >= 0 && wanted + core_of(last)->cpus <= sums.apart) {
		if (++windows_with_fewer < RELEASE_WINDOWS)
			return;
		release(last);
	} else if (wanted > sums.apart) {
		next = next_to_reserve(fixed);
		if (next >= 0) {
			core_of(next)->reserved = true;
			count(CNT_RESERVE);
		} else {
			doubt_fixed(now);
		}
	}
	windows_with_fewer = 0;
}

#endif /* __STEER_RESERVE_BPF_H */
