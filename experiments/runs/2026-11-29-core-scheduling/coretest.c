// Spinning threads in groups; each group has a core scheduling cookie of its own (or none).
// Prints each group's CPU time and how long two groups ran on the threads of one core at once.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifndef PR_SCHED_CORE
#define PR_SCHED_CORE 62
#endif
#define MAX 200000
struct run {
	uint64_t from, to;
	int cpu;
};
struct log {
	int n, group;
	double cpu_s;
	uint64_t longest_gap;
	struct run runs[MAX];
};
static struct log *logs;
static volatile int *stop_at;
static int per;
static uint64_t now(unsigned *cpu)
{
	unsigned lo, hi, aux;
	__asm__ volatile("rdtscp" : "=a"(lo), "=d"(hi), "=c"(aux));
	*cpu = aux & 0xfff;
	return (uint64_t)hi << 32 | lo;
}
static void *spin(void *p)
{
	struct log *l = p;
	unsigned cpu;
	uint64_t t, last;
	while (!stop_at[1])
		;
	last = now(&cpu);
	l->n = 0;
	struct run *r = 0;
	while (!stop_at[0] && l->n < MAX) {
		t = now(&cpu);
		if (!r || (int)cpu != r->cpu || t - last > 200000) {
			if (r && t - last > l->longest_gap)
				l->longest_gap = t - last;
			r = &l->runs[l->n++];
			r->from = t;
			r->cpu = cpu;
		}
		r->to = last = t;
	}
	struct timespec ts;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	l->cpu_s = ts.tv_sec + ts.tv_nsec / 1e9;
	return 0;
}
int main(int argc, char **argv)
{
	int groups = atoi(argv[1]), threads = atoi(argv[2]), secs = atoi(argv[3]),
	    cookie = atoi(argv[4]);
	per = threads;
	logs = mmap(0, sizeof(struct log) * groups * threads, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	stop_at = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int g = 0; g < groups; g++) {
		if (fork())
			continue;
		if (cookie && prctl(PR_SCHED_CORE, 1, 0, 1, 0)) {
			perror("PR_SCHED_CORE");
			_exit(1);
		}
		pthread_t th[64];
		for (int i = 0; i < threads; i++) {
			logs[g * threads + i].group = g;
			pthread_create(&th[i], 0, spin, &logs[g * threads + i]);
		}
		for (int i = 0; i < threads; i++)
			pthread_join(th[i], 0);
		_exit(0);
	}
	sleep(1);
	unsigned c;
	struct timespec a, b;
	clock_gettime(CLOCK_MONOTONIC, &a);
	uint64_t t0 = now(&c);
	stop_at[1] = 1;
	sleep(secs);
	stop_at[0] = 1;
	clock_gettime(CLOCK_MONOTONIC, &b);
	uint64_t t1 = now(&c);
	double hz = (t1 - t0) / ((b.tv_sec - a.tv_sec) + (b.tv_nsec - a.tv_nsec) / 1e9);
	int status, bad = 0;
	while (wait(&status) > 0)
		bad |= status;
	if (bad)
		return 1;
	double both = 0, any = 0;
	for (int i = 0; i < groups * threads; i++) {
		struct log *x = &logs[i];
		double ran = 0;
		for (int k = 0; k < x->n; k++)
			ran += x->runs[k].to - x->runs[k].from;
		any += ran;
		printf("group %d thread %d: cpu %.2f s, seen running %.2f s, %d runs, longest gap "
		       "%.0f ms\n",
		       x->group, i % threads, x->cpu_s, ran / hz, x->n, x->longest_gap / hz * 1e3);
		for (int j = i + 1; j < groups * threads; j++) {
			struct log *y = &logs[j];
			if (x->group == y->group)
				continue;
			int m = 0;
			for (int k = 0; k < x->n; k++) {
				while (m < y->n && y->runs[m].to < x->runs[k].from)
					m++;
				for (int q = m; q < y->n && y->runs[q].from < x->runs[k].to; q++) {
					if (x->runs[k].cpu / 2 != y->runs[q].cpu / 2)
						continue;
					uint64_t f = x->runs[k].from > y->runs[q].from
							     ? x->runs[k].from
							     : y->runs[q].from;
					uint64_t t = x->runs[k].to < y->runs[q].to ? x->runs[k].to
										   : y->runs[q].to;
					if (t > f)
						both += t - f;
				}
			}
		}
	}
	printf("different groups on one core at once: %.3f s of %.2f s\n", both / hz, any / hz);
	return 0;
}
