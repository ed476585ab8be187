/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Telemetry of the scheduler: what each thread's sockets do, kept in its task
 * storage. Writes nothing that another thread reads, so an event costs the same
 * whatever the number of sockets, threads and CPUs.
 */
#ifndef __STEER_TELEMETRY_BPF_H
#define __STEER_TELEMETRY_BPF_H

#include "traffic.bpf.h"

/* What the scheduler knows of a thread. */
struct task_ctx {
	struct thread_load load;
	struct home home;
	s32 target;    /* the CPU a long-flow thread was last sent to, -1 before */
	u64 queued_ns; /* when it last began to wait in a queue */
	u8 queued_as;  /* its class then */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_ctx);
} tasks SEC(".maps");

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

static int record_traffic(struct sock *sk, int ret, u8 direction)
{
	struct task_ctx *task;
	struct traffic t;

	if (!account_traffic(&t, sk, ret, direction))
		return 0;
	if (t.class != t.class_before)
		count(t.class == CLASS_LONG ? CNT_FLOW_LONG : CNT_FLOW_SHORT);

	/* created at init_task; a thread that has none is not ours to place */
	task = bpf_task_storage_get(&tasks, bpf_get_current_task_btf(), NULL, 0);
	if (!task)
		return 0;
	thread_charge(&task->load, classes(), t.class, t.bytes, t.turned, t.now);
	if (t.class == CLASS_LONG && t.nic != NIC_UNKNOWN)
		home_vote(&task->home, t.softirq_cpu, t.nic, t.bytes);
	return 0;
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(telemetry_receive, struct sock *sk, int ret, int flags)
{
	return flags & (MSG_PEEK | MSG_ERRQUEUE) ? 0 : record_traffic(sk, ret, DIR_RECEIVE);
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(telemetry_send, struct sock *sk, int ret, int flags)
{
	return record_traffic(sk, ret, DIR_SEND);
}

#endif /* __STEER_TELEMETRY_BPF_H */
