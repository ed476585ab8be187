/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the kernel side and the Rust side both must know: limits, classes,
 * settings, the machine as BPF sees it, counters. Rust's copy is generated from
 * this file by bindgen (bpf/build.rs), so the two cannot drift apart.
 */
#ifndef __STEER_INTF_H
#define __STEER_INTF_H

#ifndef __VMLINUX_H__
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;
typedef _Bool bool;
#endif

/*
 * Upper bounds of the tables below; a machine beyond them is refused before load. CPUs
 * and caches may be raised, as powers of two; NICs and pools are bits of a word.
 */
enum limits {
	MAX_CPUS = 1024, /* numbers, holes included; = NR_CPUS of scx/common.bpf.h */
	MAX_NICS = 64,	 /* bits of cpu_plan.nics_local */
	MAX_LLCS = 256,
	MAX_POLICIES = 1024,	  /* different policies in force at once */
	MAX_CGROUPS = 65536,	  /* cgroups with another than the default */
	MAX_PROCESSES = 8,	  /* process names with a policy of their own, per policy */
	MAX_POOLS = 64,		  /* different sets of CPUs that policies name; bits of cpu_pools */
	MAX_NAPIS = 16384,	  /* NAPI contexts of NICs: about one per queue */
	MAX_INTERFACES = 4096,	  /* NICs and the bonds, VLANs, bridges ... that stand on them */
	MAX_PEER_PREFIXES = 8192, /* prefixes of the host's routes */
};

#define IS_POWER_OF_TWO(n) (!((n) & ((n) - 1)))
_Static_assert(IS_POWER_OF_TWO(MAX_CPUS) && IS_POWER_OF_TWO(MAX_LLCS), "masks of indices");
_Static_assert(IS_POWER_OF_TWO(MAX_NICS) && MAX_NICS <= 64, "cpu_plan.nics_local is a u64");
_Static_assert(MAX_POOLS <= 64, "cpu_pools.pools is a u64");

/* A flow's or a thread's class. MIXED is for threads only. */
enum traffic_class {
	CLASS_NONE,
	CLASS_LONG,
	CLASS_SHORT,
	CLASS_MIXED,
	NR_CLASSES,
};

enum direction {
	DIR_NONE,
	DIR_RECEIVE,
	DIR_SEND,
};

/* How traffic is classified. Values, units and sources: policy/src/settings.rs. */
struct class_settings {
	u64 long_burst_bytes;
	u64 short_burst_bytes;
	u64 idle_gap_ns;
	u64 half_life_ns;
	u64 cost_ns_per_kib;
	u64 cost_ns_per_message;
	u64 floor_ns;
	u32 short_bursts_to_leave_long;
};

/* How classes are placed. Values, units and sources: policy/src/settings.rs. */
struct place_settings {
	u64 slice_ns;
	u64 claim_ns;
	u64 lend_after_ns;
};

/* A name that processes of a cgroup have, or begin with, and the policy they get. */
struct process_policy {
	char name[15]; /* TASK_COMM_LEN less its zero */
	u8 len; /* bytes of the name that count: up to its end, zero included, if it is whole */
	u32 policy;
};

/* Whose traffic makes the class. */
enum granularity { PER_THREAD, PER_PROCESS, PER_CGROUP };

/* What holds for the threads of some cgroups. Written by user space, read by BPF. */
struct thread_policy {
	struct class_settings classes;
	u8 declared; /* enum traffic_class that the threads are taken for, NR_CLASSES: by traffic */
	u8 granularity; /* enum granularity */
	u8 pool;	/* 1 + index of the pool the threads belong in, 0: by class */
	bool near_nic; /* the pool is that of NIC-local CPUs: long-flow threads go by class in it */
	bool owns_pool; /* kept for them: they preempt whoever borrows from it */
	bool fair_only; /* not moved to their packets nor kept apart */
	bool urgent;	/* wake-ups preempt as those of short-flow threads do */
	u8 nr_processes;
	struct process_policy processes[MAX_PROCESSES]; /* the first that matches counts */
};

/* A cgroup that came or went, from BPF to user space. */
struct cgroup_event {
	u64 id;
	u8 gone;
	char path[1024]; /* below the mount, with a leading slash */
};

/* Addresses of peers by their first bits, as a longest-prefix table has them. */
struct peer_prefix {
	u32 len;	/* bits, 0 to 128 */
	u32 address[4]; /* as on the wire; IPv4 in its IPv6 form */
};

/* One CPU of the plan: where it is. Written by user space, read by BPF. */
struct cpu_plan {
	u64 nics_local; /* bit n: this CPU is NIC-local to NIC n of the plan */
	u32 llc;	/* index of its last-level cache */
	u32 core;	/* lowest CPU number of its core */
	u32 node;	/* number of its NUMA node, ~0 if unknown */
	bool online;	/* else nothing is known of it: the rest is zero */
};

/* One CPU's pools. Written by user space, read by BPF. */
struct cpu_pools {
	u64 pools;	/* bit n: in pool n */
	bool exclusive; /* to them */
};

/* One counter per decision, so that `--stats` shows what the scheduler does. */
enum steer_counter {
	CNT_LONG_HOME,	       /* long-flow thread woke: sent to its NIC-local home CPU */
	CNT_LONG_LOCAL,	       /* ... to another NIC-local CPU */
	CNT_LONG_REMOTE,       /* ... to its NIC-remote home: the NIC's steering is fixed, or it may
				  use no NIC-local CPU */
	CNT_LONG_UNPLACED,     /* ... left to the fair rules: its NIC or home is unknown */
	CNT_LONG_SPILL,	       /* long-flow thread left a saturated core */
	CNT_SHORT_IDLE,	       /* short-flow thread woke on an idle unclaimed CPU */
	CNT_SHORT_QUEUED,      /* ... had to queue */
	CNT_SHORT_LENT,	       /* ... and got a claimed CPU after lend_after_ns; or woke on an
				  idle one, where all that it may use are claimed */
	CNT_NONE_IDLE,	       /* other thread woke on an idle unclaimed CPU */
	CNT_NONE_LENT,	       /* ... on an idle CPU of the long-flow threads */
	CNT_NONE_QUEUED,       /* ... had to queue */
	CNT_POOL,	       /* a thread woke in the pool that its policy names */
	CNT_PREEMPT,	       /* a wake-up preempted a thread with less claim to the CPU */
	CNT_STEAL,	       /* a CPU took work queued at another cache */
	CNT_RESCUE,	       /* a thread that waited over lend_after_ns got an idle CPU */
	CNT_KTHREAD,	       /* a per-CPU kthread ran ahead of everything */
	CNT_CLAIM,	       /* a core became a long-flow core */
	CNT_RESERVE,	       /* a core was reserved for short-flow threads */
	CNT_RELEASE,	       /* ... is no longer: they need fewer, or its packets do not follow */
	CNT_STEERING_FOLLOWED, /* a moved thread's packets came along */
	CNT_STEERING_STAYED,   /* ... kept arriving where they did */
	CNT_FLOW_LONG,	       /* a flow's class became long */
	CNT_FLOW_SHORT,	       /* a flow's class became short */
	NR_COUNTERS,
};

/* How far the observer's histograms reach (buckets.h). */
enum buckets {
	NR_SIZE_BUCKETS = 80,  /* to 2 MiB; the largest packets that GRO makes have 512 KiB */
	NR_WAIT_BUCKETS = 148, /* to 275 s, in ns */
};

/*
 * What the observer counts on one CPU. All times in ns, all cumulative since attach.
 * `run_ns` excludes softirq and irq time, which are counted by themselves.
 */
struct observed_cpu {
	u64 run_ns[NR_CLASSES];
	u64 softirq_ns;
	u64 softirq_class_ns[NR_CLASSES]; /* of softirq_ns: by class of the flow it served */
	u64 irq_ns;
	u64 switches[NR_CLASSES];
	u64 migrations[NR_CLASSES];
	u64 received_bytes[NR_CLASSES]; /* by class of the flow */
	u64 sent_bytes[NR_CLASSES];
	u64 messages;	     /* requests served: short flows that turned from receive to send */
	u64 placed_bytes;    /* long-flow bytes received through a known NIC, of which: */
	u64 local_bytes;     /* copied on a NIC-local CPU */
	u64 home_bytes;	     /* copied on the CPU whose softirq processed them */
	u64 llc_bytes;	     /* copied under that CPU's last-level cache */
	u64 long_window_ns;  /* long-flow CPU time in finished windows, of which: */
	u64 mixed_window_ns; /* in windows that short-flow threads shared */
	u64 skb_bytes;	     /* payload of packets that TCP was handed for long flows */
	u64 skbs[NR_SIZE_BUCKETS];  /* these packets, by bytes of payload */
	u64 waits[NR_WAIT_BUCKETS]; /* samples of what was copied, by ns since it came in */

	/* the CPU's state between events, of no interest to readers */
	u64 slice_start;
	u64 slice_stolen;
	u64 softirq_start;
	u64 softirq_irq;
	u64 softirq_class; /* of the flow whose packet it last handled, NR_CLASSES before one */
	u64 irq_start;
	u64 window;
	u64 window_long_ns;
	u64 window_short_ns;
};

#endif /* __STEER_INTF_H */
