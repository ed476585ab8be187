/* SPDX-License-Identifier: GPL-2.0-only */
/* The pure functions as ordinary ones, for property tests; see native.c. */
#ifndef __STEER_NATIVE_H
#define __STEER_NATIVE_H

#include "pure/buckets.h"
#include "pure/collect.h"
#include "pure/crowd.h"
#include "pure/distance.h"
#include "pure/flow.h"
#include "pure/group.h"
#include "pure/heads.h"
#include "pure/load.h"
#include "pure/reserve.h"
#include "pure/shared_time.h"
#include "pure/spill.h"
#include "pure/steering.h"
#include "pure/task.h"
#include "pure/thread.h"
#include "pure/vtime.h"

bool native_flow_account(struct flow *f, const struct class_settings *s, u8 direction, u64 bytes,
			 u64 now);
bool native_flow_collect(struct flow *f, const struct class_settings *s, u32 thread, u8 direction,
			 u64 bytes, u64 now);
void native_flow_collect_for(struct flow *f, u32 thread, u16 policy);
void native_thread_charge(struct thread_load *t, const struct class_settings *s, u8 flow_class,
			  u64 bytes, u32 messages, u64 now);
u8 native_thread_classify(struct thread_load *t, const struct class_settings *s, u64 now);
u8 native_thread_placed_as(const struct thread_load *t);
void native_home_vote(struct home *h, s32 cpu, s32 before, u32 nic, u64 bytes, u64 now);
void native_home_leave(struct home *h);
u64 native_vtime_by(u64 vtime, u64 from, u64 to, u64 most);
u64 native_vtime_limited(u64 vtime, u64 now, u64 slice_ns, u64 most);
u64 native_vtime_of_head(u64 vtime, u64 now, u64 slice_ns, s64 waited_ns);
bool native_steering_is_fixed(const struct nic_steering *s);
void native_steering_question(struct nic_steering *s);
bool native_steering_probe_is_due(const struct nic_steering *s, u64 now);
void native_steering_note_probe(struct nic_steering *s, u64 now);
void native_steering_vote(struct nic_steering *s, bool followed);
enum cpu_distance native_cpu_distance(const struct cpu_plan *a, const struct cpu_plan *b);
void native_heads_add(struct head_count *h, u32 window);
u32 native_heads_in(const struct head_count *h, u32 window);
u32 native_spread_cost(u32 on_core, u32 on_llc, u32 load);
u64 native_spill_cost(const struct cpu_plan *from, const struct cpu_plan *to, u32 spread);
bool native_spill_helps(const struct nic_steering *s, u32 threads);
u32 native_cpus_for_short(u32 short_load, u32 long_load, u32 cpus);
u32 native_load_update(u32 load, u64 busy_ns, u64 window_ns);
u32 native_run_average(u32 average_ns, u64 ran_ns);
u64 native_crowd_of(u64 used_ns, u64 passed_ns);
bool native_is_more_crowded(u64 weight, u64 own_weight, u32 own_cpus, u64 thread_weight);
u32 native_nice_weight(u32 static_prio);
u64 native_weight_in(const struct group_share *share, u32 weight);
u64 native_vtime_of(u64 ran_ns, u64 weight);
u64 native_weight_average(u64 average, u64 now);
u64 native_quota_chunk(u64 quota_ns);
s64 native_quota_granted(s64 pool, s64 chunk);
s64 native_quota_refilled(s64 pool, u64 quota_ns, u64 burst_ns, u64 periods);
u32 native_performance_for(u32 used);
bool native_load_saturates(u32 load);
bool native_load_fills(u64 busy_ns, u64 window_ns);
bool native_load_has_room(u32 load);
bool native_load_passes(u32 load, u32 run_ns);
u64 native_lend_wait(u64 most_ns, u32 load);
bool native_loads_fit_together(u32 home, u32 thread);
u32 native_bucket_of(u64 value, u32 buckets);
void native_shared_time_add(struct shared_time *s, u8 class, u64 ns, u64 now);

#endif /* __STEER_NATIVE_H */
