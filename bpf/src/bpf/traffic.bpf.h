/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Socket traffic as both objects see it: the per-flow storage, the device a
 * flow's packets come from, the NIC behind that device.
 *
 * The hooks are the tracepoints sock_send_length and sock_recv_length
 * (net/socket.c): TCP and UDP, IPv4 and IPv6, one hook each way, sendfile and
 * MSG_ZEROCOPY included. They miss splice() out of a socket and in-kernel
 * readers (tcp_read_sock), which never pass through sock_recvmsg().
 */
#ifndef __STEER_TRAFFIC_BPF_H
#define __STEER_TRAFFIC_BPF_H

#include "flow.h"
#include "thread.h"

/* include/linux/socket.h, include/linux/net.h; macros, so not in BTF */
#define AF_INET	     2
#define AF_INET6     10
#define MSG_PEEK     0x02
#define MSG_ERRQUEUE 0x2000

/* Indexed by CPU. Rewritten by user space when the set of NICs changes. */
struct cpu_plan cpu_plan[MAX_CPUS];

/* Changes with the plan's NICs: what flows remember of them is then out of date. */
u32 plan_generation = 1;

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct flow);
} flows SEC(".maps");

/* ifindex → index of the NIC in the plan. A device that is not in it is no NIC. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4 * MAX_NICS);
	__type(key, u32);
	__type(value, u32);
} nic_of_ifindex SEC(".maps");

/* One send or receive, after the flow has been brought up to date. */
struct traffic {
	u64 bytes;
	u64 now;
	s32 softirq_cpu; /* that last processed packets of this flow, or -1 */
	u32 nic;	 /* of the plan, or NIC_UNKNOWN */
	u8 direction;
	u8 class_before;
	u8 class;
	bool turned; /* the first event after a change of direction */
};

static __always_inline bool is_internet_socket(const struct sock *sk)
{
	u16 family = sk->__sk_common.skc_family;

	return family == AF_INET || family == AF_INET6;
}

static __always_inline void flow_find_nic(struct flow *f, u32 ifindex)
{
	u32 *nic, generation = plan_generation;

	if (f->ifindex == ifindex && f->plan_generation == generation)
		return;
	nic = bpf_map_lookup_elem(&nic_of_ifindex, &ifindex);
	f->ifindex = ifindex;
	f->plan_generation = generation;
	f->nic = nic ? *nic : NIC_UNKNOWN;
}

/* Bring @sk's flow up to date with an event, classed by @classes; false if the event is not
 * traffic. */
static __always_inline bool account_traffic(struct traffic *t, struct sock *sk, int ret,
					    u8 direction, const struct class_settings *classes)
{
	struct flow *f;
	s32 ifindex;

	if (ret <= 0 || !is_internet_socket(sk))
		return false;
	f = bpf_sk_storage_get(&flows, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!f)
		return false;

	ifindex = sk->sk_rx_dst_ifindex;
	if (!f->last_ns)
		f->nic = NIC_UNKNOWN;
	if (ifindex > 0)
		flow_find_nic(f, ifindex);

	t->bytes = ret;
	t->now = bpf_ktime_get_ns();
	t->direction = direction;
	t->class_before = f->class;
	t->turned = flow_account(f, classes, direction, t->bytes, t->now);
	t->class = f->class;
	t->nic = f->nic;
	t->softirq_cpu = sk->__sk_common.skc_incoming_cpu;
	return true;
}

#endif /* __STEER_TRAFFIC_BPF_H */
