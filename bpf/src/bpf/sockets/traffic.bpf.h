/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Socket traffic, for the scheduler and the observer: the storage of each flow, brought up to
 * date at every send and receive.
 *
 * The hooks are the tracepoints sock_send_length and sock_recv_length (net/socket.c): TCP and
 * UDP, IPv4 and IPv6, one hook each way, sendfile and MSG_ZEROCOPY included. They miss splice()
 * out of a socket and readers inside the kernel (tcp_read_sock): these never call sock_recvmsg().
 */
#ifndef __STEER_TRAFFIC_BPF_H
#define __STEER_TRAFFIC_BPF_H

#include "ground/kernel.bpf.h"
#include "pure/flow.h"
#include "sockets/origin.bpf.h"

/* include/linux/socket.h, include/linux/net.h; macros, so not in BTF */
#define MSG_PEEK     0x02
#define MSG_ERRQUEUE 0x2000
#define SOCK_DGRAM   2

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct flow);
} flows SEC(".maps");

/* One send or receive, after the flow has been brought up to date. */
struct traffic {
	u64 bytes;
	u64 burst_bytes; /* of the burst so far */
	u64 now;
	u64 served_since_ns; /* since when the flow's sends and receives are all on this CPU */
	s32 softirq_cpu;     /* the CPU that last processed packets of the flow, or -1 */
	s32 softirq_before;  /* ... at the event before */
	u32 nic;	     /* of the plan, or NIC_UNKNOWN */
	u8 class_before;
	u8 class;
	bool turned; /* the first event after a change of direction */
};

/* What is read of the kernel's struct of that name, which CONFIG_MPTCP brings. */
struct mptcp_sock___first {
	struct sock *first;
} __attribute__((preserve_access_index));

/*
 * The socket at which the packets of @sk arrive: an MPTCP socket has one per path, and the first
 * stands for all. Such a socket tells by itself neither CPU nor NIC.
 */
static __always_inline const struct sock *where_packets_arrive(const struct sock *sk)
{
	const struct mptcp_sock___first *paths = (const void *)sk;
	const struct sock *first;

	if (sk->sk_protocol != IPPROTO_MPTCP || !bpf_core_field_exists(paths->first))
		return sk;
	first = BPF_CORE_READ(paths, first);
	return first ? bpf_core_cast(first, struct sock) : sk;
}

static __always_inline bool is_internet_socket(const struct sock *sk)
{
	u16 family = sk->__sk_common.skc_family;

	return family == AF_INET || family == AF_INET6;
}

/* The flow of which an event told; NULL if that is no traffic. @ret: what the system call returned.
 */
static __always_inline struct flow *flow_of(struct sock *sk, int ret)
{
	if (ret <= 0 || !is_internet_socket(sk))
		return NULL;
	return bpf_sk_storage_get(&flows, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
}

/* Do this CPU and the packets, which arrive at @sk, meet where they met at @f's last event? */
static __always_inline bool is_where_it_was(const struct flow *f, const struct sock *sk)
{
	return f->served_on == bpf_get_smp_processor_id() + 1 &&
	       f->arrived_on == (u16)(sk->__sk_common.skc_incoming_cpu + 1);
}

/*
 * Bring @f, the flow whose packets arrive at @sk, up to date with an event, by the bounds of
 * @classes.
 */
static __always_inline void account_traffic(struct traffic *t, struct flow *f,
					    const struct sock *sk, u64 bytes, u8 direction, u64 now,
					    const struct class_settings *classes)
{
	u32 here = bpf_get_smp_processor_id() + 1;

	if (f->direction == DIR_NONE)
		f->datagrams = sk->sk_type == SOCK_DGRAM;
	flow_find_nic(f, sk);
	t->bytes = bytes;
	t->now = now;
	t->class_before = f->class;
	t->turned = flow_account(f, classes, direction, bytes, now);
	t->burst_bytes = f->burst_bytes;
	t->class = f->class;
	t->nic = f->nic;
	if (f->served_on != here) {
		f->served_on = here;
		f->served_since_ns = now;
	}
	t->served_since_ns = f->served_since_ns;
	t->softirq_cpu = sk->__sk_common.skc_incoming_cpu;
	t->softirq_before = (s32)f->arrived_on - 1;
	f->arrived_on = t->softirq_cpu + 1;
}

#endif /* __STEER_TRAFFIC_BPF_H */
