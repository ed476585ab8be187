/* SPDX-License-Identifier: GPL-2.0-only */
/* The pure functions as ordinary ones, for property tests; see native.c. */
#ifndef __STEER_NATIVE_H
#define __STEER_NATIVE_H

#include "flow.h"
#include "thread.h"

bool native_flow_account(struct flow *f, const struct class_settings *s, u8 direction, u64 bytes,
			 u64 now);
void native_thread_charge(struct thread_load *t, const struct class_settings *s, u8 flow_class,
			  u64 bytes, bool message, u64 now);
u8 native_thread_class(struct thread_load *t, const struct class_settings *s, u64 now);
u8 native_thread_placed_as(const struct thread_load *t);
void native_home_vote(struct home *h, s32 cpu, u32 nic, u64 bytes);

#endif /* __STEER_NATIVE_H */
