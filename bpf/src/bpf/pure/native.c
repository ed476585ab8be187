/* SPDX-License-Identifier: GPL-2.0-only */
/* Compiled natively (feature `testing`), never for BPF, so that tests can call pure functions. */
#include "pure/native.h"

bool native_flow_account(struct flow *f, const struct class_settings *s, u8 direction, u64 bytes,
			 u64 now)
{
	return flow_account(f, s, direction, bytes, now);
}

bool native_flow_collect(struct flow *f, const struct class_settings *s, u32 thread, u8 direction,
			 u64 bytes, u64 now)
{
	return flow_collect(f, s, thread, direction, bytes, now);
}

void native_flow_collect_for(struct flow *f, u32 thread, u16 policy)
{
	flow_collect_for(f, thread, policy);
}

void native_thread_charge(struct thread_load *t, const struct class_settings *s, u8 flow_class,
			  u64 bytes, u32 messages, u64 now)
{
	thread_charge(t, s, flow_class, bytes, messages, now);
}

u8 native_thread_classify(struct thread_load *t, const struct class_settings *s, u64 now)
{
	return thread_classify(t, s, now);
}

u8 native_thread_placed_as(const struct thread_load *t)
{
	return thread_placed_as(t);
}

void native_home_vote(struct home *h, s32 cpu, s32 before, u32 nic, u64 bytes, u64 now)
{
	home_vote(h, cpu, before, nic, bytes, now);
}

void native_home_leave(struct home *h)
{
	home_leave(h);
}

u64 native_vtime_by(u64 vtime, u64 from, u64 to, u64 most)
{
	return vtime_by(vtime, from, to, most);
}

u64 native_vtime_limited(u64 vtime, u64 now, u64 slice_ns, u64 most)
{
	return vtime_limited(vtime, now, slice_ns, most);
}

u64 native_vtime_of_head(u64 vtime, u64 now, u64 slice_ns, s64 waited_ns)
{
	return vtime_of_head(vtime, now, slice_ns, waited_ns);
}

bool native_steering_is_fixed(const struct nic_steering *s)
{
	return steering_is_fixed(s);
}

void native_steering_question(struct nic_steering *s)
{
	steering_question(s);
}

bool native_steering_probe_is_due(const struct nic_steering *s, u64 now)
{
	return steering_probe_is_due(s, now);
}

void native_steering_note_probe(struct nic_steering *s, u64 now)
{
	steering_note_probe(s, now);
}

void native_steering_vote(struct nic_steering *s, bool followed)
{
	steering_vote(s, followed);
}

enum cpu_distance native_cpu_distance(const struct cpu_plan *a, const struct cpu_plan *b)
{
	return cpu_distance(a, b);
}

void native_heads_add(struct head_count *h, u32 window)
{
	heads_add(h, window);
}

u32 native_heads_in(const struct head_count *h, u32 window)
{
	return heads_in(h, window);
}

u32 native_spread_cost(u32 on_core, u32 on_llc, u32 load)
{
	return spread_cost(on_core, on_llc, load);
}

u64 native_spill_cost(const struct cpu_plan *from, const struct cpu_plan *to, u32 spread)
{
	return spill_cost(from, to, spread);
}

bool native_spill_helps(const struct nic_steering *s, u32 threads)
{
	return spill_helps(s, threads);
}

u32 native_load_update(u32 load, u64 busy_ns, u64 window_ns)
{
	return load_update(load, busy_ns, window_ns);
}

u32 native_run_average(u32 average_ns, u64 ran_ns)
{
	return run_average(average_ns, ran_ns);
}

u32 native_cpus_for_short(u32 short_load, u32 long_load, u32 cpus)
{
	return cpus_for_short(short_load, long_load, cpus);
}

bool native_is_more_crowded(u64 weight, u64 own_weight, u32 own_cpus, u64 thread_weight)
{
	return is_more_crowded(weight, own_weight, own_cpus, thread_weight);
}

u32 native_performance_for(u32 used)
{
	return performance_for(used);
}

bool native_load_saturates(u32 load)
{
	return load_saturates(load);
}

bool native_load_fills(u64 busy_ns, u64 window_ns)
{
	return load_fills(busy_ns, window_ns);
}

bool native_load_has_room(u32 load)
{
	return load_has_room(load);
}

bool native_load_passes(u32 load, u32 run_ns)
{
	return load_passes(load, run_ns);
}

u64 native_lend_wait(u64 most_ns, u32 load)
{
	return lend_wait(most_ns, load);
}

bool native_loads_fit_together(u32 home, u32 thread)
{
	return loads_fit_together(home, thread);
}

u32 native_bucket_of(u64 value, u32 buckets)
{
	return bucket_of(value, buckets);
}

u64 native_crowd_of(u64 used_ns, u64 passed_ns)
{
	return crowd_of(used_ns, passed_ns);
}

u32 native_nice_weight(u32 static_prio)
{
	return nice_weight(static_prio);
}

u64 native_weight_in(const struct group_share *share, u32 weight)
{
	return weight_in(share, weight);
}

u64 native_vtime_of(u64 ran_ns, u64 weight)
{
	return vtime_of(ran_ns, weight);
}

u64 native_weight_average(u64 average, u64 now)
{
	return weight_average(average, now);
}

u64 native_quota_chunk(u64 quota_ns)
{
	return quota_chunk(quota_ns);
}

s64 native_quota_granted(s64 pool, s64 chunk)
{
	return quota_granted(pool, chunk);
}

s64 native_quota_refilled(s64 pool, u64 quota_ns, u64 burst_ns, u64 periods)
{
	return quota_refilled(pool, quota_ns, burst_ns, periods);
}

void native_shared_time_add(struct shared_time *s, u8 class, u64 ns, u64 now)
{
	shared_time_add(s, class, ns, now);
}
