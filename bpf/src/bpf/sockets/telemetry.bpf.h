/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Telemetry of the scheduler: what each thread's sockets do, kept in its context. An event writes
 * nothing that another thread reads, but for one vote on the NIC's steering after a move. So it
 * costs the same with any number of sockets, threads and CPUs.
 */
#ifndef __STEER_TELEMETRY_BPF_H
#define __STEER_TELEMETRY_BPF_H

#include "ground/kernel.bpf.h"
#include <bpf/bpf_tracing.h>
#include "ground/context.bpf.h"
#include "ground/counters.bpf.h"
#include "ground/now.bpf.h"
#include "ground/policy.bpf.h"
#include "ground/steering.bpf.h"
#include "ground/thread_load.bpf.h"
#include "ground/worker.bpf.h"
#include "pure/collect.h"
#include "sockets/traffic.bpf.h"

/* Ticks per second, 0 if unknown. In BPF x / 0 is 0, so each arrival then counts as recent. */
extern unsigned CONFIG_HZ __kconfig __weak;

#define NS_PER_S (1000 * 1000 * 1000ULL)

/* When the flow's last packet arrived, data or acknowledgement. Exact to a tick. */
static u64 last_arrival(struct sock *sk, u8 direction, u64 now)
{
	struct tcp_sock *tcp = bpf_skc_to_tcp_sock(sk);
	u32 jiffies = bpf_jiffies64(), data, ack;
	u64 age_ns;

	/* UDP keeps no stamps, nor does MPTCP: only what was just received is known */
	if (!tcp)
		return direction == DIR_RECEIVE ? now : 0;
	data = jiffies - tcp->inet_conn.icsk_ack.lrcvtime;
	ack = jiffies - tcp->rcv_tstamp;
	age_ns = (u64)(data < ack ? data : ack) * (NS_PER_S / CONFIG_HZ);
	return age_ns < now ? now - age_ns : 0;
}

/* For how long a thread that polled a NIC is taken to go on so. */
#define POLLS_NS PATIENCE_NS

/*
 * Does the thread, which reads from @sk, poll the NIC itself? Then packets arrive wherever it runs,
 * which tells nothing of the NIC. The socket tells it too (SO_BUSY_POLL, net.core.busy_read), for
 * kernels that cannot trace functions.
 */
static __always_inline bool polls_nic(const struct task_ctx *task, const struct sock *sk, u64 now)
{
	if (task->polled_ns && now < task->polled_ns + POLLS_NS)
		return true;
	/* absent without CONFIG_NET_RX_BUSY_POLL */
	return bpf_core_field_exists(sk->sk_ll_usec) && sk->sk_ll_usec;
}

/*
 * The thread left its home: can this event tell whether its packets came along? Only packets can
 * tell that arrived a while after the thread began to serve the flow here.
 */
static bool tells_of_steering(const struct task_ctx *task, struct sock *sk, u8 direction,
			      const struct traffic *t)
{
	return is_watched(task, bpf_get_smp_processor_id(), t->now) &&
	       last_arrival(sk, direction, t->now) >= t->served_since_ns + SETTLE_NS;
}

/* Keep the burst of the flow's last @bytes, for `policy explain`. */
static __always_inline void keep_burst(struct task_ctx *task, u64 burst_bytes, u64 bytes)
{
	/* it began with these bytes */
	if (burst_bytes <= bytes)
		task->newest_burst++;
	task->burst_bytes[task->newest_burst & (KEPT_BURSTS - 1)] = burst_bytes;
}

static int record_traffic(struct sock *sk, int ret, u8 direction)
{
	struct task_struct *p = bpf_get_current_task_btf();
	const struct sock *arrives = where_packets_arrive(sk);
	struct flow *f = flow_of(sk, ret);
	struct thread_policy *policy;
	struct task_ctx *task;
	struct traffic t;
	u64 now, bytes;
	u32 messages;

	if (!f)
		return 0;
	now = clock_now();
	/* where a short flow is served makes no difference */
	if ((f->class == CLASS_SHORT || is_where_it_was(f, arrives)) &&
	    flow_collect(f, &policy_at(f->policy)->classes, p->pid, direction, ret, now))
		return 0;

	/* what a worker moved for a disk in the network says nothing of what it does next */
	task = is_worker(p) ? NULL : ctx_of(p);
	policy = task ? policy_of(p, &task->policy) : policy_at(0);
	account_traffic(&t, f, arrives, ret, direction, now, &policy->classes);
	if (t.class != t.class_before)
		count(t.class == CLASS_LONG ? CNT_FLOW_LONG : CNT_FLOW_SHORT);
	if (!task)
		return 0;
	/* if the flow changes threads, the next one pays for a few events of the one before */
	bytes = t.bytes + f->collected_bytes;
	messages = t.turned + f->collected_messages;
	flow_collect_for(f, p->pid, task->policy.policy);
	keep_burst(task, t.burst_bytes, bytes);
	thread_charge(load_of(p, task, policy), &policy->classes, t.class, bytes, messages, now);
	if ((t.class == CLASS_LONG || policy->declared == CLASS_LONG) && t.nic != NIC_UNKNOWN) {
		/* what was collected arrived where the packets before this event did */
		if (t.softirq_cpu != t.softirq_before)
			bytes = t.bytes;
		home_vote(&task->home, t.softirq_cpu, t.softirq_before, t.nic, bytes, now);
		if (polls_nic(task, sk, now))
			assume_they_follow(task, now);
		else if (tells_of_steering(task, sk, direction, &t))
			learn_steering(task, t.nic, t.softirq_cpu, now);
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

/*
 * This thread polls a NIC: for a socket, for an epoll (net.core.busy_poll, EPIOCSPARAMS), or for
 * io_uring.
 */
static int note_polls(void)
{
	struct task_ctx *task = ctx_of(bpf_get_current_task_btf());

	if (task)
		task->polled_ns = clock_now();
	return 0;
}

SEC("?fentry/napi_busy_loop")
int BPF_PROG(telemetry_polls)
{
	return note_polls();
}

SEC("?fentry/napi_busy_loop_rcu")
int BPF_PROG(telemetry_ring_polls)
{
	return note_polls();
}

#endif /* __STEER_TELEMETRY_BPF_H */
