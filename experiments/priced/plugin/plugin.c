/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Installation: options, the machine, the callbacks.
 *
 *   machine=FILE        the machine's prices (machine.c)
 *   cores=N threads=N   cores of a node and threads of a core, as given to -smp
 *   nodes=N node_mib=N  NUMA nodes and the memory of each
 *   clients=MASK        CPUs that drive traffic: fast and without caches
 *   report=FILE         where marks go
 *   profile=FILE        where the profile goes, if one is wanted: it makes the emulator slower
 *   orders=N            socket with orders for copies (branch.c)
 *   quantum_ns, tsc_mhz, boot_ps, client_ps: see README.md
 */
#include <stdlib.h>
#include <string.h>

#include "priced.h"

void run_ended(void)
{
	command_report(LAST_MARK);
	profile_write();
}

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

struct run run = {
	.nodes = 1,
	.threads = 1,
	.client_instruction = 40,
	.boot_instruction = 1000,
	.quantum = 5000000,
	.tsc_mhz = 1000,
};
qemu_plugin_u64 slot_c;
static struct qemu_plugin_scoreboard *board;

static bool number(const char *text, uint64_t *to)
{
	char *end;

	*to = strtoull(text, &end, 0);
	return *text && !*end;
}

static bool option(const char *name, const char *value, const char **machine_path)
{
	uint64_t n = 0;

	if (!strcmp(name, "machine")) {
		*machine_path = value;
		return true;
	}
	if (!strcmp(name, "report")) {
		report_file = fopen(value, "w");
		if (!report_file)
			fprintf(stderr, "priced: cannot write %s: %m\n", value);
		return report_file != NULL;
	}
	if (!strcmp(name, "profile")) {
		profile_file = fopen(value, "w");
		if (!profile_file)
			fprintf(stderr, "priced: cannot write %s: %m\n", value);
		return profile_file != NULL;
	}
	if (!number(value, &n)) {
		fprintf(stderr, "priced: %s takes a number, not '%s'\n", name, value);
		return false;
	}
	if (!strcmp(name, "cores"))
		run.cores_per_node = (unsigned int)n;
	else if (!strcmp(name, "threads"))
		run.threads = (unsigned int)n;
	else if (!strcmp(name, "nodes"))
		run.nodes = (unsigned int)n;
	else if (!strcmp(name, "node_mib"))
		run.node_lines = n << (20 - LINE_SHIFT);
	else if (!strcmp(name, "orders"))
		branch_orders = (int)n;
	else if (!strcmp(name, "clients"))
		run.clients = n;
	else if (!strcmp(name, "quantum_ns") && n >= 100)
		run.quantum = n * 1000;
	else if (!strcmp(name, "tsc_mhz") && n)
		run.tsc_mhz = n;
	else if (!strcmp(name, "boot_ps") && n)
		run.boot_instruction = n;
	else if (!strcmp(name, "client_ps") && n)
		run.client_instruction = n;
	else {
		fprintf(stderr, "priced: what is %s=%s?\n", name, value);
		return false;
	}
	return true;
}

static void at_end(qemu_plugin_id_t id, void *unused)
{
	(void)id;
	(void)unused;
	run_ended();
}

static void on_cpu(qemu_plugin_id_t id, unsigned int index)
{
	(void)id;
	/* the emulator moves the table as it grows: at the 17th CPU, for example */
	for (unsigned int k = 0; k <= index; k++)
		cpus[k].slot = qemu_plugin_scoreboard_find(board, k);
	clock_add_cpu(index);
}

QEMU_PLUGIN_EXPORT
int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	const char *machine_path = NULL;

	for (int k = 0; k < argc; k++) {
		char *equals = strchr(argv[k], '=');

		if (!equals) {
			fprintf(stderr, "priced: %s is not name=value\n", argv[k]);
			return -1;
		}
		*equals = '\0';
		if (!option(argv[k], equals + 1, &machine_path))
			return -1;
	}
	run.cpus = (unsigned int)info->system.smp_vcpus;
	if (!machine_path) {
		fprintf(stderr, "priced: machine=FILE is missing\n");
		return -1;
	}
	if (!machine_read(machine_path) || !machine_fits() || !cache_start())
		return -1;
	if (!clock_start(id)) {
		fprintf(stderr, "priced: this emulator does not hand over its clock; it needs "
				"-accel tcg,thread=single\n");
		return -1;
	}
	board = qemu_plugin_scoreboard_new(sizeof(struct slot));
	slot_c = (qemu_plugin_u64){board, offsetof(struct slot, c)};
	qemu_plugin_register_vcpu_init_cb(id, on_cpu);
	qemu_plugin_register_vcpu_tb_trans_cb(id, prices_translate);
	qemu_plugin_register_atexit_cb(id, at_end, NULL);
	return 0;
}
