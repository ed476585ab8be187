/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The observer: measures placement under any scheduler, by tracing only.
 *
 *   socket events      → bytes by class; on a NIC-local, home or same-LLC CPU?
 *   sched_switch       → CPU time by class, switches, windows that long and short flows share
 *   softirq, irq       → time that is not the interrupted thread's
 *   tcp_probe          → the class of the flow that the softirq works for
 *   ... and skb_copy_datagram_iovec → how long arrived payload waits (arrivals.bpf.h)
 *   sched_migrate_task → migrations by class
 *
 * Switches and segments are many. Where an estimate of the CPU time will do, `sample` stands in for
 * all but the socket events and the softirqs.
 *
 * It shares the definitions of burst and class with the scheduler (flow.h, thread.h), but no map
 * and no decision. Inter-processor interrupts count as time of the thread that they interrupt.
 *
 * All counters are per CPU and written on that CPU only. A CPU that runs one thread for long does
 * not switch, so user space runs `settle` on each CPU before it reads the counters.
 */
#include "ground/kernel.bpf.h"
#include <bpf/bpf_tracing.h>
#include "ground/plan.bpf.h"
#include "pure/shared_time.h"
#include "pure/thread.h"
#include "sockets/arrivals.bpf.h"
#include "sockets/traffic.bpf.h"

char _license[] SEC("license") = "GPL";

#define PF_IDLE 0x00000002 /* include/linux/sched.h */

const volatile struct class_settings class_settings;

/* Only threads in this cgroup or below count (its id, its depth below the root); 0: all do. */
const volatile u64 observed_cgroup;
const volatile u32 observed_depth;

/* Time between two samples of a CPU. */
const volatile u64 sample_ns;

/*
 * The settings, as the pure functions take them. Without `volatile`, the compiler would take the
 * constant's zeros for their values, so hide where the pointer comes from.
 */
static __always_inline const struct class_settings *classes(void)
{
	const struct class_settings *s = (const struct class_settings *)&class_settings;

	asm volatile("" : "+r"(s));
	return s;
}

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread_load);
} threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct observed_cpu);
} observed SEC(".maps");

static struct observed_cpu *this_cpu(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&observed, &zero);
}

/* What @p moved lately, with its class up to date; NULL for a thread without traffic. */
static struct thread_load *load_now(struct task_struct *p, u64 now)
{
	struct thread_load *t = bpf_task_storage_get(&threads, p, NULL, 0);

	if (t)
		thread_classify(t, classes(), now);
	return t;
}

/* The class that a thread's events count under. A mixed one counts under the costlier class. */
static u8 counted_as(const struct thread_load *t)
{
	return t ? thread_placed_as(t) : CLASS_NONE;
}

/* Credit @p with what softirq and interrupts left of the time since the last event on this CPU. */
static void settle_thread(struct observed_cpu *c, struct task_struct *p, u64 now)
{
	struct thread_load *t;
	u64 elapsed, stolen, ran;
	u8 class;

	if (c->slice_start && now > c->slice_start && !(p->flags & PF_IDLE)) {
		elapsed = now - c->slice_start;
		stolen = c->softirq_ns + c->irq_ns - c->slice_stolen;
		ran = elapsed > stolen ? elapsed - stolen : 0;
		t = load_now(p, now);
		class = t ? t->class : CLASS_NONE;
		c->run_ns[counted_as(t) & 3] += ran;
		shared_time_add(&c->thread_windows, class, ran, now);
		shared_time_add(&c->all_windows, class, ran, now);
	}
	c->slice_start = now;
	c->slice_stolen = c->softirq_ns + c->irq_ns;
}

/* Credit the softirq in progress, if there is one, with the time since the last credit. */
static void settle_softirq(struct observed_cpu *c, u64 now)
{
	u64 elapsed, stolen, ran;

	if (!c->softirq_start || now <= c->softirq_start)
		return;
	elapsed = now - c->softirq_start;
	stolen = c->irq_ns - c->softirq_irq;
	ran = elapsed > stolen ? elapsed - stolen : 0;
	c->softirq_ns += ran;
	c->softirq_start = now;
	c->softirq_irq = c->irq_ns;
	if (c->softirq_class >= NR_CLASSES)
		return;
	c->softirq_class_ns[c->softirq_class & (NR_CLASSES - 1)] += ran;
	/*
	 * Before a window closes, it needs the time of the thread that this softirq interrupts. If
	 * that is charging the thread just now, the thread's load may stay too large by a half.
	 */
	if (window_of(now) != c->all_windows.window)
		settle_thread(c, bpf_get_current_task_btf(), now);
	shared_time_add(&c->all_windows, c->softirq_class, ran, now);
}

/* Credit the time since the last event on this CPU to @p and to the softirq in progress. */
static void settle_cpu(struct observed_cpu *c, struct task_struct *p, u64 now)
{
	settle_softirq(c, now);
	settle_thread(c, p, now);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(observe_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct observed_cpu *c = this_cpu();
	u64 now = bpf_ktime_get_ns();

	if (!c)
		return 0;
	settle_cpu(c, prev, now);
	if (!(next->flags & PF_IDLE))
		c->switches[counted_as(load_now(next, now)) & 3]++;
	return 0;
}

SEC("tp_btf/sched_migrate_task")
int BPF_PROG(observe_migration, struct task_struct *p, int dest_cpu)
{
	struct observed_cpu *c = this_cpu();

	if (c)
		c->migrations[counted_as(load_now(p, bpf_ktime_get_ns())) & 3]++;
	return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(observe_softirq_entry)
{
	struct observed_cpu *c = this_cpu();

	if (c) {
		c->softirq_class = NR_CLASSES;
		c->softirq_irq = c->irq_ns;
		c->softirq_start = bpf_ktime_get_ns();
	}
	return 0;
}

/* The class of a flow, as far as it is known. */
static u8 class_of(struct sock *sk)
{
	struct flow *f = bpf_sk_storage_get(&flows, sk, 0, 0);

	return f ? f->class : CLASS_NONE;
}

/*
 * The softirq in progress, if there is one, works for a flow of @class. Its time up to the first
 * segment counts for that segment: the driver worked for it. Later time counts for the segment
 * before, since it is that segment's protocol work.
 */
static void serve(struct observed_cpu *c, u8 class)
{
	if (!c->softirq_start) /* a thread empties the backlog */
		return;
	if (c->softirq_class == NR_CLASSES)
		c->softirq_class = class;
	settle_softirq(c, bpf_ktime_get_ns());
	c->softirq_class = class;
}

/* TCP takes a segment (net/ipv4/tcp_input.c). */
SEC("tp_btf/tcp_probe")
int BPF_PROG(observe_segment, struct sock *sk, struct sk_buff *skb)
{
	struct observed_cpu *c = this_cpu();
	u8 class = class_of(sk);

	if (!c)
		return 0;
	if (class == CLASS_LONG)
		observe_arrival(c, sk, skb);
	serve(c, class);
	return 0;
}

/*
 * A thread is inside a call on the socket, and softirq leaves the segment to it
 * (net/ipv4/tcp_ipv4.c).
 */
SEC("?fentry/tcp_add_backlog")
int BPF_PROG(observe_backlog, struct sock *sk)
{
	struct observed_cpu *c = this_cpu();

	if (c)
		serve(c, class_of(sk));
	return 0;
}

SEC("tp_btf/skb_copy_datagram_iovec")
int BPF_PROG(observe_copy, const struct sk_buff *skb, int len)
{
	struct observed_cpu *c = this_cpu();

	if (c && len > 0)
		observe_copied(c, skb, len);
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(observe_softirq_exit)
{
	struct observed_cpu *c = this_cpu();

	if (c) {
		settle_softirq(c, bpf_ktime_get_ns());
		c->softirq_start = 0;
	}
	return 0;
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(observe_irq_entry)
{
	struct observed_cpu *c = this_cpu();

	if (c)
		c->irq_start = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(observe_irq_exit)
{
	struct observed_cpu *c = this_cpu();

	if (c && c->irq_start) {
		c->irq_ns += bpf_ktime_get_ns() - c->irq_start;
		c->irq_start = 0;
	}
	return 0;
}

/* Note how near to its NIC and its softirq the bytes of a long flow were copied. */
static void observe_placement(struct observed_cpu *c, const struct traffic *t)
{
	u32 cpu = bpf_get_smp_processor_id(), home = t->softirq_cpu;

	if (t->nic >= MAX_NICS || cpu >= MAX_CPUS)
		return;
	c->placed_bytes += t->bytes;
	if (cpu_plan[cpu].nics_local & (1ULL << t->nic))
		c->local_bytes += t->bytes;
	if (cpu == home)
		c->home_bytes += t->bytes;
	if (home < MAX_CPUS && cpu_plan[cpu].llc == cpu_plan[home].llc)
		c->llc_bytes += t->bytes;
}

static int observe_traffic(struct sock *sk, int ret, u8 direction)
{
	struct observed_cpu *c = this_cpu();
	struct thread_load *thread;
	struct traffic t;
	struct flow *f;

	if (observed_cgroup &&
	    bpf_get_current_ancestor_cgroup_id(observed_depth) != observed_cgroup)
		return 0;
	f = flow_of(sk, ret);
	if (!c || !f)
		return 0;
	account_traffic(&t, f, where_packets_arrive(sk), ret, direction, bpf_ktime_get_ns(),
			classes());
	if (direction == DIR_RECEIVE) {
		c->received_bytes[t.class & 3] += t.bytes;
		if (t.class == CLASS_LONG)
			observe_placement(c, &t);
	} else {
		c->sent_bytes[t.class & 3] += t.bytes;
		if (t.class == CLASS_SHORT && t.turned)
			c->messages++;
	}
	thread = bpf_task_storage_get(&threads, bpf_get_current_task_btf(), NULL,
				      BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (thread)
		thread_charge(thread, classes(), t.class, t.bytes, t.turned, t.now);
	return 0;
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(observe_receive, struct sock *sk, int ret, int flags)
{
	return flags & (MSG_PEEK | MSG_ERRQUEUE) ? 0 : observe_traffic(sk, ret, DIR_RECEIVE);
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(observe_send, struct sock *sk, int ret, int flags)
{
	return observe_traffic(sk, ret, DIR_SEND);
}

/* User space runs this on each CPU before it reads that CPU's counters. */
SEC("raw_tp")
int settle(void *ctx)
{
	struct observed_cpu *c = this_cpu();

	if (c)
		settle_cpu(c, bpf_get_current_task_btf(), bpf_ktime_get_ns());
	return 0;
}

/*
 * A timer of each CPU (a perf event) runs this. The thread's class is worked out on a copy: the
 * timer may interrupt a socket event that is changing the original.
 */
SEC("?perf_event")
int sample(struct bpf_perf_event_data *ctx)
{
	struct task_struct *p = bpf_get_current_task_btf();
	struct observed_cpu *c = this_cpu();
	struct thread_load *known, t;

	if (!c || c->softirq_start || p->flags & PF_IDLE)
		return 0;
	known = bpf_task_storage_get(&threads, p, NULL, 0);
	if (known) {
		t = *known;
		thread_classify(&t, classes(), bpf_ktime_get_ns());
	}
	c->run_ns[counted_as(known ? &t : NULL) & 3] += sample_ns;
	return 0;
}
