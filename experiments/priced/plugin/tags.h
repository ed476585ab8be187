/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tags of one cache: sets of lines, the most recent first.
 */
#ifndef TAGS_H
#define TAGS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A tag is line + 1; 0 is none. */
struct tags {
	uint32_t *tag;
	uint32_t sets, ways;
};

/* L3s hash addresses over their slices; private caches take the low bits. */
static inline uint32_t *set_of(const struct tags *t, uint64_t line, bool hashed)
{
	uint64_t set =
		hashed ? ((line * 0x9e3779b97f4a7c15ull >> 32) * t->sets) >> 32 : line % t->sets;

	return t->tag + set * t->ways;
}

static inline bool touch(uint32_t *set, uint32_t ways, uint64_t line)
{
	uint32_t tag = (uint32_t)line + 1, w;

	for (w = 0; w < ways; w++)
		if (set[w] == tag)
			break;
	if (w == ways)
		return false;
	memmove(set + 1, set, w * sizeof *set);
	set[0] = tag;
	return true;
}

/* The tag that falls out, or 0. */
static inline uint32_t insert_at(uint32_t *set, uint32_t ways, uint32_t place, uint64_t line)
{
	uint32_t out = set[ways - 1];

	memmove(set + place + 1, set + place, (ways - 1 - place) * sizeof *set);
	set[place] = (uint32_t)line + 1;
	return out;
}

static inline bool tags_make(struct tags *t, uint64_t kib, uint64_t ways)
{
	t->ways = (uint32_t)ways;
	t->sets = (uint32_t)((kib << 10 >> 6) / ways);
	t->tag = calloc((size_t)t->sets * t->ways, sizeof *t->tag);
	return t->tag != NULL;
}

static inline void tags_empty(struct tags *t)
{
	memset(t->tag, 0, (size_t)t->sets * t->ways * sizeof *t->tag);
}

#endif
