/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the measured CPUs' time goes: for each place in the kernel's code and each CPU, the
 * instructions executed and the stalls there; the programs' code is one place. A place is the start
 * of a block of code as it was translated. Counts what runs while the profile is open: from the
 * mark that begins a measurement until the model goes off. Written when the emulator ends, a line
 * for each place and CPU.
 *
 * An instruction that costs more than its share (a lock, a system call) adds its price to its
 * block.
 */
#include <inttypes.h>

#include "priced.h"

struct cost {
	uint64_t instructions, ps, stall;
};

struct place {
	struct cost by[MAX_CPUS];
};

/* A translated block. */
struct block {
	struct place *place;
	uint64_t instructions, ps;
};

FILE *profile_file;
static bool open_now;
static GHashTable *places; /* by address */
static struct cost *here[MAX_CPUS];

static struct place *place_at(uint64_t address)
{
	gpointer key = (gpointer)(uintptr_t)address;
	struct place *place;

	if (!places)
		places = g_hash_table_new(g_direct_hash, g_direct_equal);
	place = g_hash_table_lookup(places, key);
	if (!place) {
		place = g_new0(struct place, 1);
		g_hash_table_insert(places, key, place);
	}
	return place;
}

static void enter(unsigned int index, void *data)
{
	const struct block *block = data;

	if (!open_now || cpus[index].client)
		return;
	here[index] = &block->place->by[index];
	here[index]->instructions += block->instructions;
	here[index]->ps += block->ps;
}

void profile_translate(struct qemu_plugin_tb *tb, uint64_t extra_ps)
{
	uint64_t address = qemu_plugin_tb_vaddr(tb);
	struct block *block;

	if (!profile_file)
		return;
	block = g_new(struct block, 1); /* lives as long as the code may: until the end */
	block->place = place_at(address >> 63 ? address : 0);
	block->instructions = qemu_plugin_tb_n_insns(tb);
	block->ps = block->instructions * machine.instruction + extra_ps;
	qemu_plugin_register_vcpu_tb_exec_cb(tb, enter, QEMU_PLUGIN_CB_NO_REGS, block);
}

void profile_stall(unsigned int index, uint64_t ps)
{
	if (open_now && here[index])
		here[index]->stall += ps;
}

void profile_open(bool open)
{
	open_now = open;
}

static void write_place(uint64_t address, const struct place *place)
{
	for (unsigned int index = 0; index < MAX_CPUS; index++) {
		const struct cost *cost = &place->by[index];

		if (cost->instructions)
			fprintf(profile_file,
				"%" PRIx64 " %u %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", address,
				index, cost->instructions, cost->ps, cost->stall);
	}
}

void profile_write(void)
{
	GHashTableIter all;
	gpointer address, place;

	if (!profile_file || !places)
		return;
	g_hash_table_iter_init(&all, places);
	while (g_hash_table_iter_next(&all, &address, &place))
		write_place((uint64_t)(uintptr_t)address, place);
	fclose(profile_file);
}
