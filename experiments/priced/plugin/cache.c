/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a line is. Each core has an L1 and an L2 that holds all of its L1; each cache domain has an
 * L3. A directory knows, for every line of memory, which cores and which L3s hold it, which core
 * may have changed it, and whether memory is stale. The tags below only decide what falls out; a
 * tag whose bit is gone from the directory is stale and does not hit.
 *
 * A load is served by the first of these that has the line:
 *   own L1 (free), own L2, the core that changed it, the own L3, another L3 of the node,
 *   a core of the own domain, a stale-memory L3 anywhere, the L3 at the line's home, DRAM at its
 * home. A store needs the line alone: other copies are dropped, and it waits for the furthest (an
 * upgrade).
 *
 * The L3 takes what falls out of the L2s (`victim`, Skylake-SP and later, EPYC) or everything that
 * they hold (`inclusive`: what falls out of the L3 leaves the L2s too). A changed line that falls
 * out of the last cache is written to its home's DRAM.
 *
 * Not modelled: instruction fetch, address translation, prefetch (but see window.c), the snoop
 * filter's capacity, which slice of an L3 a line is in.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "priced.h"
#include "tags.h"

/* A line's entry: who has it. */
struct line {
	uint32_t cores;
	uint16_t domains;
	uint8_t owner; /* core + 1 that may have changed it */
	uint8_t stale; /* memory is */
};

/* When a core last made a line its own; the latest lines only. */
enum { CHANGES = 8192 };
struct change {
	uint64_t line;
	int64_t time;
};

static struct change changes[CHANGES];
static struct line *lines;
static uint64_t line_count;
static struct tags l1[MAX_CPUS], l2[MAX_CPUS], l3[MAX_DOMAINS];
static unsigned int core_domain[MAX_CPUS], domain_node[MAX_DOMAINS], domains;
static uint32_t domain_cores[MAX_DOMAINS];

static unsigned int home(uint64_t line)
{
	return (unsigned int)(line / run.node_lines);
}

static void write_back(uint64_t line, unsigned int node)
{
	memory_dram(home(line));
	memory_link(node, home(line));
	lines[line].stale = 0;
}

static void left_l3(unsigned int d, uint64_t line)
{
	struct line *l = &lines[line];

	if (!(l->domains & 1u << d))
		return;
	l->domains &= (uint16_t)~(1u << d);
	if (!machine.l3_victim)
		for (uint32_t c = l->cores; c; c &= c - 1) {
			unsigned int core = (unsigned int)__builtin_ctz(c);

			if (core_domain[core] != d)
				continue;
			l->cores &= ~(1u << core);
			access_forget_core(core);
			if (l->owner == core + 1)
				l->owner = 0;
		}
	if (l->stale && !l->owner && !l->domains && !l->cores)
		write_back(line, domain_node[d]);
}

/* @place: 0, or where a device's write may go in at the earliest. */
static void fill_l3(unsigned int d, uint64_t line, uint32_t place)
{
	uint32_t *set = set_of(&l3[d], line, true), out;

	lines[line].domains |= (uint16_t)(1u << d);
	if (touch(set, l3[d].ways, line))
		return;
	out = insert_at(set, l3[d].ways, place, line);
	if (out)
		left_l3(d, out - 1);
}

/* Does a core below this L3 hold the line? */
static bool held_below(unsigned int d, const struct line *l)
{
	return l->cores & domain_cores[d];
}

static void left_core(unsigned int core, uint64_t line)
{
	struct line *l = &lines[line];
	bool owned = l->owner == core + 1;

	if (!(l->cores & 1u << core))
		return;
	l->cores &= ~(1u << core);
	if (owned)
		l->owner = 0;
	/* A clean line that another core below the L3 still holds need not go down. */
	if (owned || (machine.l3_victim && !held_below(core_domain[core], l)))
		fill_l3(core_domain[core], line, 0);
}

static void fill_private(unsigned int core, uint64_t line)
{
	uint32_t *first = set_of(&l1[core], line, false), *second = set_of(&l2[core], line, false),
		 out;

	lines[line].cores |= 1u << core;
	if (!touch(first, l1[core].ways, line))
		insert_at(first, l1[core].ways, 0, line);
	if (touch(second, l2[core].ways, line))
		return;
	out = insert_at(second, l2[core].ways, 0, line);
	if (out)
		left_core(core, out - 1);
}

/* How far another domain is: 0 the same, 1 the same node, 2 another node. */
static unsigned int distance(unsigned int domain, unsigned int other)
{
	if (domain == other)
		return 0;
	return domain_node[domain] == domain_node[other] ? 1 : 2;
}

static unsigned int furthest(unsigned int domain, const struct line *l, unsigned int self)
{
	unsigned int far = 0, d;

	for (uint32_t c = l->cores & ~(1u << self); c; c &= c - 1) {
		d = distance(domain, core_domain[__builtin_ctz(c)]);
		far = d > far ? d : far;
	}
	for (uint32_t m = l->domains; m; m &= m - 1) {
		d = distance(domain, (unsigned int)__builtin_ctz(m));
		far = d > far ? d : far;
	}
	return far;
}

/* The nearest L3 with the line: at the own node, or at its home, or anywhere if memory is stale. */
static bool serving_l3(unsigned int domain, uint64_t line, enum source *from, unsigned int *which)
{
	const struct line *l = &lines[line];
	unsigned int best = 3;

	for (uint32_t m = l->domains; m; m &= m - 1) {
		unsigned int d = (unsigned int)__builtin_ctz(m), far = distance(domain, d);

		if (far == 2 && !l->stale && domain_node[d] != home(line))
			continue;
		if (far < best) {
			best = far;
			*which = d;
		}
	}
	if (best == 3)
		return false;
	*from = FROM_L3 + best;
	return true;
}

/*
 * A vCPU that spins may read, in its own time, what another writes later: the other had its turn
 * first. It goes on from the moment of the write.
 */
static void wait_for_change(struct cpu *cpu, uint64_t line)
{
	const struct change *change = &changes[line % CHANGES];
	int64_t ahead = change->time - cpu_time((unsigned int)(cpu - cpus));

	cpu->spins = false;
	if (change->line == line && ahead > 0)
		clock_charge(cpu, (uint64_t)ahead);
}

/* Who serves a line that the core does not have; what the traffic makes it wait. */
static enum source fetch(const struct cpu *cpu, uint64_t line, uint64_t *wait)
{
	struct line *l = &lines[line];
	unsigned int domain = cpu->domain, which = 0;
	enum source from;

	if (l->owner) {
		unsigned int owner = l->owner - 1u, other = core_domain[owner];

		access_forget_core(owner);
		l->owner = 0;
		fill_l3(other, line, 0);
		from = FROM_CORE + distance(domain, other);
		*wait = memory_link(domain_node[other], cpu->node);
	} else if (serving_l3(domain, line, &from, &which)) {
		*wait = memory_link(domain_node[which], cpu->node);
		touch(set_of(&l3[which], line, true), l3[which].ways, line);
		/* A victim L3 gives a line away unless others share it. */
		if (from == FROM_L3 && machine.l3_victim && !l->cores) {
			l->domains &= (uint16_t)~(1u << which);
			if (l->stale)
				l->owner = (uint8_t)(cpu->core + 1);
		}
	} else if (held_below(domain, l)) {
		from = FROM_CORE;
	} else {
		from = home(line) == cpu->node ? FROM_DRAM : FROM_DRAM_REMOTE;
		*wait = memory_dram(home(line)) + memory_link(home(line), cpu->node);
	}
	if (!machine.l3_victim)
		fill_l3(domain, line, 0);
	return from;
}

/* Drops all other copies. */
static void own(const struct cpu *cpu, uint64_t line)
{
	struct line *l = &lines[line];
	struct change *change = &changes[line % CHANGES];

	change->line = line;
	change->time = cpu_time((unsigned int)(cpu - cpus));

	for (uint32_t c = l->cores & ~(1u << cpu->core); c; c &= c - 1)
		access_forget_core((unsigned int)__builtin_ctz(c));
	l->cores = 1u << cpu->core;
	l->domains &= machine.l3_victim ? 0 : (uint16_t)(1u << cpu->domain);
	l->owner = (uint8_t)(cpu->core + 1);
	l->stale = 1;
}

struct served cache_access(struct cpu *cpu, uint64_t line, bool store)
{
	struct served served = {.from = FROM_L2, .hit = true};
	struct line *l;

	if (line >= line_count)
		return served;
	l = &lines[line];
	if (l->cores & 1u << cpu->core) {
		if (!touch(set_of(&l1[cpu->core], line, false), l1[cpu->core].ways, line)) {
			served.hit = false;
			fill_private(cpu->core, line);
		}
		if (store && l->owner != cpu->core + 1u) {
			unsigned int far = furthest(cpu->domain, l, cpu->core);

			if (far || (l->cores & ~(1u << cpu->core))) {
				served.hit = false;
				served.from = UPGRADE + far;
			}
		}
	} else {
		if (cpu->spins)
			wait_for_change(cpu, line);
		served.hit = false;
		served.from = fetch(cpu, line, &served.wait);
		fill_private(cpu->core, line);
	}
	if (store)
		own(cpu, line);
	return served;
}

void cache_device_wrote(int node, uint64_t line)
{
	struct line *l;

	if (line >= line_count)
		return;
	l = &lines[line];
	for (uint32_t c = l->cores; c; c &= c - 1)
		access_forget_core((unsigned int)__builtin_ctz(c));
	l->cores = 0;
	l->owner = 0;
	if (!machine.ddio_ways || home(line) != (unsigned int)node) {
		l->domains = 0;
		l->stale = 0;
		memory_dram(home(line));
		memory_link((unsigned int)node, home(line));
		return;
	}
	for (unsigned int d = 0; d < domains; d++) {
		if (domain_node[d] != (unsigned int)node)
			continue;
		l->domains &= (uint16_t)(1u << d);
		l->stale = 1;
		fill_l3(d, line, l3[d].ways - (uint32_t)machine.ddio_ways);
		return;
	}
}

/* A read takes the line from whichever cache has it and leaves it there. */
void cache_device_read(int node, uint64_t line)
{
	if (line >= line_count)
		return;
	if (!lines[line].cores && !lines[line].domains)
		memory_dram(home(line));
	memory_link(home(line), (unsigned int)node);
}

/* All caches empty: what they held before the model was off is no longer true. */
void cache_empty(void)
{
	madvise(lines, line_count * sizeof *lines, MADV_DONTNEED);
	memset(changes, 0, sizeof changes);
	for (unsigned int core = 0; core < run.cores_per_node * run.nodes; core++) {
		tags_empty(&l1[core]);
		tags_empty(&l2[core]);
	}
	for (unsigned int d = 0; d < domains; d++)
		tags_empty(&l3[d]);
}

bool cache_start(void)
{
	unsigned int per_node = (run.cores_per_node + (unsigned int)machine.l3_cores - 1) /
				(unsigned int)machine.l3_cores;

	line_count = run.node_lines * run.nodes;
	lines = mmap(NULL, line_count * sizeof *lines, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (lines == MAP_FAILED)
		return false;
	domains = per_node * run.nodes;
	for (unsigned int d = 0; d < domains; d++) {
		domain_node[d] = d / per_node;
		if (!tags_make(&l3[d], machine.l3_kib, machine.l3_ways))
			return false;
	}
	for (unsigned int core = 0; core < run.cores_per_node * run.nodes; core++) {
		unsigned int node = core / run.cores_per_node;

		core_domain[core] = node * per_node +
				    core % run.cores_per_node / (unsigned int)machine.l3_cores;
		domain_cores[core_domain[core]] |= 1u << core;
		if (!tags_make(&l1[core], machine.l1_kib, machine.l1_ways) ||
		    !tags_make(&l2[core], machine.l2_kib, machine.l2_ways))
			return false;
	}
	for (unsigned int i = 0; i < run.cpus; i++) {
		cpus[i].core = i / run.threads;
		cpus[i].node = cpus[i].core / run.cores_per_node;
		cpus[i].domain = core_domain[cpus[i].core];
		cpus[i].client = run.clients >> i & 1;
	}
	return true;
}
