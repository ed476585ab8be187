/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What devices read and write. A write leaves no copy in any private cache. Where the machine has
 * DDIO and the memory belongs to the device's node, the line goes into that node's L3: over the
 * copy that is there, else into the few ways that device writes may fill; the line that falls out
 * goes to memory. Elsewhere it goes to memory. A device behind no node's bus belongs to the
 * traffic's side: free.
 */
#include "priced.h"

static void each_line(void (*what)(int, uint64_t), int node, uint64_t address, uint64_t length)
{
	if (!model_on || node < 0 || node >= (int)run.nodes || !length)
		return;
	for (uint64_t line = address >> LINE_SHIFT; line <= (address + length - 1) >> LINE_SHIFT;
	     line++)
		what(node, line);
}

void dma_read(int node, uint64_t address, uint64_t length)
{
	each_line(cache_device_read, node, address, length);
}

void dma_wrote(int node, uint64_t address, uint64_t length)
{
	each_line(cache_device_wrote, node, address, length);
}
