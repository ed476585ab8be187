/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The priced machine: what the plugin's files share. One file, one job:
 *
 *   plugin.c    options, installation
 *   machine.c   the machine's prices, read
 *   clock.c     each vCPU's own time, turns, quanta, idle time
 *   prices.c    what instructions cost, as code is translated
 *   access.c    loads and stores: the filter in front of the model
 *   cache.c     private caches, L3s, the directory: where a line comes from
 *   tags.h      one cache's sets
 *   window.c    how much of a miss is hidden behind others (memory parallelism)
 *   memory.c    bandwidth of DRAM and links, and the wait when it is short
 *   dma.c       what devices read and write, DDIO
 *   command.c   commands from the guest, reports
 *   branch.c    copies of the running emulator
 *   profile.c   where in the code the time goes
 *
 * Times are picoseconds of guest time unless a name says otherwise.
 */
#ifndef PRICED_H
#define PRICED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <qemu-plugin.h>

enum { MAX_CPUS = 32, MAX_NODES = 8, MAX_DOMAINS = 16, LINE_SHIFT = 6 };

/* Where a line came from. The order is that of machine.c's latencies. */
enum source {
	FROM_L2,
	FROM_L3,
	FROM_L3_OTHER, /* another L3 of the same node */
	FROM_L3_REMOTE,
	FROM_CORE, /* a private cache under the same L3 */
	FROM_CORE_OTHER,
	FROM_CORE_REMOTE,
	FROM_DRAM,
	FROM_DRAM_REMOTE,
	UPGRADE, /* a store to a line that others share */
	UPGRADE_OTHER,
	UPGRADE_REMOTE,
	SOURCES
};
extern const char *const source_names[SOURCES];

enum { STALL_ALONE, STALL_HIDDEN, STALL_STREAM, STALL_STORE, STALL_KINDS };

/* Instructions that cost more than their share. */
enum event {
	EVENT_LOCK,
	EVENT_PAUSE,
	EVENT_SYSCALL,
	EVENT_INTERRUPT,
	EVENT_CR3,
	EVENT_INVLPG,
	EVENT_WRMSR,
	EVENTS
};

/* The machine's prices. */
struct machine {
	uint64_t instruction; /* without stalls */
	uint64_t event[EVENTS];
	uint64_t io_read, io_write, wake;
	uint64_t smt_percent; /* time an instruction takes while the sibling runs, of alone */
	uint64_t l1_kib, l1_ways, l2_kib, l2_ways, l3_kib, l3_ways, l3_cores, l3_victim, ddio_ways;
	uint64_t latency[SOURCES];
	uint64_t window_instructions, window_misses, stream_lines, store_lines;
	uint64_t dram_line, link_line; /* time a line occupies one node's DRAM, one link */
	uint64_t dram_queue, link_queue;
};

/* What the run makes of it. */
struct run {
	unsigned int cpus, nodes, cores_per_node, threads;
	uint64_t node_lines;
	uint64_t clients; /* CPUs that drive traffic: fast, without caches */
	uint64_t client_instruction, boot_instruction;
	uint64_t quantum;
	uint64_t tsc_mhz;
};

/* Counted by generated code; the layout is that of the scoreboard. */
struct slot {
	uint64_t c;	       /* reaches BIG at the end of the quantum; in instructions */
	uint64_t instructions; /* executed, ever */
};
#define BIG (1ull << 62)

struct cpu {
	struct slot *slot;
	unsigned int core, domain, node;
	bool client;
	bool spins;	/* has executed PAUSE, and missed no line since */
	uint64_t unit;	/* price of an instruction now */
	uint64_t rest;	/* of a stall, less than one instruction */
	int64_t at_big; /* own time when c is BIG */
	int64_t idled;
	uint64_t stall, accesses, looked_up;
	uint64_t count[SOURCES][STALL_KINDS], stalled[SOURCES];
};

extern struct machine machine;
extern struct run run;
extern struct cpu cpus[MAX_CPUS];
extern bool model_on;
extern qemu_plugin_u64 slot_c;
extern FILE *report_file;

/* plugin.c */
void run_ended(void);

/* machine.c */
bool machine_read(const char *path);
bool machine_fits(void);

/* clock.c */
bool clock_start(qemu_plugin_id_t id);
void clock_add_cpu(unsigned int index);
int64_t clock_now(void);
int64_t cpu_time(unsigned int index);
void clock_charge(struct cpu *cpu, uint64_t ps);
void clock_set_units(bool boot);
void clock_block_start(unsigned int index, void *unused);
void clock_pause(unsigned int index, void *unused);
extern uint64_t clock_quanta, clock_idle_jumps, clock_wakes;

/* prices.c */
void prices_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *block);

/* access.c */
void access_forget(unsigned int index);
void access_forget_core(unsigned int core);
void access_memory(unsigned int index, qemu_plugin_meminfo_t info, uint64_t address, void *locked);
void access_new_space(unsigned int index, void *unused);

/* cache.c */
struct served {
	enum source from;
	bool hit;      /* from the own L1, or an owned line's store: nothing to pay */
	uint64_t wait; /* for bandwidth, on top of the latency */
};
bool cache_start(void);
void cache_empty(void);
struct served cache_access(struct cpu *cpu, uint64_t line, bool store);
void cache_device_wrote(int node, uint64_t line);
void cache_device_read(int node, uint64_t line);

/* window.c */
void window_load(struct cpu *cpu, enum source from, uint64_t latency, uint64_t address,
		 uint64_t value);
void window_store(struct cpu *cpu, enum source from, uint64_t latency, uint64_t address);
void window_end(struct cpu *cpu);
void window_locked(struct cpu *cpu, enum source from, uint64_t latency);
void window_value(struct cpu *cpu, uint64_t line, uint64_t value);

/* memory.c */
uint64_t memory_dram(unsigned int node);
uint64_t memory_link(unsigned int from, unsigned int to);
void memory_quantum(int64_t span);

/* dma.c */
void dma_read(int node, uint64_t address, uint64_t length);
void dma_wrote(int node, uint64_t address, uint64_t length);

/* profile.c */
extern FILE *profile_file; /* NULL: none is wanted */
void profile_translate(struct qemu_plugin_tb *tb, uint64_t extra_ps);
void profile_stall(unsigned int index, uint64_t ps);
void profile_open(bool open);
void profile_write(void);

/* branch.c */
extern int branch_orders; /* socket; -1: there are no copies */
void branch_here(void);
void branch_command(unsigned int index, void *unused);

/* command.c */
enum { LAST_MARK = 0xff }; /* set when the emulator ends */
enum { BRANCH = 5 };	   /* the command that branch.c takes */
void command_run(unsigned int index, void *command);
void command_report(int tag);

#endif
