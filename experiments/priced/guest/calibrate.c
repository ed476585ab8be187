/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Microbenchmarks inside the guest, by the guest's clock. Each prints a line of JSON.
 *
 *   mark N                          a command to the model (plugin/command.c)
 *   branch                          copies of the emulator begin here (plugin/branch.c); prints
 *                                   the words of this one
 *   entropy                         the kernel has no source of any here: the first program that
 *                                   asks for random numbers would spin for a second
 *   marks BEFORE WARM SPAN STEPS    a mark after so many microseconds, and in steps to the end of
 *                                   the span after it; prints /proc/stat from both ends. The
 *                                   model is on from WARM before the first mark
 *   spin CPUS LOOPS                 so many CPUs count down at once
 *   sleep MICROSECONDS TIMES
 *   chase CPU NODE KIB              latency: a random cycle through all lines
 *   shared CPU PEER KIB FILLER_KIB  latency of lines that the peer's L2 holds too, once as many KiB
 *                                   as the filler has pushed them out of the CPU's own
 *   gather CPU NODE KIB             independent random loads
 *   stream NODE MIB CPU...          sequential loads of a node's memory, by all the CPUs at once
 *   write CPU NODE MIB              sequential stores
 *   bounce CPU CPU                  a line that two CPUs write in turns
 *   pipe CPU CPU                    two threads wake each other
 *   syscall CPU                     the shortest system call
 */
#include "base.h"
#include "marks.h"
#include <fcntl.h>
#include <linux/random.h>
#include <sys/ioctl.h>

static uint64_t random_state = 12345;
static uint64_t draw(void)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return random_state >> 33;
}

static pthread_barrier_t barrier;

struct worker {
	pthread_t thread;
	int cpu;
	uint64_t loops;
	int64_t ns;
	const char *from, *to;
};

static void *spinner(void *arg)
{
	struct worker *w = arg;
	uint64_t n = w->loops;
	int64_t start;

	pin(w->cpu);
	pthread_barrier_wait(&barrier);
	start = now();
	__asm__ volatile("1: dec %0\n jnz 1b" : "+r"(n));
	w->ns = now() - start;
	return NULL;
}

static void *streamer(void *arg)
{
	struct worker *w = arg;
	int64_t start;

	pin(w->cpu);
	pthread_barrier_wait(&barrier);
	start = now();
	for (const char *p = w->from; p < w->to; p += 4 * LINE)
		__asm__ volatile("mov (%0), %%rax\n mov 64(%0), %%rax\n mov 128(%0), %%rax\n mov "
				 "192(%0), %%rax" ::"r"(p)
				 : "rax", "memory");
	w->ns = now() - start;
	return NULL;
}

static void run_workers(struct worker *w, int n, void *(*body)(void *))
{
	pthread_barrier_init(&barrier, NULL, (unsigned)n);
	for (int k = 0; k < n; k++)
		pthread_create(&w[k].thread, NULL, body, &w[k]);
	for (int k = 0; k < n; k++)
		pthread_join(w[k].thread, NULL);
}

static void spin(int cpus, uint64_t loops)
{
	struct worker w[64] = {0};

	for (int k = 0; k < cpus; k++)
		w[k] = (struct worker){.cpu = k, .loops = loops};
	run_workers(w, cpus, spinner);
	printf("{\"test\":\"spin\",\"loops\":%lu,\"ns\":[", loops);
	for (int k = 0; k < cpus; k++)
		printf("%s%ld", k ? "," : "", w[k].ns);
	puts("]}");
}

static void sleeps(int us, int times)
{
	int64_t start = now();

	for (int k = 0; k < times; k++)
		usleep((useconds_t)us);
	printf("{\"test\":\"sleep\",\"us\":%d,\"mean_us\":%.3f}\n", us,
	       (double)(now() - start) / 1e3 / times);
}

/* A cycle through all lines in random order (Sattolo). */
static void link_lines(char *p, size_t lines)
{
	uint32_t *order = malloc(lines * sizeof *order);

	for (size_t k = 0; k < lines; k++)
		order[k] = (uint32_t)k;
	for (size_t k = lines - 1; k; k--) {
		size_t j = draw() % k;
		uint32_t x = order[k];

		order[k] = order[j];
		order[j] = x;
	}
	for (size_t k = 0; k < lines; k++)
		*(char **)(p + k * LINE) = p + (size_t)order[k] * LINE;
	free(order);
}

/* Follows the cycle for so many steps. */
static char *follow(char *q, size_t steps)
{
	for (size_t k = 0; k < steps; k++)
		q = *(char *volatile *)q;
	return q;
}

static void chase(int cpu, int node, size_t kib)
{
	size_t lines = (kib << 10) / LINE, steps = lines < 20000    ? 20000
						   : lines > 400000 ? 400000
								    : lines;
	char *p, *q;
	int64_t start;

	pin(cpu);
	p = memory_on(kib << 10, node);
	link_lines(p, lines);
	model(MODEL_ON);
	q = follow(p, lines + lines / 4);
	command(BEFORE);
	start = now();
	follow(q, steps);
	start = now() - start;
	command(AFTER);
	model(MODEL_OFF);
	printf("{\"test\":\"chase\",\"cpu\":%d,\"node\":%d,\"kib\":%zu,\"ns\":%.3f}\n", cpu, node,
	       kib, (double)start / (double)steps);
	munmap(p, kib << 10);
}

static void shared(int cpu, int peer, size_t kib, size_t filler_kib)
{
	size_t lines = (kib << 10) / LINE, fillers = (filler_kib << 10) / LINE;
	char *p = memory_on(kib << 10, 0), *filler = memory_on(filler_kib << 10, 0);
	int64_t start;

	link_lines(p, lines);
	link_lines(filler, fillers);
	pin(peer);
	model(MODEL_ON);
	follow(p, 2 * lines);
	pin(cpu);
	follow(p, lines);
	follow(filler, fillers);
	command(BEFORE);
	start = now();
	follow(p, lines);
	start = now() - start;
	command(AFTER);
	model(MODEL_OFF);
	printf("{\"test\":\"shared\",\"cpu\":%d,\"peer\":%d,\"ns\":%.3f}\n", cpu, peer,
	       (double)start / (double)lines);
}

static void gather(int cpu, int node, size_t kib)
{
	size_t lines = (kib << 10) / LINE, steps = 500000;
	char *p = memory_on(kib << 10, node);
	int64_t start;

	pin(cpu);
	model(MODEL_ON);
	command(BEFORE);
	start = now();
	for (size_t k = 0; k < steps; k++)
		(void)*(volatile char *)(p + draw() % lines * LINE);
	start = now() - start;
	command(AFTER);
	model(MODEL_OFF);
	printf("{\"test\":\"gather\",\"cpu\":%d,\"node\":%d,\"kib\":%zu,\"ns\":%.3f}\n", cpu, node,
	       kib, (double)start / (double)steps);
}

static void stream(int node, size_t mib, int count, char **cpus)
{
	struct worker w[64] = {0};
	char *p = memory_on(mib << 20, node);
	size_t part = (mib << 20) / (size_t)count & ~(size_t)(4 * LINE - 1);
	double gbs = 0;

	for (int k = 0; k < count; k++)
		w[k] = (struct worker){.cpu = atoi(cpus[k]),
				       .from = p + part * (size_t)k,
				       .to = p + part * (size_t)(k + 1)};
	model(MODEL_ON);
	command(BEFORE);
	run_workers(w, count, streamer);
	command(AFTER);
	model(MODEL_OFF);
	for (int k = 0; k < count; k++)
		gbs += (double)part / (double)w[k].ns;
	printf("{\"test\":\"stream\",\"cpu\":%s,\"threads\":%d,\"node\":%d,\"gbs\":%.3f}\n",
	       cpus[0], count, node, gbs);
}

static void writes(int cpu, int node, size_t mib)
{
	char *p = memory_on(mib << 20, node), *end = p + (mib << 20);
	int64_t start;

	pin(cpu);
	model(MODEL_ON);
	command(BEFORE);
	start = now();
	for (char *q = p; q < end; q += LINE)
		__asm__ volatile("movq $1, (%0)" ::"r"(q) : "memory");
	start = now() - start;
	command(AFTER);
	model(MODEL_OFF);
	printf("{\"test\":\"write\",\"cpu\":%d,\"node\":%d,\"gbs\":%.3f}\n", cpu, node,
	       (double)(mib << 20) / (double)start);
}

/* Both words are on one line. */
static struct {
	int ping, pong;
} ball __attribute__((aligned(LINE)));
static int pipes[2][2], rounds;

static void await(int *word, int value)
{
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value)
		__builtin_ia32_pause();
}

static void *bounce_peer(void *cpu)
{
	pin((int)(intptr_t)cpu);
	for (int r = 1; r <= rounds; r++) {
		await(&ball.ping, r);
		__atomic_store_n(&ball.pong, r, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void pass(int out, int in)
{
	char c = 0;

	if (write(out, &c, 1) != 1 || read(in, &c, 1) != 1)
		exit(1);
}

static void *pipe_peer(void *cpu)
{
	char c;

	pin((int)(intptr_t)cpu);
	for (int r = 0; r < rounds; r++)
		if (read(pipes[0][0], &c, 1) != 1 || write(pipes[1][1], &c, 1) != 1)
			exit(1);
	return NULL;
}

static void pair(const char *test, int a, int b)
{
	int bounces = test[0] == 'b';
	pthread_t peer;
	int64_t start;

	rounds = bounces ? 5000 : 2000;
	if (!bounces && (pipe(pipes[0]) || pipe(pipes[1])))
		exit(1);
	pin(a);
	model(MODEL_ON);
	pthread_create(&peer, NULL, bounces ? bounce_peer : pipe_peer, (void *)(intptr_t)b);
	usleep(5000);
	command(BEFORE);
	start = now();
	for (int r = 1; r <= rounds; r++) {
		if (!bounces) {
			pass(pipes[0][1], pipes[1][0]);
			continue;
		}
		__atomic_store_n(&ball.ping, r, __ATOMIC_RELEASE);
		await(&ball.pong, r);
	}
	start = now() - start;
	command(AFTER);
	model(MODEL_OFF);
	pthread_join(peer, NULL);
	printf("{\"test\":\"%s\",\"cpus\":[%d,%d],\"ns\":%.1f}\n", test, a, b,
	       (double)start / rounds);
}

static void system_calls(int cpu)
{
	int times = 20000;
	int64_t start;

	pin(cpu);
	model(MODEL_ON);
	for (int k = 0; k < 1000; k++)
		syscall(SYS_getppid);
	command(BEFORE);
	start = now();
	for (int k = 0; k < times; k++)
		syscall(SYS_getppid);
	start = now() - start;
	command(AFTER);
	model(MODEL_OFF);
	printf("{\"test\":\"syscall\",\"cpu\":%d,\"ns\":%.1f}\n", cpu, (double)start / times);
}

static void entropy(void)
{
	struct {
		struct rand_pool_info info;
		uint32_t words[8];
	} pool = {{.entropy_count = 8 * sizeof(pool.words), .buf_size = sizeof(pool.words)}, {0}};

	if (ioctl(open("/dev/urandom", O_RDWR), RNDADDENTROPY, &pool)) {
		perror("calibrate: RNDADDENTROPY");
		exit(1);
	}
}

int main(int count, char **word)
{
	const char *test = count > 1 ? word[1] : "";
	int n[4] = {0};

	for (int k = 0; k < 4 && k + 2 < count; k++)
		n[k] = (int)strtol(word[k + 2], NULL, 0);
	if (!strcmp(test, "mark"))
		command(n[0]);
	else if (!strcmp(test, "branch"))
		branches();
	else if (!strcmp(test, "entropy"))
		entropy();
	else if (!strcmp(test, "marks"))
		marks(n[0], n[1], n[2], n[3]);
	else if (!strcmp(test, "spin"))
		spin(n[0], (uint64_t)n[1]);
	else if (!strcmp(test, "sleep"))
		sleeps(n[0], n[1]);
	else if (!strcmp(test, "chase"))
		chase(n[0], n[1], (size_t)n[2]);
	else if (!strcmp(test, "shared"))
		shared(n[0], n[1], (size_t)n[2], (size_t)n[3]);
	else if (!strcmp(test, "gather"))
		gather(n[0], n[1], (size_t)n[2]);
	else if (!strcmp(test, "stream") && count > 4)
		stream(n[0], (size_t)n[1], count - 4, word + 4);
	else if (!strcmp(test, "write"))
		writes(n[0], n[1], (size_t)n[2]);
	else if (!strcmp(test, "bounce") || !strcmp(test, "pipe"))
		pair(test, n[0], n[1]);
	else if (!strcmp(test, "syscall"))
		system_calls(n[0]);
	else {
		fprintf(stderr, "calibrate: what is %s? See calibrate.c\n", test);
		return 1;
	}
	return 0;
}
