/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads the machine's description: TOML of a simple kind, `[section]` and `key = number`, one name
 * in quotes, comments after #. Every key must be there once; nothing else may be. Then the values
 * must be possible: within their range, caches of whole sets, nearer levels not dearer than further
 * ones.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "priced.h"

struct machine machine;

/* Lines of the `latency` section, in the order of enum source. */
const char *const source_names[SOURCES] = {
	"l2",	       "l3",   "l3_other",    "l3_remote", "core",	    "core_other",
	"core_remote", "dram", "dram_remote", "upgrade",   "upgrade_other", "upgrade_remote",
};

/* The file's numbers that are not taken over as they are. */
static double clock_ghz, cpi, smt_gain, dram_gbs, link_gbs;
static double latency_ns[SOURCES];

enum unit { COUNT, NS, REAL };

struct key {
	const char *name;
	void *to;
	enum unit unit;
	double least, most;
	bool seen;
};

#define LATENCY(k) {"latency." #k, NULL, REAL, 0.5, 2000, false}

static struct key keys[] = {
	{"core.clock_ghz", &clock_ghz, REAL, 0.5, 10, false},
	{"core.cpi", &cpi, REAL, 0.1, 10, false},
	{"core.smt_gain", &smt_gain, REAL, 1, 2, false},
	{"core.lock_ns", &machine.event[EVENT_LOCK], NS, 0, 1000, false},
	{"core.pause_ns", &machine.event[EVENT_PAUSE], NS, 1, 1000, false},
	{"core.syscall_ns", &machine.event[EVENT_SYSCALL], NS, 0, 10000, false},
	{"core.interrupt_ns", &machine.event[EVENT_INTERRUPT], NS, 0, 10000, false},
	{"core.cr3_ns", &machine.event[EVENT_CR3], NS, 0, 10000, false},
	{"core.invlpg_ns", &machine.event[EVENT_INVLPG], NS, 0, 10000, false},
	{"core.wrmsr_ns", &machine.event[EVENT_WRMSR], NS, 0, 10000, false},
	{"core.wake_ns", &machine.wake, NS, 0, 1000000, false},
	{"core.io_read_ns", &machine.io_read, NS, 0, 100000, false},
	{"core.io_write_ns", &machine.io_write, NS, 0, 100000, false},
	{"core.window_instructions", &machine.window_instructions, COUNT, 1, 2000, false},
	{"core.window_misses", &machine.window_misses, COUNT, 1, 32, false},
	{"core.stream_lines", &machine.stream_lines, COUNT, 1, 128, false},
	{"core.store_lines", &machine.store_lines, COUNT, 1, 128, false},
	{"cache.l1_kib", &machine.l1_kib, COUNT, 1, 1024, false},
	{"cache.l1_ways", &machine.l1_ways, COUNT, 1, 64, false},
	{"cache.l2_kib", &machine.l2_kib, COUNT, 1, 65536, false},
	{"cache.l2_ways", &machine.l2_ways, COUNT, 1, 64, false},
	{"cache.l3_kib", &machine.l3_kib, COUNT, 1, 1048576, false},
	{"cache.l3_ways", &machine.l3_ways, COUNT, 1, 64, false},
	{"cache.l3_cores", &machine.l3_cores, COUNT, 1, 1024, false},
	{"cache.l3_victim", &machine.l3_victim, COUNT, 0, 1, false},
	{"cache.ddio_ways", &machine.ddio_ways, COUNT, 0, 64, false},
	LATENCY(l2),
	LATENCY(l3),
	LATENCY(l3_other),
	LATENCY(l3_remote),
	LATENCY(core),
	LATENCY(core_other),
	LATENCY(core_remote),
	LATENCY(dram),
	LATENCY(dram_remote),
	LATENCY(upgrade),
	LATENCY(upgrade_other),
	LATENCY(upgrade_remote),
	{"memory.dram_gbs", &dram_gbs, REAL, 0.1, 10000, false},
	{"memory.dram_queue_ns", &machine.dram_queue, NS, 0, 1000, false},
	{"memory.link_gbs", &link_gbs, REAL, 0.1, 10000, false},
	{"memory.link_queue_ns", &machine.link_queue, NS, 0, 1000, false},
};
enum { KEYS = sizeof keys / sizeof *keys };

static struct key *find(const char *name)
{
	for (int k = 0; k < KEYS; k++)
		if (!strcmp(keys[k].name, name))
			return &keys[k];
	return NULL;
}

/* The latencies' places in the table follow from their names. */
static void place_latencies(void)
{
	char name[64];

	for (int k = 0; k < SOURCES; k++) {
		snprintf(name, sizeof name, "latency.%s", source_names[k]);
		find(name)->to = &latency_ns[k];
	}
}

static bool take(const char *path, int number, struct key *key, const char *text)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !isfinite(value)) {
		fprintf(stderr, "priced: %s:%d: %s is a number, not '%s'\n", path, number,
			key->name, text);
		return false;
	}
	if (key->seen) {
		fprintf(stderr, "priced: %s:%d: %s is there twice\n", path, number, key->name);
		return false;
	}
	if (value < key->least || value > key->most ||
	    (key->unit == COUNT && value != floor(value))) {
		fprintf(stderr, "priced: %s:%d: %s is %s from %g to %g, not %s\n", path, number,
			key->name, key->unit == COUNT ? "a whole number" : "a number", key->least,
			key->most, text);
		return false;
	}
	key->seen = true;
	if (key->unit == REAL)
		*(double *)key->to = value;
	else if (key->to == &machine.l3_victim)
		machine.l3_victim = value != 0;
	else
		*(uint64_t *)key->to = (uint64_t)(key->unit == NS ? value * 1000 + 0.5 : value);
	return true;
}

static char *trim(char *s)
{
	char *end;

	s += strspn(s, " \t\r\n");
	end = s + strlen(s);
	while (end > s && strchr(" \t\r\n", end[-1]))
		*--end = '\0';
	return s;
}

static bool take_line(const char *path, int number, char *section, size_t room, char *text)
{
	char name[128], *equals, *value;
	struct key *key;

	text[strcspn(text, "#")] = '\0';
	text = trim(text);
	if (!*text)
		return true;
	if (*text == '[' && text[strlen(text) - 1] == ']') {
		snprintf(section, room, "%.*s.", (int)strlen(text) - 2, text + 1);
		return true;
	}
	equals = strchr(text, '=');
	if (!equals) {
		fprintf(stderr, "priced: %s:%d: neither a section nor key = value: %s\n", path,
			number, text);
		return false;
	}
	*equals = '\0';
	value = trim(equals + 1);
	snprintf(name, sizeof name, "%s%s", section, trim(text));
	if (!strcmp(name, "name")) {
		snprintf(machine.name, sizeof machine.name, "%.*s", (int)strcspn(value + 1, "\""),
			 value + 1);
		return true;
	}
	key = find(name);
	if (!key) {
		fprintf(stderr, "priced: %s:%d: no such value: %s\n", path, number, name);
		return false;
	}
	return take(path, number, key, value);
}

static void convert(void)
{
	machine.instruction = (uint64_t)(1000 * cpi / clock_ghz + 0.5);
	machine.smt_percent = (uint64_t)(200 / smt_gain + 0.5);
	machine.dram_line = (uint64_t)(64000 / dram_gbs + 0.5);
	machine.link_line = (uint64_t)(64000 / link_gbs + 0.5);
	for (int k = 0; k < SOURCES; k++)
		machine.latency[k] = (uint64_t)(latency_ns[k] * 1000 + 0.5);
}

static bool whole_sets(const char *path, const char *what, uint64_t kib, uint64_t ways)
{
	if ((kib << 10) % (ways << LINE_SHIFT) == 0)
		return true;
	fprintf(stderr, "priced: %s: %s of %lu KiB does not divide into sets of %lu ways\n", path,
		what, (unsigned long)kib, (unsigned long)ways);
	return false;
}

static bool not_dearer(const char *path, enum source near, enum source far)
{
	if (latency_ns[near] <= latency_ns[far])
		return true;
	fprintf(stderr, "priced: %s: latency.%s (%g) is above latency.%s (%g)\n", path,
		source_names[near], latency_ns[near], source_names[far], latency_ns[far]);
	return false;
}

static bool possible(const char *path)
{
	static const enum source order[][2] = {
		{FROM_L2, FROM_L3},
		{FROM_L3, FROM_L3_OTHER},
		{FROM_L3_OTHER, FROM_L3_REMOTE},
		{FROM_L3, FROM_CORE},
		{FROM_CORE, FROM_CORE_OTHER},
		{FROM_CORE_OTHER, FROM_CORE_REMOTE},
		{FROM_L3, FROM_DRAM},
		{FROM_DRAM, FROM_DRAM_REMOTE},
		{UPGRADE, UPGRADE_OTHER},
		{UPGRADE_OTHER, UPGRADE_REMOTE},
	};

	for (size_t k = 0; k < sizeof order / sizeof *order; k++)
		if (!not_dearer(path, order[k][0], order[k][1]))
			return false;
	if (machine.ddio_ways > machine.l3_ways) {
		fprintf(stderr, "priced: %s: cache.ddio_ways (%lu) is above cache.l3_ways (%lu)\n",
			path, (unsigned long)machine.ddio_ways, (unsigned long)machine.l3_ways);
		return false;
	}
	return whole_sets(path, "an L1", machine.l1_kib, machine.l1_ways) &&
	       whole_sets(path, "an L2", machine.l2_kib, machine.l2_ways) &&
	       whole_sets(path, "an L3", machine.l3_kib, machine.l3_ways);
}

bool machine_read(const char *path)
{
	char line[512], section[64] = "";
	FILE *file = fopen(path, "r");
	bool good = true;
	int number = 0;

	if (!file) {
		fprintf(stderr, "priced: cannot read the machine %s: %m\n", path);
		return false;
	}
	place_latencies();
	while (good && fgets(line, sizeof line, file))
		good = take_line(path, ++number, section, sizeof section, line);
	fclose(file);
	if (!good)
		return false;
	if (!*machine.name) {
		fprintf(stderr, "priced: %s: the machine has no name\n", path);
		return false;
	}
	for (int k = 0; k < KEYS; k++)
		if (!keys[k].seen) {
			fprintf(stderr, "priced: %s: %s is missing\n", path, keys[k].name);
			return false;
		}
	convert();
	return possible(path);
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
