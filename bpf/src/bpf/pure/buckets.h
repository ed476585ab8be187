/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Histograms with logarithmic buckets: each power of two is split in four, so a bucket is at
 * most a quarter wide. Pure, like flow.h. The inverse is in buckets.rs.
 *
 *   value   0 1 2 3 | 4 5 6 7 | 8-9 10-11 12-13 14-15 | 16-19 20-23 ...
 *   bucket  0 1 2 3 | 4 5 6 7 |  8    9    10    11   |  12    13   ...
 */
#ifndef __STEER_BUCKETS_H
#define __STEER_BUCKETS_H

#include "intf.h"

/* The bucket of @value among @buckets. The last one also holds everything beyond it. */
static inline u32 bucket_of(u64 value, u32 buckets)
{
	u32 log, bucket = value;

	if (value >= 4) {
		log = 63 - __builtin_clzll(value);
		bucket = (log - 1) * 4 + ((value >> (log - 2)) & 3);
	}
	return bucket < buckets ? bucket : buckets - 1;
}

#endif /* __STEER_BUCKETS_H */
