/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Loads and stores. Most of them hit the L1; a table of recent lines per vCPU tells that at once,
 * by virtual address, without a walk of the model. An entry says that the vCPU has the line, and
 * whether it may write it. All of a vCPU's entries are forgotten when its core loses a line or the
 * right to write one, and when it changes or flushes its address space.
 */
#include "priced.h"

enum { RECENT = 1024 };

static uint64_t recent[MAX_CPUS][RECENT];
static uint64_t generation[MAX_CPUS];

/* Key of an entry: 21 bits of generation, 42 of the line, 1 for the right to write. */
static uint64_t key_of(unsigned int index, uint64_t address)
{
	return generation[index] << 43 | (address >> LINE_SHIFT & ((1ull << 42) - 1)) << 1;
}

void access_forget(unsigned int index)
{
	generation[index]++;
}

void access_forget_core(unsigned int core)
{
	for (unsigned int k = 0; k < run.threads; k++)
		generation[core * run.threads + k]++;
}

void access_new_space(unsigned int index, void *unused)
{
	(void)unused;
	access_forget(index);
}

/* What was loaded, if it can be an address. */
static uint64_t loaded(qemu_plugin_meminfo_t info)
{
	qemu_plugin_mem_value value = qemu_plugin_mem_get_value(info);

	return value.type == QEMU_PLUGIN_MEM_VALUE_U64 ? value.data.u64 : 0;
}

static void slow(struct cpu *cpu, unsigned int index, qemu_plugin_meminfo_t info, uint64_t address,
		 bool store, bool locked)
{
	struct qemu_plugin_hwaddr *where = qemu_plugin_get_hwaddr(info, address);
	struct served served;
	uint64_t latency;

	if (!where)
		return;
	if (qemu_plugin_hwaddr_is_io(where)) {
		clock_charge(cpu, store ? machine.io_write : machine.io_read);
		return;
	}
	cpu->looked_up++;
	served = cache_access(cpu, qemu_plugin_hwaddr_phys_addr(where) >> LINE_SHIFT,
			      store || locked);
	latency = machine.latency[served.from] + served.wait;
	if (served.hit) {
		if (!store && !locked)
			window_value(cpu, address >> LINE_SHIFT, loaded(info));
	} else if (locked) {
		window_locked(cpu, served.from, latency);
	} else if (store) {
		window_store(cpu, served.from, latency, address);
	} else {
		window_load(cpu, served.from, latency, address, loaded(info));
	}
	/* A line that just missed may be on its way still: its next load is looked at as well. */
	if (served.hit || store)
		recent[index][address >> LINE_SHIFT & (RECENT - 1)] =
			key_of(index, address) | (store || locked);
}

void access_memory(unsigned int index, qemu_plugin_meminfo_t info, uint64_t address, void *locked)
{
	struct cpu *cpu = &cpus[index];
	bool store = qemu_plugin_mem_is_store(info);
	uint64_t key = key_of(index, address),
		 entry = recent[index][address >> LINE_SHIFT & (RECENT - 1)];

	if (cpu->client)
		return;
	cpu->accesses++;
	if (entry == (key | 1) || (entry == key && !store && !locked))
		return;
	slow(cpu, index, info, address, store, locked != NULL);
}
