/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From which NIC a socket's packets come. Three sources, the surest first:
 *
 *   NAPI context    It received the last packet (sk_napi_id). Its number is the same in every
 *                   network namespace. A veth puts a CPU number in its place (napi_id and
 *                   sender_cpu of struct sk_buff share memory); CPU numbers are smaller than
 *                   any context's number.
 *   interface       The last packet came in by it (sk_rx_dst_ifindex). The number belongs to
 *                   the socket's own namespace, so it is used in scx_steer's namespace only,
 *                   where user space has followed bonds, VLANs and bridges down to a NIC.
 *   peer's address  Used where the others do not help, as behind a container's veth: the NIC
 *                   by which the host would send to the peer. An address of the host or of a
 *                   container on it has no NIC.
 */
#ifndef __STEER_ORIGIN_BPF_H
#define __STEER_ORIGIN_BPF_H

#include "ground/kernel.bpf.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include "pure/flow.h"

/* include/linux/socket.h; macros, so not in BTF */
#define AF_INET	 2
#define AF_INET6 10

/* include/net/net_namespace.h: the loopback device of every namespace */
#define LOOPBACK_IFINDEX 1

/* The network namespace that user space described (its inode number), 0 for none. */
const volatile u32 own_namespace;

/* The smallest number of a NAPI context; ~0 if unknown: then no number counts as one. */
const volatile u32 smallest_napi = ~0U;

/* Changes with the tables below: the NICs that flows remember are then out of date. */
u32 plan_generation = 1;

/*
 * From names to indices of NICs in the plan. A name that is in no table belongs to no NIC, or to
 * NICs of several nodes.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_NAPIS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32);
	__type(value, u32);
} nic_of_napi SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_INTERFACES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32);
	__type(value, u32);
} nic_of_ifindex SEC(".maps");

/* The longest prefix decides. NIC_UNKNOWN: the host does not send there by one NIC. */
struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, MAX_PEER_PREFIXES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct peer_prefix);
	__type(value, u32);
} nic_of_peer SEC(".maps");

static __always_inline u32 nic_by_peer(const struct sock *sk)
{
	struct peer_prefix peer = {.len = 128};
	u32 *nic;

	if (sk->__sk_common.skc_family == AF_INET) {
		peer.address[2] = bpf_htonl(0xffff);
		peer.address[3] = sk->__sk_common.skc_daddr;
	} else {
		peer.address[0] = sk->__sk_common.skc_v6_daddr.in6_u.u6_addr32[0];
		peer.address[1] = sk->__sk_common.skc_v6_daddr.in6_u.u6_addr32[1];
		peer.address[2] = sk->__sk_common.skc_v6_daddr.in6_u.u6_addr32[2];
		peer.address[3] = sk->__sk_common.skc_v6_daddr.in6_u.u6_addr32[3];
	}
	nic = bpf_map_lookup_elem(&nic_of_peer, &peer);
	return nic ? *nic : NIC_UNKNOWN;
}

static __always_inline u32 find_nic(const struct sock *sk, u32 napi, u32 ifindex)
{
	bool ours = sk->__sk_common.skc_net.net->ns.inum == own_namespace;
	u32 *nic;

	if (napi) {
		nic = bpf_map_lookup_elem(&nic_of_napi, &napi);
		if (nic)
			return *nic;
	}
	if (ours && ifindex) {
		nic = bpf_map_lookup_elem(&nic_of_ifindex, &ifindex);
		return nic ? *nic : NIC_UNKNOWN;
	}
	/* a device of another namespace received it: perhaps a NIC that a container was given */
	if (napi || ifindex == LOOPBACK_IFINDEX)
		return NIC_UNKNOWN;
	return nic_by_peer(sk);
}

/* Bring @f's NIC up to date. Does no lookup while packets come in the same way. */
static __always_inline void flow_find_nic(struct flow *f, const struct sock *sk)
{
	u32 generation = plan_generation, napi = 0, ifindex;
	s32 last = sk->sk_rx_dst_ifindex;

	ifindex = last > 0 ? last : 0;
	/* absent without CONFIG_NET_RX_BUSY_POLL */
	if (bpf_core_field_exists(sk->sk_napi_id) && sk->sk_napi_id >= smallest_napi)
		napi = sk->sk_napi_id;
	if (f->plan_generation == generation && f->napi == napi && f->ifindex == ifindex)
		return;
	f->nic = find_nic(sk, napi, ifindex);
	f->napi = napi;
	f->ifindex = ifindex;
	f->plan_generation = generation;
}

#endif /* __STEER_ORIGIN_BPF_H */
