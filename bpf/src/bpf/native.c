/* SPDX-License-Identifier: GPL-2.0-only */
/* Compiled natively (feature `testing`), never for BPF: lets tests call the pure functions. */
#include "native.h"

bool native_flow_account(struct flow *f, const struct class_settings *s, u8 direction, u64 bytes,
			 u64 now)
{
	return flow_account(f, s, direction, bytes, now);
}

void native_thread_charge(struct thread_load *t, const struct class_settings *s, u8 flow_class,
			  u64 bytes, bool message, u64 now)
{
	thread_charge(t, s, flow_class, bytes, message, now);
}

u8 native_thread_class(struct thread_load *t, const struct class_settings *s, u64 now)
{
	return thread_class(t, s, now);
}

u8 native_thread_placed_as(const struct thread_load *t)
{
	return thread_placed_as(t);
}

void native_home_vote(struct home *h, s32 cpu, u32 nic, u64 bytes)
{
	home_vote(h, cpu, nic, bytes);
}
