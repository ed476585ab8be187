/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Branches: samples that differ only from some moment on share what comes before. At the command
 * BRANCH the emulator stops and takes orders. Each makes a copy of it, which goes on with files and
 * words of its own. The guest finds the words in the memory that it named (RAX).
 *
 * An order is one message on the socket `orders`: lines name=PATH, with
 *
 *   console    where the guest's console goes from now on
 *   report     where marks go
 *   words      the text for the guest
 *   profile    where the profile goes, if one is wanted
 *
 * The answer is the copy's process id. Before the first order this side says "ready". When nobody
 * has more orders (the socket is closed), the emulator ends.
 */
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "priced.h"

/* Room for the words; the guest's program has as much (guest/calibrate.c). */
enum { MOST_WORDS = 4096, MOST_ORDER = 4096 };

int branch_orders = -1;
static bool is_wanted, is_branch;
static char words[MOST_WORDS];

static bool read_words(const char *path)
{
	FILE *file = fopen(path, "r");
	size_t n = file ? fread(words, 1, sizeof words - 1, file) : 0;

	words[n] = '\0';
	return file && feof(file) && !fclose(file);
}

/* In the copy: what one line of the order says. */
static bool obey(const char *name, const char *value)
{
	if (!strcmp(name, "console"))
		return qemu_plugin_console_to("console", value);
	if (!strcmp(name, "report"))
		return report_file && freopen(value, "w", report_file);
	if (!strcmp(name, "profile"))
		return profile_file && freopen(value, "w", profile_file);
	return !strcmp(name, "words") && read_words(value);
}

static void become(char *order)
{
	char *rest = order, *line;

	close(branch_orders);
	is_branch = true;
	while ((line = strsep(&rest, "\n"))) {
		char *equals = strchr(line, '=');

		if (equals)
			*equals = '\0';
		if (!equals || !obey(line, equals + 1)) {
			fprintf(stderr, "priced: a branch cannot obey %s: %m\n", line);
			_exit(EXIT_FAILURE);
		}
	}
}

static void answer(const char *text)
{
	if (send(branch_orders, text, strlen(text), MSG_NOSIGNAL) < 0)
		_exit(EXIT_SUCCESS);
}

/* Returns in copies only. */
static void take_orders(void)
{
	char order[MOST_ORDER], pid[16];
	ssize_t n;

	signal(SIGCHLD, SIG_IGN); /* nobody waits for copies */
	answer("ready");
	while ((n = recv(branch_orders, order, sizeof order - 1, 0)) > 0) {
		int copy = qemu_plugin_fork();

		order[n] = '\0';
		if (!copy)
			return become(order);
		snprintf(pid, sizeof pid, "%d", copy);
		answer(pid);
	}
	_exit(EXIT_SUCCESS);
}

/* Called between turns. */
void branch_here(void)
{
	if (!is_wanted)
		return;
	is_wanted = false;
	take_orders();
}

static uint64_t read_rax(void)
{
	GArray *all = qemu_plugin_get_registers();
	GByteArray *bytes = g_byte_array_new();
	uint64_t rax = 0;

	for (guint k = 0; k < all->len; k++) {
		qemu_plugin_reg_descriptor *it = &g_array_index(all, qemu_plugin_reg_descriptor, k);

		if (!strcmp(it->name, "rax") && qemu_plugin_read_register(it->handle, bytes) == 8)
			memcpy(&rax, bytes->data, 8);
	}
	g_byte_array_free(bytes, TRUE);
	g_array_free(all, TRUE);
	return rax;
}

/* The command. A copy runs the instruction again, and gets its words. */
void branch_command(unsigned int index, void *unused)
{
	(void)unused;
	if (branch_orders < 0)
		return; /* no copies: there are no words */
	if (!is_branch) {
		is_wanted = true;
		qemu_plugin_end_turn(index, (uintptr_t)__builtin_return_address(0));
	}
	if (!qemu_plugin_write_guest(index, read_rax(), words, strlen(words) + 1)) {
		fprintf(stderr, "priced: a branch cannot write its words into the guest\n");
		_exit(EXIT_FAILURE);
	}
}
