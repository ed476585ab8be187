/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One long TCP flow. The receiver turns the model on once the connection stands, and marks the span
 * that it measured; it prints a line of JSON.
 *
 *   flow rx CPU PORT WARM_MS SPAN_MS
 *   flow tx CPU ADDRESS PORT
 *
 * The sender has a real-time policy: the scheduler that is measured does not see it.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER = 256 << 10 };
#define COMMAND(k) __asm__ volatile(".byte 0x0f,0x1f,0x80," #k ",0x00,0x4e,0x5c" ::: "memory")

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof set, &set))
		fail("flow: sched_setaffinity");
}

static int accepted(int port)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	int s = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(s, (struct sockaddr *)&to, sizeof to) || listen(s, 1))
		fail("flow: listen");
	puts("ready");
	fflush(stdout);
	return accept(s, NULL, NULL);
}

/* Bytes read until the time is over. */
static int64_t read_until(int s, char *buffer, int64_t end)
{
	int64_t bytes = 0;
	ssize_t n;

	while (now() < end) {
		n = read(s, buffer, BUFFER);
		if (n <= 0)
			fail("flow: read");
		bytes += n;
	}
	return bytes;
}

static void receive(int cpu, int port, int64_t warm, int64_t span)
{
	char *buffer = malloc(BUFFER);
	int64_t start, bytes;
	int s;

	pin(cpu);
	memset(buffer, 1, BUFFER);
	s = accepted(port);
	COMMAND(0x01);
	read_until(s, buffer, now() + warm * 1000000);
	COMMAND(0x10);
	start = now();
	bytes = read_until(s, buffer, start + span * 1000000);
	start = now() - start;
	COMMAND(0x11);
	COMMAND(0x02);
	printf("{\"test\":\"flow\",\"cpu\":%d,\"bytes\":%ld,\"ns\":%ld}\n", cpu, bytes, start);
}

static void send_to(int cpu, const char *address, int port)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	struct sched_param priority = {.sched_priority = 1};
	int s = socket(AF_INET, SOCK_STREAM, 0);
	char *buffer = calloc(1, BUFFER);

	pin(cpu);
	if (sched_setscheduler(0, SCHED_FIFO, &priority))
		fail("flow: sched_setscheduler");
	if (inet_pton(AF_INET, address, &to.sin_addr) != 1 ||
	    connect(s, (struct sockaddr *)&to, sizeof to))
		fail("flow: connect");
	while (write(s, buffer, BUFFER) > 0) {
	}
}

int main(int count, char **word)
{
	if (count == 6 && !strcmp(word[1], "rx"))
		receive(atoi(word[2]), atoi(word[3]), atoi(word[4]), atoi(word[5]));
	else if (count == 5 && !strcmp(word[1], "tx"))
		send_to(atoi(word[2]), word[3], atoi(word[4]));
	else {
		fprintf(stderr, "flow: rx CPU PORT WARM_MS SPAN_MS, or tx CPU ADDRESS PORT\n");
		return 1;
	}
	return 0;
}
