/* SPDX-License-Identifier: GPL-2.0-only */
/* What the guest's microbenchmarks share: commands to the model, time, CPUs, memory of a node. */
#ifndef PRICED_GUEST_BASE_H
#define PRICED_GUEST_BASE_H

#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MODEL_ON = 1, MODEL_OFF = 2, BEFORE = 0x10, AFTER = 0x11, LINE = 64 };

static void command(int n)
{
	switch (n) {
#define COMMAND(k)                                                                                 \
	case k:                                                                                    \
		__asm__ volatile(".byte 0x0f,0x1f,0x80," #k ",0x00,0x4e,0x5c" ::: "memory");       \
		break
		COMMAND(0x01);
		COMMAND(0x02);
		COMMAND(0x03);
		COMMAND(0x04);
		COMMAND(0x10);
		COMMAND(0x11);
		COMMAND(0x12);
	default:
		fprintf(stderr, "calibrate: no command %d\n", n);
		exit(1);
	}
}

/* Where copies of the emulator begin; each fills in words of its own, if there are copies. */
static void branch(char *words)
{
	__asm__ volatile(".byte 0x0f,0x1f,0x80,0x05,0x00,0x4e,0x5c" ::"a"(words) : "memory");
}

static void model(int n)
{
	command(n);
	sched_yield(); /* code from here on is translated anew */
}

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof set, &set)) {
		perror("calibrate: sched_setaffinity");
		exit(1);
	}
}

static char *memory_on(size_t bytes, int node)
{
	unsigned long mask = 1ul << node;
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || syscall(SYS_mbind, p, bytes, 2 /* MPOL_BIND */, &mask, 64, 0)) {
		perror("calibrate: memory of a node");
		exit(1);
	}
	memset(p, 0, bytes);
	return p;
}

#endif /* PRICED_GUEST_BASE_H */
