/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Commands from the guest: a NOP whose displacement names one, `nopl 0x5c4e00NN(%rax)`. On any
 * other machine it does nothing.
 *
 *   1  the model on (with empty caches)
 *   2  the model off
 *   3  the machine's price of an instruction
 *   4  the boot's
 *   5  the place where copies begin (branch.c)
 *   others: a mark. 0x10 begins a measurement. What was counted since the last mark goes to the
 * report, a line of JSON. The plugin sets LAST_MARK when the emulator ends.
 *
 * A report has no time of the host: the same run writes the same bytes.
 */
#include <inttypes.h>
#include <string.h>

#include "priced.h"

enum { MODEL_ON = 1, MODEL_OFF, RUN_PRICES, BOOT_PRICES, BEFORE = 0x10 }; /* and BRANCH */

bool model_on;
FILE *report_file;

static const char *const kinds[STALL_KINDS] = {"alone", "hidden", "stream", "store"};

static void report_cpu(unsigned int i)
{
	static int64_t busy_before[MAX_CPUS];
	static uint64_t instructions_before[MAX_CPUS];
	struct cpu *cpu = &cpus[i];
	int64_t busy = cpu_time(i) - cpu->idled;
	const char *comma = "";

	fprintf(report_file,
		"%s{\"cpu\":%u,\"busy_ps\":%" PRId64 ",\"instructions\":%" PRIu64
		",\"stall_ps\":%" PRIu64 ",\"accesses\":%" PRIu64 ",\"looked_up\":%" PRIu64
		",\"from\":{",
		i ? "," : "", i, busy - busy_before[i],
		cpu->slot->instructions - instructions_before[i], cpu->stall, cpu->accesses,
		cpu->looked_up);
	for (int s = 0; s < SOURCES; s++) {
		const uint64_t *n = cpu->count[s];

		if (!(n[0] + n[1] + n[2] + n[3]))
			continue;
		fprintf(report_file, "%s\"%s\":{\"ps\":%" PRIu64, comma, source_names[s],
			cpu->stalled[s]);
		for (int k = 0; k < STALL_KINDS; k++)
			if (n[k])
				fprintf(report_file, ",\"%s\":%" PRIu64, kinds[k], n[k]);
		fputc('}', report_file);
		comma = ",";
	}
	fputs("}}", report_file);
	busy_before[i] = busy;
	instructions_before[i] = cpu->slot->instructions;
	cpu->stall = cpu->accesses = cpu->looked_up = 0;
	memset(cpu->count, 0, sizeof cpu->count);
	memset(cpu->stalled, 0, sizeof cpu->stalled);
}

void command_report(int tag)
{
	static int64_t last;
	int64_t now = clock_now();

	if (!report_file)
		return;
	fprintf(report_file,
		"{\"mark\":%d,\"now_ps\":%" PRId64 ",\"span_ps\":%" PRId64 ",\"quanta\":%" PRIu64
		",\"idle_jumps\":%" PRIu64 ",\"wakes\":%" PRIu64 ",\"cpus\":[",
		tag, now, now - last, clock_quanta, clock_idle_jumps, clock_wakes);
	for (unsigned int i = 0; i < run.cpus; i++)
		report_cpu(i);
	fputs("]}\n", report_file);
	fflush(report_file);
	last = now;
}

static void set_model(bool on)
{
	if (model_on == on)
		return;
	if (!on)
		profile_open(false);
	model_on = on;
	if (on)
		cache_empty();
	for (unsigned int i = 0; i < run.cpus; i++)
		access_forget(i);
	/* Loads and stores are looked at in code that is translated from here on. */
	qemu_plugin_retranslate();
}

void command_run(unsigned int index, void *command)
{
	int number = (int)(intptr_t)command;

	(void)index;
	switch (number) {
	case MODEL_ON:
	case MODEL_OFF:
		set_model(number == MODEL_ON);
		break;
	case RUN_PRICES:
	case BOOT_PRICES:
		clock_set_units(number == BOOT_PRICES);
		break;
	default:
		if (number == BEFORE)
			profile_open(true);
		command_report(number);
	}
}
