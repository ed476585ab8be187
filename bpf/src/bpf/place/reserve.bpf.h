/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Cores reserved for short-flow threads. Long-flow threads claim the cores that they find. Where
 * that would be every core, as many cores are reserved as short-flow threads have work for.
 *
 * Four CPUs, all NIC-local; long-flow threads L use half of each, RPC threads S a quarter:
 *
 *      before  L S | L S | L S | L S        after  L L | L | L | S S S S
 *
 * No core is reserved near a NIC whose packets do not follow: its softirq and so its threads stay
 * where they are. Each NIC keeps one core near it, or its long flows would be remote.
 */
#ifndef __STEER_RESERVE_BPF_H
#define __STEER_RESERVE_BPF_H

#include "ground/steering.bpf.h"
#include "place/cores.bpf.h"
#include "pure/reserve.h"

/* After how many load windows in a row that need fewer cores one is given back: a second. */
#define RELEASE_WINDOWS 10

static u32 windows_with_fewer;

/* Sums over the CPUs that are not exclusive. Only the timer writes them. They are not on the stack:
 * there the verifier would follow every value that they may have. */
static struct {
	u32 cpus;
	u32 apart; /* those without long-flow threads: reserved, or near no NIC that follows */
	u32 long_load;
	u32 short_load;
} sums;

/* What long flows lose with the core of @cpu, less what short flows use there already. */
static u32 cost_to_reserve(s32 cpu)
{
	const struct cpu_state *state = state_of(cpu);

	return LOAD_FULL + state->load_1024ths - state->short_load_1024ths;
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
 * The CPU whose core to reserve next, or -1: the one that costs least, if each NIC near it has
 * another core.
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
 * If needed, reserve one more core, or give back the one that costs long flows most. Called
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
		sums.short_load += state->short_load_1024ths;
		/* softirq on a CPU without long-flow threads serves other threads */
		if (is_claimed(cpu, now))
			sums.long_load += state->load_1024ths;
		else
			sums.short_load += state->load_1024ths;

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
			question_fixed(now);
		}
	}
	windows_with_fewer = 0;
}

#endif /* __STEER_RESERVE_BPF_H */
