/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Time. Every vCPU has a time of its own: instructions * price + stalls. The emulator runs one vCPU
 * at once; this file gives each its turn:
 *
 *   quantum: [start, end). Each vCPU that is not idle runs until its own time reaches the end, in
 * the order of their numbers. So in the guest's time they run at once. At the end, timers that are
 * due run, each at its own time, and the next quantum begins where the vCPU that is furthest behind
 * stands. It ends early where a timer is due. When all are idle, the clock jumps to the next timer.
 *
 * An idle vCPU that is interrupted goes on at the time of the interrupt plus the time it takes to
 * leave its idle state; if others are past that, it runs what is left of the quantum after them.
 * PAUSE hands the turn to the vCPU that is furthest behind, so a lock's holder gets on.
 *
 * A vCPU's time is kept as a count that generated code raises and compares with BIG. The count is
 * in instructions: a new price needs no new translation.
 */
#include "priced.h"

struct cpu cpus[MAX_CPUS];
uint64_t clock_quanta, clock_idle_jumps, clock_wakes;

static int64_t committed; /* all timers up to here have run */
static int64_t quantum_end;
static unsigned int owner;
static bool in_timers;
static bool booting = true;

/* Timers closer than this share a quantum: the emulator's own resolution is a nanosecond. */
#define LEAST_QUANTUM 100000

int64_t cpu_time(unsigned int i)
{
	const struct cpu *cpu = &cpus[i];

	return cpu->at_big + (int64_t)(cpu->slot->c - BIG) * (int64_t)cpu->unit;
}

/* Sets the count so that BIG is reached at @end, rounded up to whole instructions. */
static void rebase(unsigned int i, int64_t time, int64_t end)
{
	struct cpu *cpu = &cpus[i];
	int64_t unit = (int64_t)cpu->unit, left = end - time;
	int64_t n = left > 0 ? (left + unit - 1) / unit : -(-left / unit);

	cpu->slot->c = BIG - (uint64_t)n;
	cpu->at_big = time + n * unit;
}

int64_t clock_now(void)
{
	int i = in_timers ? -1 : qemu_plugin_running_vcpu();

	if (i >= 0 && cpus[i].slot) {
		int64_t own = cpu_time((unsigned int)i);

		return own > committed ? own : committed;
	}
	return committed;
}

static int64_t now_ns(void)
{
	return clock_now() / 1000;
}

static int64_t ticks(void)
{
	return (int64_t)((__int128)clock_now() * run.tsc_mhz / 1000000);
}

void clock_charge(struct cpu *cpu, uint64_t ps)
{
	ps += cpu->rest;
	cpu->slot->c += ps / cpu->unit;
	cpu->rest = ps % cpu->unit;
}

static void interrupted(unsigned int i)
{
	int64_t now;

	if (!cpus[i].slot || !qemu_plugin_vcpu_is_idle(i))
		return;
	now = clock_now() + (int64_t)machine.wake;
	clock_wakes++;
	if (cpu_time(i) < now) {
		cpus[i].idled += now - cpu_time(i);
		rebase(i, now, quantum_end);
	}
}

/* While a core's other thread runs, an instruction takes longer. */
static uint64_t unit_now(unsigned int i)
{
	if (booting)
		return run.boot_instruction;
	if (cpus[i].client)
		return run.client_instruction;
	for (unsigned int k = 0; k < run.cpus; k++)
		if (k != i && cpus[k].core == cpus[i].core && !qemu_plugin_vcpu_is_idle(k))
			return machine.instruction * machine.smt_percent / 100;
	return machine.instruction;
}

static void set_quantum(int64_t end)
{
	for (unsigned int i = 0; i < run.cpus; i++) {
		int64_t time = cpu_time(i);

		if (run.threads > 1)
			cpus[i].unit = unit_now(i);
		rebase(i, time, end);
	}
	quantum_end = end;
}

void clock_set_units(bool boot)
{
	booting = boot;
	for (unsigned int i = 0; i < run.cpus; i++) {
		int64_t time = cpu_time(i);

		cpus[i].unit = unit_now(i);
		cpus[i].rest = 0;
		rebase(i, time, quantum_end);
	}
}

/* When the next timer is due; negative when none is set. */
static int64_t next_timer(void)
{
	int64_t left;

	in_timers = true;
	left = qemu_plugin_next_timer_ns();
	in_timers = false;
	return left < 0 ? -1 : (committed / 1000 + left) * 1000;
}

static void run_timers_until(int64_t to)
{
	int64_t due;

	for (;;) {
		due = next_timer();
		if (due < 0 || due > to)
			break;
		if (due > committed)
			committed = due;
		in_timers = true;
		qemu_plugin_run_timers();
		in_timers = false;
	}
	if (to > committed)
		committed = to;
}

static bool waits_for_turn(unsigned int i)
{
	return cpus[i].slot->c < BIG && !qemu_plugin_vcpu_is_idle(i);
}

static bool begin_quantum(void)
{
	int64_t low = INT64_MAX, due, end;

	for (unsigned int i = 0; i < run.cpus; i++)
		if (!qemu_plugin_vcpu_is_idle(i) && cpu_time(i) < low)
			low = cpu_time(i);
	if (low == INT64_MAX)
		return false;
	if (low < committed)
		low = committed;
	end = low + (int64_t)run.quantum;
	due = next_timer();
	if (due >= 0 && due < end)
		end = due > committed + LEAST_QUANTUM ? due : committed + LEAST_QUANTUM;
	memory_quantum(end - committed);
	set_quantum(end);
	clock_quanta++;
	return true;
}

/* Whose turn it is; see the top of this file. */
static int next(void)
{
	int64_t due;

	branch_here();
	for (;;) {
		/* The owner goes on; then those after it; then those that were interrupted after
		 * their turn. */
		for (unsigned int n = 0; n < run.cpus; n++) {
			unsigned int k = (owner + n) % run.cpus;

			if (waits_for_turn(k))
				return (int)(owner = k);
		}
		if (quantum_end > committed)
			run_timers_until(quantum_end);
		if (!begin_quantum()) {
			due = next_timer();
			if (due < 0)
				return -1;
			clock_idle_jumps++;
			memory_quantum(due - committed);
			run_timers_until(due);
			set_quantum(committed);
		}
		owner = 0;
	}
}

void clock_block_start(unsigned int i, void *unused)
{
	(void)unused;
	qemu_plugin_end_turn(i, (uintptr_t)__builtin_return_address(0));
}

/* The emulator leaves the vCPU at PAUSE, and asks whose turn it is. */
void clock_pause(unsigned int i, void *unused)
{
	unsigned int low = i;

	(void)unused;
	cpus[i].spins = true;
	window_end(&cpus[i]);
	for (unsigned int k = 0; k < run.cpus; k++)
		if (waits_for_turn(k) && cpu_time(k) < cpu_time(low))
			low = k;
	owner = low;
}

void clock_add_cpu(unsigned int i)
{
	cpus[i].unit = run.boot_instruction;
	cpus[i].slot->c = BIG;
}

bool clock_start(qemu_plugin_id_t id)
{
	static const struct qemu_plugin_turns turns = {
		.version = QEMU_PLUGIN_TURNS_VERSION,
		.now_ns = now_ns,
		.ticks = ticks,
		.next = next,
		.interrupted = interrupted,
		.device_read = dma_read,
		.device_wrote = dma_wrote,
		.ended = run_ended,
	};

	return qemu_plugin_take_turns(id, &turns);
}
