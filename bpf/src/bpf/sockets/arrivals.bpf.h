/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Arrivals for long flows: the size of the packets that TCP is handed after GRO, and how long
 * their payload waits from NAPI until it is copied to user space (figures 8c and 3f of the
 * host-network-stack paper).
 *
 *   softirq   stamps a packet; TCP takes bytes 60000 to 69000: mark 1 (byte 65536) arrived
 *   a read    copies 8000 bytes from 64000 on to user space: the wait of mark 1 ends
 *
 * One byte in 64 KiB of a flow's sequence numbers is a mark. So the wait is sampled evenly over
 * the payload, however long the queue is. All other bytes cost one comparison of two numbers.
 *
 * The kernel makes the stamp as soon as NAPI and GRO are done with a packet, as long as some
 * socket on the host asks for stamps; user space does. Payload that is not copied (MSG_TRUNC,
 * splice, zero-copy reading, readers inside the kernel) has no wait.
 */
#ifndef __STEER_ARRIVALS_BPF_H
#define __STEER_ARRIVALS_BPF_H

#include "ground/kernel.bpf.h"
#include <bpf/bpf_core_read.h>
#include "pure/buckets.h"

/* log2 of the bytes from one mark to the next; the range of marks' numbers */
#define MARK_SHIFT   16
#define MARK_NUMBERS (~0U >> MARK_SHIFT)

/* Marks that can wait at once, a power of two: 8 MiB, more than the largest default window. */
#define MAX_MARKS 128

/* Marks that one packet or read is searched for: 1 MiB; larger packets are rare. */
#define MARKS_AT_ONCE 16

/* By how much CLOCK_TAI is ahead of CLOCK_REALTIME: whole seconds that rarely change. */
const volatile u64 tai_ahead_ns;

struct mark {
	u64 arrived_ns; /* 0: not arrived, or already copied */
	u32 number;	/* its sequence number >> MARK_SHIFT */
};

/* The marks of one long flow. A mark's number determines its place. */
struct marks {
	struct mark marks[MAX_MARKS];
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct marks);
} arrivals SEC(".maps");

/* The part of socket_lock_t that all kernels have; newer ones keep @owned in an unnamed part. */
struct socket_lock___any {
	int owned;
} __attribute__((preserve_access_index));

struct sock___any {
	struct socket_lock___any sk_lock;
} __attribute__((preserve_access_index));

/* Is a thread inside a call on @sk? */
static __always_inline bool is_held(const struct sock *sk)
{
	return ((const struct sock___any *)sk)->sk_lock.owned;
}

/* How many marks are in the bytes from @start up to @end; the number of the first one. */
static __always_inline u32 marks_in(u32 start, u32 end, u32 *first)
{
	u32 before = (start - 1) >> MARK_SHIFT, last = (end - 1) >> MARK_SHIFT;

	*first = before + 1;
	return (last - before) & MARK_NUMBERS;
}

/* The place of mark @number, which may count on without end. */
static __always_inline struct mark *mark_of(struct marks *marks, u32 number)
{
	return &marks->marks[number % MAX_MARKS];
}

/* When @skb arrived, by the clock that shows @now. */
static __always_inline u64 arrival_of(const struct sk_buff *skb, u64 now)
{
	u64 stamp = skb->tstamp, real, age;

	/* since 6.1. Stamps are of CLOCK_REALTIME, which BPF can only read by way of TAI. */
	if (!stamp || !bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_ktime_get_tai_ns))
		return now;
	real = bpf_ktime_get_tai_ns() - tai_ahead_ns;
	age = real > stamp ? real - stamp : 0;
	return now > age ? now - age : now;
}

/*
 * TCP takes @skb of @sk, a long flow: in softirq, or from the backlog, where softirq leaves packets
 * while a thread is inside a call on the socket. Packets are merged in the backlog, so their sizes
 * do not count. Either way, no other CPU reads from the socket meanwhile.
 */
static __always_inline void observe_arrival(struct observed_cpu *c, struct sock *sk,
					    const struct sk_buff *skb)
{
	const struct tcp_skb_cb *segment = (const struct tcp_skb_cb *)skb->cb;
	u32 start = segment->seq, end = segment->end_seq, first, i, marks;
	struct marks *waiting;
	struct mark *mark;
	u64 arrived;

	if (start == end) /* an acknowledgement */
		return;
	if (!is_held(sk)) {
		c->skbs[bucket_of(end - start, NR_SIZE_BUCKETS)]++;
		c->skb_bytes += end - start;
	}
	marks = marks_in(start, end, &first);
	if (!marks)
		return;
	waiting = bpf_sk_storage_get(&arrivals, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!waiting)
		return;
	arrived = arrival_of(skb, bpf_ktime_get_ns());
	for (i = 0; i < MARKS_AT_ONCE && i < marks; i++) {
		mark = mark_of(waiting, first + i);
		mark->arrived_ns = arrived;
		mark->number = (first + i) & MARK_NUMBERS;
	}
}

/* @bytes of @skb are about to be copied to user space. */
static __always_inline void observe_copied(struct observed_cpu *c, const struct sk_buff *skb,
					   u32 bytes)
{
	const struct tcp_skb_cb *queued = (const struct tcp_skb_cb *)skb->cb;
	struct sock *sk = skb->sk;
	struct marks *waiting;
	struct mark *mark;
	u32 from, first, marks, i;
	u64 now, arrived;

	/* for other protocols these numbers mean nothing, but their sockets have no marks */
	if (!sk || !marks_in(queued->seq, queued->end_seq, &first))
		return;
	waiting = bpf_sk_storage_get(&arrivals, sk, 0, 0);
	if (!waiting)
		return;
	from = BPF_CORE_READ((struct tcp_sock *)sk, copied_seq);
	marks = marks_in(from, from + bytes, &first);
	if (!marks)
		return;
	now = bpf_ktime_get_ns();
	for (i = 0; i < MARKS_AT_ONCE && i < marks; i++) {
		mark = mark_of(waiting, first + i);
		arrived = mark->arrived_ns;
		if (!arrived || mark->number != ((first + i) & MARK_NUMBERS))
			continue;
		mark->arrived_ns = 0;
		c->waits[bucket_of(now > arrived ? now - arrived : 0, NR_WAIT_BUCKETS)]++;
	}
}

#endif /* __STEER_ARRIVALS_BPF_H */
