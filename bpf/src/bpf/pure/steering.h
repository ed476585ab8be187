/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Steering: do the packets of a NIC follow threads? Learned per NIC, by votes. Pure, like
 * flow.h.
 *
 * When a long-flow thread was sent away from its home, its packets either come along (RFS,
 * aRFS, XPS with ATR) or keep arriving at the old home (RSS hash, ntuple rule). Each move is
 * one vote. While the packets stay behind, another vote follows a while later.
 *
 *   score  -2 ········ -1 ········ +1 ········ +2
 *          fixed    (not known)         follows
 *
 * A vote against the sign restarts the score at that vote's side. So two votes in a row
 * settle the score, and one opposite vote unsettles it.
 */
#ifndef __STEER_STEERING_H
#define __STEER_STEERING_H

#include "intf.h"

struct nic_steering {
	s32 score;
	u32 probes;	    /* since packets last followed */
	u64 next_probe_ns;  /* when a thread may next be sent away from a fixed, remote home */
	u64 next_retest_ns; /* when "fixed" may next be put in question, if cores are wanted */
};

enum { STEERING_SETTLED = 2 };

static inline bool steering_is_fixed(const struct nic_steering *s)
{
	return s->score <= -STEERING_SETTLED;
}

static inline bool steering_follows(const struct nic_steering *s)
{
	return s->score >= STEERING_SETTLED;
}

static inline void steering_vote(struct nic_steering *s, bool followed)
{
	s32 vote = followed ? 1 : -1;

	if (followed)
		s->probes = 0;
	if (s->score * vote < 0)
		s->score = vote;
	else if (s->score * vote < STEERING_SETTLED)
		s->score += vote;
}

#define PROBE_NS (1000 * 1000 * 1000ULL)

/*
 * Is it time to send a thread away from its remote home, to see whether the home is still
 * fixed? "Fixed" may be an error that load caused, or RFS may have been switched on since.
 */
static inline bool steering_probe_is_due(const struct nic_steering *s, u64 now)
{
	return now >= s->next_probe_ns;
}

/*
 * A probe begins. The next one may follow after 1, 2, 4, 8, then every 16 seconds, so threads
 * that are right to stay are rarely moved.
 */
static inline void steering_note_probe(struct nic_steering *s, u64 now)
{
	enum { MOST = 4 };

	s->next_probe_ns = now + (PROBE_NS << (s->probes & 7));
	s->probes += s->probes < MOST;
}

/* Put what was learned in question: one more vote settles it as it was. */
static inline void steering_question(struct nic_steering *s)
{
	s->score /= STEERING_SETTLED;
}

#endif /* __STEER_STEERING_H */
