/* SPDX-License-Identifier: GPL-2.0-only */
/* The telemetry as an object of its own, for tests; see telemetry.rs. */
#include "ground/kernel.bpf.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include "sockets/telemetry.bpf.h"

static u64 clock_now(void)
{
	return bpf_ktime_get_ns();
}

char _license[] SEC("license") = "GPL";

/* Does nothing: shows what counting the time of a program costs (Telemetry::add_nothing). */
SEC("tp_btf/sock_recv_length")
int nothing(void *ctx)
{
	return 0;
}

/* What the socket in this map receives goes out by the socket in the other one, for relay(). */
struct {
	__uint(type, BPF_MAP_TYPE_SOCKMAP);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} relay_from SEC(".maps"), relay_to SEC(".maps");

/* Relays packets, which a worker of the kernel then sends (Telemetry::relay). */
SEC("sk_skb/stream_verdict")
int relay(struct __sk_buff *skb)
{
	return bpf_sk_redirect_map(skb, &relay_to, 0, 0);
}
