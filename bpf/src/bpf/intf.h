/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the kernel side and the Rust side both know: limits, classes, settings, the machine as BPF
 * sees it, counters. bindgen generates Rust's copy from this file (bpf/build.rs), so the two
 * cannot differ. steer-policy has bounds of its own; scheduler/tests/bounds.rs compares them.
 */
#ifndef __STEER_INTF_H
#define __STEER_INTF_H

#ifndef __VMLINUX_H__
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char s8;
typedef int s32;
typedef long long s64;
typedef _Bool bool;
#endif

/*
 * Upper bounds of the tables below. A larger machine is refused before load. MAX_CPUS, MAX_LLCS and
 * MAX_SHARDS may be raised to another power of two. NICs and pools are bits of one word: 64 at
 * most.
 */
enum limits {
	MAX_CPUS = 1024, /* CPU numbers, unused ones included; = NR_CPUS of scx/common.bpf.h */
	MAX_NICS = 64,	 /* bits of cpu_plan.nics_local */
	MAX_LLCS = 256,
	MAX_SHARDS = 256,
	MAX_POLICIES = 1024,	  /* different policies in force at once */
	MAX_CGROUPS = 65536,	  /* cgroups whose policy is not the default */
	MAX_GROUPS = 4096,	  /* cgroups with the cpu controller at once; the rest share */
	MAX_PROCESSES = 8,	  /* process names with a policy of their own, per policy */
	MAX_POOLS = 64,		  /* different sets of CPUs that policies name; bits of cpu_pools */
	MAX_NAPIS = 16384,	  /* NAPI contexts of NICs: about one per queue */
	MAX_INTERFACES = 4096,	  /* NICs, and bonds, VLANs, bridges ... above them */
	MAX_PEER_PREFIXES = 8192, /* prefixes of the host's routes */
};

#define IS_POWER_OF_TWO(n) (!((n) & ((n) - 1)))
_Static_assert(IS_POWER_OF_TWO(MAX_CPUS) && IS_POWER_OF_TWO(MAX_LLCS), "masks of indices");
_Static_assert(IS_POWER_OF_TWO(MAX_SHARDS) && MAX_SHARDS >= 64, "masks of indices");
_Static_assert(IS_POWER_OF_TWO(MAX_NICS) && MAX_NICS <= 64, "cpu_plan.nics_local is a u64");
_Static_assert(IS_POWER_OF_TWO(MAX_GROUPS) && MAX_GROUPS >= 64, "masks of indices");
_Static_assert(MAX_POOLS <= 64, "cpu_pools.pools is a u64");

/* The class of a flow or a thread. Only threads can be mixed. */
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

/* How traffic is classified. See policy/src/settings.rs for values, units and sources. */
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

/* How classes are placed. See policy/src/settings.rs for values, units and sources. */
struct place_settings {
	u64 slice_ns;
	u64 claim_ns;
	u64 lend_after_ns;
};

/* A process name, or the beginning of one, and the policy of the processes that match. */
struct process_policy {
	char name[15]; /* TASK_COMM_LEN less its zero */
	u8 len;	       /* bytes of the name to compare; for a whole name they include the zero */
	u32 policy;
};

/* Whose traffic makes the class. */
enum granularity { PER_THREAD, PER_PROCESS, PER_CGROUP };

/* The policy of the threads of some cgroups. Written by user space, read by BPF. */
struct thread_policy {
	struct class_settings classes;
	u8 declared;	/* enum traffic_class of all the threads; NR_CLASSES: traffic decides */
	u8 granularity; /* enum granularity */
	u8 pool;	/* 1 + index of the threads' pool; 0: the class decides */
	bool near_nic;	/* the pool is the NIC-local CPUs: in it, long-flow threads go by class */
	bool owns_pool; /* the pool is kept for the threads: they preempt threads that borrow it */
	bool fair_only; /* the threads are neither moved to their packets nor kept apart */
	bool urgent;	/* wake-ups preempt like those of short-flow threads */
	u8 nr_processes;
	struct process_policy processes[MAX_PROCESSES]; /* the first match counts */
};

/* A cgroup came or went. From BPF to user space. */
struct cgroup_event {
	u64 id;
	u8 gone;
	char path[1024]; /* below the mount, with a leading slash */
};

/* Addresses of peers that share their first bits: a key of a longest-prefix table. */
struct peer_prefix {
	u32 len;	/* bits, 0 to 128 */
	u32 address[4]; /* as on the wire; IPv4 in its IPv6 form */
};

/* Where one CPU of the plan is. Written by user space, read by BPF. */
struct cpu_plan {
	u64 nics_local; /* bit n: this CPU is NIC-local to NIC n of the plan */
	u32 llc;	/* index of its last-level cache */
	u32 shard;	/* index of its shard: the CPUs that share a queue (shards.bpf.h) */
	u32 core;	/* lowest CPU number of its core */
	u32 node;	/* number of its NUMA node, ~0 if unknown */
	bool online;	/* if not, nothing is known of the CPU and the rest is zero */
};

/* The pools of one CPU. */
struct cpu_pools {
	u64 pools;	/* bit n: the CPU is in pool n */
	bool exclusive; /* no other thread may use the CPU */
};

/* One counter per decision, so that `--stats` shows what the scheduler does. */
enum steer_counter {
	CNT_LONG_HOME,	       /* a long-flow thread woke: sent to its NIC-local home CPU */
	CNT_LONG_LOCAL,	       /* ... sent to another NIC-local CPU */
	CNT_LONG_REMOTE,       /* ... sent to its NIC-remote home: the NIC's steering is fixed, or
				  the thread may use no NIC-local CPU */
	CNT_LONG_UNPLACED,     /* ... left to the fair rules: its NIC or home is unknown */
	CNT_LONG_SPILL,	       /* a long-flow thread left a saturated core */
	CNT_LONG_SEARCH,       /* all CPUs were looked at for a place for a long-flow thread */
	CNT_SHORT_IDLE,	       /* a short-flow thread woke on an idle unclaimed CPU */
	CNT_SHORT_QUEUED,      /* ... had to queue */
	CNT_SHORT_LENT,	       /* ... got a claimed CPU after lend_wait(); or woke on an idle
				  claimed CPU, where all CPUs that it may use are claimed */
	CNT_NONE_IDLE,	       /* another thread woke on an idle unclaimed CPU */
	CNT_NONE_LENT,	       /* ... woke on an idle CPU of the long-flow threads */
	CNT_NONE_QUEUED,       /* ... had to queue */
	CNT_POOL,	       /* a thread woke in the pool that its policy names */
	CNT_PREEMPT,	       /* a wake-up preempted a thread with less right to the CPU */
	CNT_STEAL,	       /* a CPU took work queued in another shard */
	CNT_RESCUE,	       /* a thread that waited over lend_after_ns got an idle CPU */
	CNT_KTHREAD,	       /* a per-CPU kthread ran ahead of everything */
	CNT_HINT,	       /* a CPU was told to run faster or slower */
	CNT_CLAIM,	       /* a core became a long-flow core */
	CNT_RESERVE,	       /* a core was reserved for short-flow threads */
	CNT_RELEASE,	       /* a core is no longer reserved: they need fewer, or the packets of
				  its NIC do not follow */
	CNT_STEERING_FOLLOWED, /* a moved thread's packets came along */
	CNT_STEERING_STAYED,   /* ... kept arriving at its old home */
	CNT_FLOW_LONG,	       /* a flow's class became long */
	CNT_FLOW_SHORT,	       /* a flow's class became short */
	NR_COUNTERS,
};

/* How far the observer's histograms reach (buckets.h). */
enum buckets {
	NR_SIZE_BUCKETS = 80,  /* to 2 MiB; the largest packets that GRO makes have 512 KiB */
	NR_WAIT_BUCKETS = 148, /* to 275 s, in ns */
};

/* How much of a CPU's time for long flows is in windows that short flows share (shared_time.h). */
struct shared_time {
	u64 long_ns;  /* time for long flows in finished windows; part of it: */
	u64 mixed_ns; /* ... in windows that short flows shared */

	/* the open window, not for readers */
	u64 window; /* its number */
	u64 window_long_ns;
	u64 window_short_ns;
};

/*
 * What the observer counts on one CPU: all times in ns, all cumulative since attach. `run_ns`
 * excludes softirq and irq time, which have counters of their own.
 */
struct observed_cpu {
	u64 run_ns[NR_CLASSES];
	u64 softirq_ns;
	u64 softirq_class_ns[NR_CLASSES]; /* softirq_ns by class of the flow that was served */
	u64 irq_ns;
	u64 switches[NR_CLASSES];
	u64 migrations[NR_CLASSES];
	u64 received_bytes[NR_CLASSES]; /* by class of the flow */
	u64 sent_bytes[NR_CLASSES];
	u64 messages;	  /* requests served: short flows that turned from receive to send */
	u64 placed_bytes; /* long-flow bytes received through a known NIC; part of them: */
	u64 local_bytes;  /* ... copied on a NIC-local CPU */
	u64 home_bytes;	  /* ... copied on the CPU whose softirq processed them */
	u64 llc_bytes;	  /* ... copied under that CPU's last-level cache */
	struct shared_time thread_windows; /* time of threads */
	struct shared_time all_windows;	   /* time of threads and softirq */
	u64 skb_bytes;		    /* payload of packets that TCP was handed for long flows */
	u64 skbs[NR_SIZE_BUCKETS];  /* these packets, by bytes of payload */
	u64 waits[NR_WAIT_BUCKETS]; /* samples of the copied payload, by ns since arrival */

	/* the CPU's state between events, not for readers */
	u64 slice_start;
	u64 slice_stolen;
	u64 softirq_start;
	u64 softirq_irq;
	u64 softirq_class; /* of the flow whose packet was last handled; NR_CLASSES: none yet */
	u64 irq_start;
};

#endif /* __STEER_INTF_H */
