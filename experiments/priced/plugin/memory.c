/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bandwidth. Each node's DRAM and each direction between two nodes is a server that takes a fixed
 * time for a line. vCPUs run a quantum one after the other, so requests do not arrive in the order
 * of time; load is therefore summed over a quantum, and the wait it causes is charged in the next:
 *
 *   excess += (lines asked for - lines the quantum has time for) * time per line / SETTLE
 *   wait    = excess + queue * load / (1 - load)
 *
 * The first term rises until no more is asked for than there is time for, and falls again; it is
 * never below 0, and never above what all lines that vCPUs can have in flight take. SETTLE damps
 * it: a step of load settles within some quanta. The second is the rise of latency that loaded
 * memory shows before it is saturated (queue is the machine's; load is smoothed and ends at 95 %).
 */
#include "priced.h"

enum { SETTLE = 64 };

struct server {
	uint64_t asked;
	uint64_t load_permille;
	int64_t excess;
	uint64_t wait;
};

static struct server dram[MAX_NODES], links[MAX_NODES][MAX_NODES];

uint64_t memory_dram(unsigned int node)
{
	dram[node].asked++;
	return dram[node].wait;
}

uint64_t memory_link(unsigned int from, unsigned int to)
{
	if (from == to)
		return 0;
	links[from][to].asked++;
	return links[from][to].wait;
}

static void settle(struct server *s, uint64_t lines, uint64_t line_time, uint64_t queue)
{
	int64_t most = (int64_t)(run.cpus * machine.stream_lines * line_time);
	uint64_t load;

	if (!s->asked && !s->excess && !s->load_permille)
		return;
	load = lines ? s->asked * 1000 / lines : 1000;
	s->load_permille = (s->load_permille * 3 + load) / 4;
	load = s->load_permille < 950 ? s->load_permille : 950;
	s->excess += ((int64_t)s->asked - (int64_t)lines) * (int64_t)line_time / SETTLE;
	s->excess = s->excess < 0 ? 0 : s->excess > most ? most : s->excess;
	s->wait = (uint64_t)s->excess + queue * load / (1000 - load);
	s->asked = 0;
}

void memory_quantum(int64_t span)
{
	uint64_t ps = span > 0 ? (uint64_t)span : 0;

	if (!model_on)
		return;
	for (unsigned int a = 0; a < run.nodes; a++) {
		settle(&dram[a], ps / machine.dram_line, machine.dram_line, machine.dram_queue);
		for (unsigned int b = 0; b < run.nodes; b++)
			settle(&links[a][b], ps / machine.link_line, machine.link_line,
			       machine.link_queue);
	}
}
