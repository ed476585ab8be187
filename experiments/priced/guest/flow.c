/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TCP flows into one CPU: LONG flows that send without end, each with a process of its own there,
 * and SHORT ones, on each of which the client sends a request of SHORT_KIB and waits for the reply
 * of the same size. One process serves all of these.
 *
 *   flow rx CPU OTHER_CPU PORT WARM_MS SPAN_MS READS LONG SHORT SHORT_KIB
 *   flow tx CPU ADDRESS PORT LONG SHORT SHORT_KIB
 *
 * READS is what becomes of a long flow's data: "copy", "touch" (the program reads each byte of the
 * copy) or "discard" (the kernel frees it, and no CPU has touched it). The receiver turns the model
 * on once the connections stand, and marks the span that it measured; it prints a line of JSON. It
 * waits on another CPU. The sender has a real-time policy: the scheduler that is measured does not
 * see it.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
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

static void sleep_ms(int64_t ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&t, NULL);
}

/* Memory that is there already. */
static void *memory(size_t size)
{
	void *at = malloc(size);

	if (!at)
		fail("flow: malloc");
	return memset(at, 1, size);
}

static void without_delay(int s)
{
	int one = 1;

	setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

static int heard(int port)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	int s = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(s, (struct sockaddr *)&to, sizeof to) || listen(s, SOMAXCONN))
		fail("flow: listen");
	puts("ready");
	fflush(stdout);
	return s;
}

/* Bytes that a process received; each has a line to itself. */
struct counts {
	volatile int64_t bytes;
	char line[56];
};

static void read_all(int s, const char *reads, struct counts *counts)
{
	int flags = strcmp(reads, "discard") ? 0 : MSG_TRUNC, touches = !strcmp(reads, "touch");
	uint64_t *buffer = memory(BUFFER), sum = 0;
	ssize_t n;

	while ((n = recv(s, buffer, BUFFER, flags)) > 0) {
		for (ssize_t i = 0; touches && i < n / 8; i++)
			sum += buffer[i];
		counts->bytes += n;
	}
	/* or the compiler would leave it out */
	__asm__ volatile("" : : "r"(sum));
}

static int whole(int s, char *message, ssize_t size)
{
	return recv(s, message, (size_t)size, MSG_WAITALL) == size;
}

/* Serves all connections that poll() is given. */
static void reply_all(struct pollfd *fds, int count, ssize_t size, struct counts *counts)
{
	char *message = memory((size_t)size);

	while (poll(fds, (nfds_t)count, -1) > 0)
		for (int i = 0; i < count; i++) {
			if (!fds[i].revents)
				continue;
			if (!whole(fds[i].fd, message, size) ||
			    write(fds[i].fd, message, (size_t)size) != size)
				return;
			counts->bytes += size;
		}
}

static pid_t forked(void)
{
	pid_t child = fork();

	if (child < 0)
		fail("flow: fork");
	return child;
}

/* A process on a CPU; gives 0 in it. */
static pid_t began_on(int cpu)
{
	pid_t child = forked();

	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pin(cpu);
	return 0;
}

static int64_t sum(const struct counts *counts, int count)
{
	int64_t bytes = 0;

	while (count--)
		bytes += counts++->bytes;
	return bytes;
}

static int accepted(int listener)
{
	int s = accept(listener, NULL, NULL);

	if (s < 0)
		fail("flow: accept");
	without_delay(s);
	return s;
}

static void receive(int cpu, int other, int port, int warm, int span, const char *reads, int flows,
		    int shorts, ssize_t size)
{
	struct counts *counts = mmap(NULL, sizeof *counts * (size_t)(flows + 1),
				     PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct pollfd *fds = calloc((size_t)(flows + shorts), sizeof *fds);
	int64_t start, long_bytes, short_bytes;
	int listener;

	pin(other);
	listener = heard(port);
	for (int i = 0; i < flows + shorts; i++) {
		fds[i] = (struct pollfd){.fd = accepted(listener), .events = POLLIN};
		if (i < flows && !began_on(cpu)) {
			read_all(fds[i].fd, reads, counts + i);
			_exit(0);
		}
	}
	if (shorts && !began_on(cpu)) {
		reply_all(fds + flows, shorts, size, counts + flows);
		_exit(0);
	}
	COMMAND(0x01);
	sleep_ms(warm);
	COMMAND(0x10);
	start = now();
	long_bytes = sum(counts, flows);
	short_bytes = counts[flows].bytes;
	sleep_ms(span);
	start = now() - start;
	long_bytes = sum(counts, flows) - long_bytes;
	short_bytes = counts[flows].bytes - short_bytes;
	COMMAND(0x11);
	COMMAND(0x02);
	printf("{\"test\":\"flow\",\"long_bytes\":%ld,\"short_bytes\":%ld,\"ns\":%ld}\n",
	       long_bytes, short_bytes, start);
}

static int connected(const char *address, int port)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	int s = socket(AF_INET, SOCK_STREAM, 0);

	without_delay(s);
	if (inet_pton(AF_INET, address, &to.sin_addr) != 1 ||
	    connect(s, (struct sockaddr *)&to, sizeof to))
		fail("flow: connect");
	return s;
}

/* All flows end when the receiver does. */
static void send_to(int cpu, const char *address, int port, int flows, int shorts, ssize_t size)
{
	struct sched_param priority = {.sched_priority = 1};
	char *buffer = memory(BUFFER), *message = memory((size_t)size);

	pin(cpu);
	if (sched_setscheduler(0, SCHED_FIFO, &priority))
		fail("flow: sched_setscheduler");
	/* One after the other: the receiver tells them apart by their order. */
	for (int i = 0; i < flows + shorts; i++) {
		int s = connected(address, port);

		if (forked()) {
			close(s);
			continue;
		}
		if (i < flows) {
			while (write(s, buffer, BUFFER) > 0) {
			}
		} else {
			while (write(s, message, (size_t)size) == size && whole(s, message, size)) {
			}
		}
		_exit(0);
	}
	while (wait(NULL) > 0) {
	}
}

int main(int count, char **word)
{
	signal(SIGPIPE, SIG_IGN);
	if (count == 11 && !strcmp(word[1], "rx"))
		receive(atoi(word[2]), atoi(word[3]), atoi(word[4]), atoi(word[5]), atoi(word[6]),
			word[7], atoi(word[8]), atoi(word[9]), atol(word[10]) << 10);
	else if (count == 8 && !strcmp(word[1], "tx"))
		send_to(atoi(word[2]), word[3], atoi(word[4]), atoi(word[5]), atoi(word[6]),
			atol(word[7]) << 10);
	else {
		fprintf(stderr, "flow: wrong words; the top of flow.c has them\n");
		return 1;
	}
	return 0;
}
