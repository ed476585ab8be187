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
