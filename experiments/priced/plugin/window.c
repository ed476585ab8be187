/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory parallelism: how much of a miss a core waits for. After Karkhanis and Smith, "A
 * first-order superscalar processor model" (ISCA 2004): a load that misses stalls the core once its
 * reorder window is full; further misses in that window, if they do not need the first one's value,
 * are over by then.
 *
 *   window: the instructions since a miss that stalled. A miss inside it costs only what its
 * latency exceeds the longest so far, up to as many as there are miss buffers. A miss outside it,
 * or one whose address is near a value that a line of the window brought, begins a new window and
 * costs its whole latency. So a chain of pointers pays every hop, and independent misses overlap.
 *
 *   stream: a load of the line after (or before) one that the vCPU lately touched was prefetched:
 *   latency / lines that prefetchers keep in flight, which is a core's bandwidth limit.
 *
 *   store: waits in the store buffer; latency / stores in flight, or as a load if it streams.
 *   locked: empties the window and pays the whole latency.
 *
 * The address test sees 64-bit values only, and takes an address within a page above the value to
 * depend on it: a field of a structure does, an index computed from a loaded value does not.
 */
#include "priced.h"

enum { STREAMS = 16, MAX_MISSES = 32, REACH = 4096 };

struct window {
	uint64_t first; /* instruction that the window began with */
	uint64_t longest;
	unsigned int misses, values;
	uint64_t line[MAX_MISSES];
	uint64_t value[2 * MAX_MISSES];
	uint64_t stream[STREAMS];
	unsigned int hand;
};

static struct window windows[MAX_CPUS];

static void pay(struct cpu *cpu, enum source from, uint64_t ps, int kind)
{
	cpu->count[from][kind]++;
	cpu->stalled[from] += ps;
	cpu->stall += ps;
	clock_charge(cpu, ps);
	profile_stall(cpu - cpus, ps);
}

static bool is_stream(struct window *w, uint64_t line)
{
	for (unsigned int k = 0; k < STREAMS; k++) {
		uint64_t step = line - w->stream[k];

		if (step + 2 <= 4 && step) {
			w->stream[k] = line;
			return true;
		}
	}
	w->stream[w->hand++ % STREAMS] = line;
	return false;
}

static bool depends(const struct window *w, uint64_t address)
{
	for (unsigned int k = 0; k < w->values; k++)
		if (address - w->value[k] < REACH)
			return true;
	return false;
}

static void keep_value(struct window *w, uint64_t value)
{
	if (value && w->values < 2 * MAX_MISSES)
		w->value[w->values++] = value;
}

void window_load(struct cpu *cpu, enum source from, uint64_t latency, uint64_t address,
		 uint64_t value)
{
	struct window *w = &windows[cpu - cpus];
	uint64_t now = cpu->slot->instructions, line = address >> LINE_SHIFT;

	if (from != FROM_L2 && is_stream(w, line)) {
		pay(cpu, from, latency / machine.stream_lines, STALL_STREAM);
		return;
	}
	if (w->misses && w->misses < machine.window_misses &&
	    now - w->first < machine.window_instructions && !depends(w, address)) {
		pay(cpu, from, latency > w->longest ? latency - w->longest : 0, STALL_HIDDEN);
		w->longest = latency > w->longest ? latency : w->longest;
	} else {
		pay(cpu, from, latency, STALL_ALONE);
		w->first = now;
		w->longest = latency;
		w->misses = 0;
		w->values = 0;
	}
	w->line[w->misses++] = line;
	keep_value(w, value);
}

/* A load that hits: if its line is one of the window's, its value was not there before either. */
void window_value(struct cpu *cpu, uint64_t line, uint64_t value)
{
	struct window *w = &windows[cpu - cpus];

	if (cpu->slot->instructions - w->first >= machine.window_instructions)
		return;
	for (unsigned int k = 0; k < w->misses; k++)
		if (w->line[k] == line) {
			keep_value(w, value);
			return;
		}
}

void window_store(struct cpu *cpu, enum source from, uint64_t latency, uint64_t address)
{
	bool stream = from != FROM_L2 && is_stream(&windows[cpu - cpus], address >> LINE_SHIFT);

	pay(cpu, from, latency / (stream ? machine.stream_lines : machine.store_lines),
	    stream ? STALL_STREAM : STALL_STORE);
}

/* After PAUSE nothing is in flight. */
void window_end(struct cpu *cpu)
{
	windows[cpu - cpus].misses = 0;
}

void window_locked(struct cpu *cpu, enum source from, uint64_t latency)
{
	window_end(cpu);
	pay(cpu, from, latency, STALL_ALONE);
}
