/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Telemetry of the scheduler: what each thread's sockets do, kept in its task
 * storage. Writes nothing that another thread reads but, after a move, one vote on
 * its NIC; so an event costs the same whatever the number of sockets, threads and
 * CPUs.
 */
#ifndef __STEER_TELEMETRY_BPF_H
#define __STEER_TELEMETRY_BPF_H

#include "place.h"
#include "policy.bpf.h"
#include "task.h"
#include "traffic.bpf.h"

/* After a move, packets in flight and a stale RFS entry still arrive at the old home. */
#define SETTLE_NS (50 * 1000 * 1000ULL)
/* How long a thread whose packets did not come along stays away before that is said again: NICs
 * that learn from what a thread sends (ATR; virtio) need it to send from its new place first. */
#define PATIENCE_NS (150 * 1000 * 1000ULL)

/* Steering of each NIC of the plan, as learned. */
struct nic_steering nic_steering[MAX_NICS];

static struct nic_steering *steering_of(u32 nic)
{
	return &nic_steering[nic & (MAX_NICS - 1)];
}

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

/* Ticks per second; if unknown, 0, and dividing by that is 0: each arrival is taken for recent. */
extern unsigned CONFIG_HZ __kconfig __weak;

#define NS_PER_S (1000 * 1000 * 1000ULL)

/* When the flow's last packet arrived, data or acknowledgement; to a tick. */
static u64 last_arrival(struct sock *sk, const struct traffic *t)
{
	struct tcp_sock *tcp = bpf_skc_to_tcp_sock(sk);
	u32 now = bpf_jiffies64(), data, ack;
	u64 age_ns;

	/* of UDP nothing is known but what has just been received */
	if (!tcp)
		return t->direction == DIR_RECEIVE ? t->now : 0;
	data = now - tcp->inet_conn.icsk_ack.lrcvtime;
	ack = now - tcp->rcv_tstamp;
	age_ns = (u64)(data < ack ? data : ack) * (NS_PER_S / CONFIG_HZ);
	return age_ns < t->now ? t->now - age_ns : 0;
}

/*
 * A thread that was sent away from its home: do its packets come along? Only those that
 * arrived a while after their flow was first served there can have.
 */
static void learn_steering(struct task_ctx *task, struct sock *sk, const struct traffic *t)
{
	bool followed = t->softirq_cpu == task->target;

	if (task->left_home < 0 || t->now < task->judge_ns ||
	    (s32)bpf_get_smp_processor_id() != task->target ||
	    last_arrival(sk, t) < t->served_since_ns + SETTLE_NS)
		return;
	task->judge_ns = t->now + PATIENCE_NS;
	if (followed || t->softirq_cpu == task->left_home) {
		steering_vote(steering_of(t->nic), followed);
		count(followed ? CNT_STEERING_FOLLOWED : CNT_STEERING_STAYED);
	}
	if (task->home.cpu != task->left_home)
		task->left_home = -1;
}

/* What all threads of a cgroup move, where a policy asks for that. */
struct {
	__uint(type, BPF_MAP_TYPE_CGRP_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread_load);
} cgroup_loads SEC(".maps");

/* The traffic that makes @p's class: its own, its process's or its cgroup's; see enum granularity.
 */
static struct thread_load *load_of(struct task_struct *p, struct task_ctx *task,
				   const struct thread_policy *policy)
{
	struct thread_load *shared = NULL;

	if (policy->granularity == PER_PROCESS) {
		struct task_struct *leader = p->group_leader;
		struct task_ctx *of_leader = NULL;

		if (leader)
			of_leader = bpf_task_storage_get(&tasks, leader, NULL, 0);
		if (of_leader)
			shared = &of_leader->load;
	} else if (policy->granularity == PER_CGROUP) {
		struct cgroup *cgroup = p->cgroups->dfl_cgrp;

		shared = bpf_cgrp_storage_get(&cgroup_loads, cgroup, NULL,
					      BPF_LOCAL_STORAGE_GET_F_CREATE);
	}
	return shared ?: &task->load;
}

/* The burst that the event belongs to, and those before it, for people to read. */
static __always_inline void keep_burst(struct task_ctx *task, const struct traffic *t)
{
	if (t->burst_bytes == t->bytes)
		task->newest_burst++;
	task->bursts[task->newest_burst & (KEPT_BURSTS - 1)] = t->burst_bytes;
}

static int record_traffic(struct sock *sk, int ret, u8 direction)
{
	struct task_struct *p = bpf_get_current_task_btf();
	struct thread_policy *policy;
	struct task_ctx *task;
	struct traffic t;

	/* created at init_task; a thread that has none is not ours to place */
	task = bpf_task_storage_get(&tasks, p, NULL, 0);
	policy = task ? policy_of(p, &task->policy) : policy_at(0);
	if (!account_traffic(&t, sk, ret, direction, &policy->classes))
		return 0;
	if (t.class != t.class_before)
		count(t.class == CLASS_LONG ? CNT_FLOW_LONG : CNT_FLOW_SHORT);
	if (!task)
		return 0;
	keep_burst(task, &t);
	thread_charge(load_of(p, task, policy), &policy->classes, t.class, t.bytes, t.turned,
		      t.now);
	if ((t.class == CLASS_LONG || policy->declared == CLASS_LONG) && t.nic != NIC_UNKNOWN) {
		home_vote(&task->home, t.softirq_cpu, t.softirq_before, t.nic, t.bytes, t.now);
		learn_steering(task, sk, &t);
	}
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
