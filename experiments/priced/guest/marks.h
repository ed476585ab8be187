/* SPDX-License-Identifier: GPL-2.0-only */
/* Where a sample begins and ends: copies of the emulator, and marks of the model. */
#ifndef PRICED_GUEST_MARKS_H
#define PRICED_GUEST_MARKS_H

#include "base.h"

static void read_stat(char *text, size_t room)
{
	FILE *file = fopen("/proc/stat", "r");
	size_t n = file ? fread(text, 1, room - 1, file) : 0;

	text[n] = '\0';
	if (file)
		fclose(file);
}

static void sleep_until(int64_t time)
{
	struct timespec t = {.tv_sec = time / 1000000000, .tv_nsec = time % 1000000000};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static void marks(int before_us, int warm_us, int span_us, int steps)
{
	static char first[1 << 16], last[1 << 16];
	int64_t start = now() + before_us * 1000LL;

	sleep_until(start - warm_us * 1000LL);
	model(MODEL_ON);
	sleep_until(start);
	read_stat(first, sizeof first);
	command(BEFORE);
	for (int k = 1; k <= steps; k++) {
		sleep_until(start + span_us * 1000LL * k / steps);
		command(AFTER);
	}
	read_stat(last, sizeof last);
	printf("@@stat-before\n%s@@stat-after\n%s", first, last);
}

static void branches(void)
{
	static char words[1 << 12];

	memset(words, 0, sizeof words); /* so that its page is there */
	branch(words);
	fputs(words, stdout);
}

#endif /* PRICED_GUEST_MARKS_H */
