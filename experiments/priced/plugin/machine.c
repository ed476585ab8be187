/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads the machine's prices: a line `name value` for each, whole numbers, times in picoseconds.
 * `steer-bench priced` makes them from a machine's file, which it has checked (src/machine). Every
 * name must be there once; nothing else may be.
 */
#include <inttypes.h>
#include <string.h>

#include "priced.h"

struct machine machine;

/* In the order of enum source. */
const char *const source_names[SOURCES] = {
	"l2",	       "l3",   "l3_other",    "l3_remote", "core",	    "core_other",
	"core_remote", "dram", "dram_remote", "upgrade",   "upgrade_other", "upgrade_remote",
};

#define PRICE(field)		  {#field, &machine.field, false}
#define EVENT(name, event_number) {name, &machine.event[event_number], false}

static struct price {
	const char *name;
	uint64_t *to;
	bool seen;
} prices[] = {
	PRICE(instruction),
	PRICE(smt_percent),
	EVENT("lock", EVENT_LOCK),
	EVENT("pause", EVENT_PAUSE),
	EVENT("syscall", EVENT_SYSCALL),
	EVENT("interrupt", EVENT_INTERRUPT),
	EVENT("cr3", EVENT_CR3),
	EVENT("invlpg", EVENT_INVLPG),
	EVENT("wrmsr", EVENT_WRMSR),
	PRICE(wake),
	PRICE(io_read),
	PRICE(io_write),
	PRICE(window_instructions),
	PRICE(window_misses),
	PRICE(stream_lines),
	PRICE(store_lines),
	PRICE(l1_kib),
	PRICE(l1_ways),
	PRICE(l2_kib),
	PRICE(l2_ways),
	PRICE(l3_kib),
	PRICE(l3_ways),
	PRICE(l3_cores),
	PRICE(l3_victim),
	PRICE(ddio_ways),
	PRICE(dram_line),
	PRICE(dram_queue),
	PRICE(link_line),
	PRICE(link_queue),
};
enum { PRICES = sizeof prices / sizeof *prices };

static bool latency_seen[SOURCES];

/* Where a price goes, once. */
static uint64_t *place(const char *name)
{
	for (int k = 0; k < PRICES; k++)
		if (!strcmp(prices[k].name, name) && !prices[k].seen) {
			prices[k].seen = true;
			return prices[k].to;
		}
	for (int k = 0; k < SOURCES; k++)
		if (!strcmp(source_names[k], name) && !latency_seen[k]) {
			latency_seen[k] = true;
			return &machine.latency[k];
		}
	return NULL;
}

static bool complete(void)
{
	const char *missing = NULL;

	for (int k = 0; k < PRICES; k++)
		missing = prices[k].seen ? missing : prices[k].name;
	for (int k = 0; k < SOURCES; k++)
		missing = latency_seen[k] ? missing : source_names[k];
	if (missing)
		fprintf(stderr, "priced: the price %s is missing\n", missing);
	return !missing;
}

bool machine_read(const char *path)
{
	FILE *file = fopen(path, "r");
	uint64_t *to, value;
	char name[64];
	int read = 0;

	if (!file) {
		fprintf(stderr, "priced: cannot read the prices %s: %m\n", path);
		return false;
	}
	while ((read = fscanf(file, "%63s %" SCNu64, name, &value)) == 2) {
		to = place(name);
		if (!to) {
			fprintf(stderr, "priced: the price %s is unknown, or there twice\n", name);
			fclose(file);
			return false;
		}
		*to = value;
	}
	fclose(file);
	if (read != EOF) {
		fprintf(stderr, "priced: the price %s is no number\n", name);
		return false;
	}
	return complete();
}

/* Whether the model can hold the guest. */
bool machine_fits(void)
{
	uint64_t cores = (uint64_t)run.cores_per_node * run.nodes, domains;

	if (!run.cores_per_node || !run.nodes || !run.threads || cores * run.threads != run.cpus) {
		fprintf(stderr,
			"priced: %u nodes of %u cores of %u threads are not the guest's %u CPUs\n",
			run.nodes, run.cores_per_node, run.threads, run.cpus);
		return false;
	}
	domains = run.nodes * ((run.cores_per_node + machine.l3_cores - 1) / machine.l3_cores);
	if (run.cpus > MAX_CPUS || run.nodes > MAX_NODES || domains > MAX_DOMAINS) {
		fprintf(stderr,
			"priced: the model holds %d CPUs, %d nodes and %d L3s, not %u, %u and "
			"%lu\n",
			MAX_CPUS, MAX_NODES, MAX_DOMAINS, run.cpus, run.nodes,
			(unsigned long)domains);
		return false;
	}
	/* q35 leaves a hole above 2816 MiB, behind which addresses no longer tell the node. */
	if (run.node_lines * run.nodes > 2816ull << 14) {
		fprintf(stderr, "priced: the model holds 2816 MiB of guest memory in all\n");
		return false;
	}
	return true;
}
